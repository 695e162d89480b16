"""Audit of reverse auctions in whole and rational numbers: coverage, individual rationality, truthfulness.

It knows no rule: a rule is asked what one user would get for a report while the others report the truth.
Money is in any unit; prices, costs and payments are in the same one.

The rules that decide a slot, by name, with the proof of truthfulness and the certificates of each one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError
from mechdesign.core.extensions import FormerAttribute, in_papers
from mechdesign.exact.numbers import rational
from mechdesign.families.auction import greedy, vcg
from mechdesign.families.auction.slot_rules import UNIT, Slot, bid_prices, checked_bids, slot_of

Money = int | Fraction
Report = tuple[int, tuple[int, ...]]
"""A price and the tasks that a user says to be able to do."""

Payment = Callable[[int, Report], Money | None]
"""``payment(user, report)`` is what the rule pays the user for a report; None if it does not win."""

MOST_SUBSETS = 64
"""With more subsets of a user's tasks than this, some of them are tried."""


@dataclass(frozen=True)
class Misreport:
    """Gain of a user from a report that is not true."""

    user: int
    report: Report
    honest: Money
    gained: Money


@dataclass(frozen=True)
class DeviationSearch:
    """Deviations that were tried, and the best misreport among them.

    Attributes
    ----------
    tried : int
    exhaustive : bool
        Whether every report was tried at which the rule can answer differently.
    best : Misreport or None
    """

    tried: int
    exhaustive: bool
    best: Misreport | None


def coverage(
    able: NDArray[np.bool_], requirements: NDArray[np.int64], winners: Sequence[int], scope: str = ""
) -> Certificate:
    """Certify that each task has as many winners as it needs; the note states ``scope``.

    Examples
    --------
    >>> print(coverage(np.array([[True], [True]]), np.array([2]), [0]))
    coverage: FAILS (exact); missing = 1; witness task = 0, needs = 2, has = 1
    """
    has = able[list(winners)].sum(axis=0, dtype=np.int64)
    missing = np.maximum(requirements - has, 0)
    task = int(missing.argmax())
    figures = {"missing": int(missing.sum())}
    if not missing.any():
        return Certificate("coverage", True, True, figures, note=scope)
    witness = {"task": task, "needs": int(requirements[task]), "has": int(has[task])}
    return Certificate("coverage", False, True, figures, witness, scope)


def individual_rationality(
    costs: Sequence[Money], payments: Sequence[Money], winners: Iterable[int], scope: str = ""
) -> Certificate:
    """Certify that no winner is paid less than its cost, and nobody else anything.

    Parameters
    ----------
    costs, payments : sequence of numbers
        Exact, one for each user.
    winners : iterable of int
    scope : str
        The slot that was checked, for the note, unless it is the one in use.

    Examples
    --------
    >>> print(individual_rationality([Fraction(1), Fraction(2)], [Fraction(3, 2), Fraction(0)], [0]))
    individual_rationality: holds (exact); least_utility = 0.5; witness user = 0, cost = 1.0, payment = 1.5
    """
    won = set(winners)
    least: tuple[Money, int] | None = None
    for user, (cost, payment) in enumerate(zip(costs, payments, strict=True)):
        utility: Money = payment - cost if user in won else -max(payment, -payment)
        if (user in won or payment != 0) and (least is None or utility < least[0]):
            least = (utility, user)
    if least is None:
        return Certificate("individual_rationality", True, True, {}, {}, _joined(scope, "no user wins"))
    user = least[1]
    witness = {"user": user, "cost": float(costs[user]), "payment": float(payments[user])}
    figures = {"least_utility": float(least[0])}
    return Certificate("individual_rationality", least[0] >= 0, True, figures, witness, scope)


def search_misreports(
    outcome_of: Payment,
    truths: Sequence[Report],
    reports: Callable[[int], Iterable[Report]],
    users: Iterable[int],
    exhaustive: bool,
    payments: Mapping[int, Money] | None = None,
) -> DeviationSearch:
    """Look for the report by which a user gains most, in exact numbers.

    With ``payments``, honest users get what was really decided, and not what the rule says when it is asked:
    a decision that is not the rule's own then shows as a gain, if only by the true report.

    Parameters
    ----------
    outcome_of : callable
        The rule, see :data:`Payment`.
    truths : sequence of (price, tasks)
        The true report of each user; its price is its cost.
    reports : callable
        Which reports of a user to try.
    users : iterable of int
        Whose.
    exhaustive : bool
        What the caller knows about them, for the record.
    payments : mapping, optional
        The payment of each winner of the decision that is judged.
    """
    tried, best = 0, None
    for user in users:
        cost = truths[user][0]
        honest = asked_honestly = _utility(outcome_of(user, truths[user]), cost)
        if payments is not None:
            honest = _utility(payments.get(user), cost)
            if asked_honestly > honest and (best is None or asked_honestly - honest > best.gained):
                best = Misreport(user, truths[user], honest, asked_honestly - honest)
        for report in reports(user):
            tried += 1
            gained = _utility(outcome_of(user, report), cost) - honest
            if gained > 0 and (best is None or gained > best.gained):
                best = Misreport(user, report, honest, gained)
    return DeviationSearch(tried, exhaustive, best)


def _utility(payment: Money | None, cost: Money) -> Money:
    return 0 if payment is None else payment - cost


def task_subsets(tasks: tuple[int, ...], rng: np.random.Generator | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of a user's tasks that are not empty, itself first; some where there are many.

    Examples
    --------
    >>> list(task_subsets((2, 5)))
    [(2, 5), (2,), (5,)]
    """
    if 2 ** len(tasks) - 1 <= MOST_SUBSETS:
        for size in range(len(tasks), 0, -1):
            yield from combinations(tasks, size)
        return
    yield tasks
    generator = np.random.default_rng(0) if rng is None else rng
    for task in tasks:
        yield tuple(other for other in tasks if other != task)
        yield (task,)
    for _ in range(MOST_SUBSETS - 1 - 2 * len(tasks)):
        inside = generator.random(len(tasks)) < generator.random()
        if inside.any():
            yield tuple(task for task, keep in zip(tasks, inside.tolist(), strict=True) if keep)


def truthfulness(
    search: DeviationSearch, argument: str, unit: Money = 1, remark: str = "", scope: str = ""
) -> Certificate:
    """Return the certificate of what a search found, in the slot that was searched and no other.

    Parameters
    ----------
    search : DeviationSearch
    argument : str
        The proof that there is nothing to find; empty where there is none, and the search stands alone.
    unit : number
        What one unit of money is, for the figures.
    remark : str
        What else there is to say about the search.
    scope : str
        The slot that was checked, unless it is the one in use.
    """
    how = "every report that can matter" if search.exhaustive else "chosen and random reports"
    figures = {"misreports_tried": search.tried, "worst_gain": 0.0}
    note = _joined(scope, "within one slot", f"searched {how}" + (f", {remark}" if remark else ""))
    if search.best is None:
        note += f"; {argument}" if argument else "; no proof"
        return Certificate("truthfulness", True, bool(argument) or search.exhaustive, figures, {}, note)
    best = search.best
    figures["worst_gain"] = float(best.gained * unit)
    witness = {
        "user": best.user,
        "reported_cost": float(best.report[0] * unit),
        "reported_tasks": list(best.report[1]),
        "honest_utility": float(best.honest * unit),
        "gain": float(best.gained * unit),
    }
    return Certificate("truthfulness", False, True, figures, witness, note)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


class Decided(Protocol):
    """Winners of a slot, and their payments in units."""

    @property
    def winners(self) -> tuple[int, ...]:
        """The users, in the order in which they were chosen."""

    @property
    def payments(self) -> Sequence[int | Fraction]:
        """One for each winner."""


MOST_EXHAUSTIVE = 8
"""With more users than this, misreports are drawn."""

SAMPLED, SLOW = (20, 12), (5, 3)
"""Users whose misreports are drawn, and how many each; fewer where each question takes its time: in slots
with more than ``LARGE`` users times tasks, or where it is an integer program."""

LARGE = 50_000


def amounts(award: Decided) -> list[Fraction]:
    """Return the payments of the winners, in units."""
    return [Fraction(payment) for payment in award.payments]


def never(_slot: Slot) -> bool:
    """Return False: of no slot. A function with a name, so that rules can be sent to other processes."""
    return False


@dataclass(frozen=True)
class Rule:
    """A rule for one slot.

    Attributes
    ----------
    name : str
    award : callable
        Winners and payments of a slot without obstacle; None where the rule has no answer.
    argument : str
        Why no misreport gains; empty where some do.
    paid : callable
        What one user is paid; None if it does not win.
    limit : callable
        Why a slot is too large for the rule, and what to do about it; empty where it is not.
    slow : callable
        Whether every question about this slot takes its time.
    by_ratio : bool
        Whether it compares weights per task only, so that answers change where two ratios meet.
    aside : str
        What a search leaves out because it does not change an answer.
    """

    name: str
    award: Callable[[Slot], Decided | None]
    argument: str
    paid: Callable[[Slot, int], Money | None]
    limit: Callable[[Slot], str]
    slow: Callable[[Slot], bool] = never
    by_ratio: bool = False
    aside: str = ""

    def decide(self, slot: Slot) -> Decided:
        """Return winners and payments of a slot without obstacle.

        Raises
        ------
        MethodError
            When the slot is too large for the rule, or the rule has no answer.
        """
        refused = self.limit(slot)
        if refused:
            raise MethodError(f"rule '{self.name}'", refused)
        award = self.award(slot)
        if award is None:
            raise MethodError(f"rule '{self.name}'", "has no answer for this slot", "use rule 'greedy'")
        return award

    asked = FormerAttribute("payment_of")

    def payment_of(self, slot: Slot) -> Payment:
        """Return the rule as the audit asks it: what a user gets for a report while the others stay."""

        def paid(user: int, report: Report) -> Money | None:
            changed = reported(slot, user, report)
            return None if changed.obstacle() else self.paid(changed, user)

        return paid


def _vcg_paid(slot: Slot, user: int) -> Money | None:
    """Return a user's payment by the best sets: proven, so the same by both ways to find them."""
    cover = vcg.Proven(proposing=False) if _is_large(slot) else vcg.best_cover_exactly
    return vcg.Auctioneer(vcg.untied(slot), cover).paid(user)


def _is_large(slot: Slot) -> bool:
    return bool(vcg.too_many_states(slot))


CRITICAL = "a winner is paid what its absence costs the others, and the best sets are proven"


RULES = {
    "greedy": Rule(
        "greedy",
        greedy.award,
        "a winner also wins with a lower price or more tasks, and is paid the largest price that wins",
        greedy.paid,
        greedy.too_much_work,
        by_ratio=True,
    ),
    "exact": Rule("exact", vcg.award_exactly, CRITICAL, _vcg_paid, vcg.too_many_states),
    "milp": Rule(
        "milp",
        vcg.award,
        CRITICAL,
        _vcg_paid,
        vcg.too_many_entries,
        _is_large,
        aside="without the solver whose proposals are proven",
    ),
}


@cache
def all_rules() -> Mapping[str, Rule]:
    """Return the rules by name: these, and those of the module ``rules`` of the papers.

    Examples
    --------
    >>> list(all_rules())
    ['greedy', 'exact', 'milp', 'published']
    """
    others = {name: rule for home in in_papers("rules", __package__) for name, rule in home.RULES.items()}
    return {**RULES, **others}


def reported(slot: Slot, user: int, report: Report) -> Slot:
    """Return the slot with another report of one user.

    Examples
    --------
    >>> from mechdesign.families.auction.slot_rules import slot_of
    >>> from fractions import Fraction
    >>> slot = slot_of([3], np.array([[True, True]]), np.array([1, 1]), 1.0, [Fraction(0)])
    >>> reported(slot, 0, (5, (1,))).prices, reported(slot, 0, (5, (1,))).able.tolist()
    ((5,), [[False, True]])
    """
    price, tasks = report
    able = slot.able.copy()
    able[user] = False
    able[user, list(tasks)] = True
    prices = (*slot.prices[:user], price, *slot.prices[user + 1 :])
    return replace(slot, prices=prices, able=able)


def misreports(rule: Rule, slot: Slot, payments: Mapping[int, Money] | None = None) -> DeviationSearch:
    """Look for a profitable misreport of bid or tasks.

    With ``payments``, the payments of a decision in units, honest users get what was decided.


    With few users and tasks every report is tried at which a rule by ratios can answer differently: all
    sets of tasks, and around every price at which the user's ratio meets another one's. With many, users
    and reports are drawn, half of the users from the winners and many prices close to payments.
    """
    truths = [(price, tasks) for price, tasks in zip(slot.prices, slot.tasks, strict=True)]
    small = slot.users <= MOST_EXHAUSTIVE and slot.able.shape[1] <= 4 and not rule.slow(slot)
    if small:
        users = range(slot.users)
        return search_misreports(
            rule.payment_of(slot),
            truths,
            lambda user: _all_reports(slot, user),
            users,
            rule.by_ratio,
            payments,
        )
    rng = np.random.default_rng(slot.users)
    count, each = SLOW if rule.slow(slot) or slot.able.size > LARGE else SAMPLED
    if payments is None:
        award = rule.decide(slot)
        payments = dict(zip(award.winners, amounts(award), strict=True))
    winners = rng.permutation(np.array(list(payments), dtype=np.int64))[: (count + 1) // 2].tolist()
    others = [user for user in rng.permutation(slot.users).tolist() if user not in winners]
    some = [*winners, *others[: count - len(winners)]]
    near = [int(amount) for amount in payments.values()]
    return search_misreports(
        rule.payment_of(slot),
        truths,
        lambda user: _some_reports(slot, user, each, near or [0], rng),
        some,
        exhaustive=False,
        payments=payments,
    )


def _all_reports(slot: Slot, user: int) -> Iterator[Report]:
    """Yield all sets of tasks with a price on either side of every price where an order of ratios changes."""
    most = int(slot.able.shape[1])
    slope, offset = slot.slope, slot.offsets[user]
    meeting = {0, offset // slope}
    for other in range(slot.users):
        if other != user:
            for own in range(1, most + 1):
                for gain in range(1, most + 1):
                    meeting.add((slot.weights[other] * own // gain + offset) // slope)
    if slot.reserve is not None:
        meeting.add(slot.reserve)
    prices = sorted({price for near in meeting for price in (near - 1, near, near + 1) if price >= 0})
    for tasks in task_subsets(slot.tasks[user]):
        for price in prices:
            yield price, tasks


def _some_reports(
    slot: Slot, user: int, count: int, near: list[int], rng: np.random.Generator
) -> Iterator[Report]:
    """Yield the own price with some of the tasks, and other prices, many close to payments, with all."""
    own, tasks = slot.prices[user], slot.tasks[user]
    chosen = list(task_subsets(tasks, rng))
    for number in range(count):
        close = near[int(rng.integers(len(near)))] + int(rng.integers(-1, 2))
        price = (own, close, int(own * rng.uniform(0.0, 2.0)))[number % 3]
        yield max(0, price), chosen[int(rng.integers(len(chosen))) if number % 3 == 0 else 0]


TrialSettings = tuple[float, float, float | None, bool, int]
"""Epsilon, tradeoff, reserve price, whether backlogs count, and the number of tasks."""


def slot_certificates(slot: Slot, rule: str, scope: str = "") -> tuple[Certificate, ...]:
    """Return coverage, individual rationality and truthfulness of a rule on a slot without obstacle.

    Their notes state ``scope``: that the slot is another one than that in use.
    """
    return _certified(slot, all_rules()[rule], scope)


def _certified(slot: Slot, used: Rule, scope: str) -> tuple[Certificate, ...]:
    award = used.decide(slot)
    payments = dict(zip(award.winners, amounts(award), strict=True))
    paid = [payments.get(user, Fraction(0)) * UNIT for user in range(slot.users)]
    costs = [price * UNIT for price in slot.prices]
    return (
        coverage(slot.able, slot.requirements, award.winners, scope),
        individual_rationality(costs, paid, award.winners, scope),
        truthfulness(misreports(used, slot, payments), used.argument, UNIT, used.aside, scope),
    )


@lru_cache(maxsize=256)
def trial_certificates(rule: Rule, settings: TrialSettings) -> tuple[Certificate, ...]:
    """Return what a rule does on its trial slot; the same settings are tried once."""
    return _certified(trial_slot(*settings), rule, "checked on one random slot")


def trial_slot(epsilon: float, tradeoff: float, reserve: float | None, queues: bool, tasks: int) -> Slot:
    """Return a small slot, always the same for the same settings, with weights of both signs."""
    rng = np.random.default_rng(5)
    users, count = 6, min(3, tasks)
    able = rng.random((users, count)) < 0.6
    able[np.arange(users), rng.integers(0, count, users)] = True
    needs = np.minimum(1 + np.arange(count) % 2, able.sum(axis=0) - 1).astype(np.int64)
    top = 4.0 if reserve is None else min(reserve, 4.0)
    bids = checked_bids(rng.uniform(0.2, 1.0, (users, 2)) * top / (1.0 + epsilon))
    prices = bid_prices(bids, rational("epsilon", epsilon))
    money = rational("tradeoff", tradeoff) * UNIT
    shares = (0, 2, 0, 1, 0, 0) if queues else (0,) * users
    backlog = [money * price * share for price, share in zip(prices, shares, strict=True)]
    return slot_of(prices, able, needs, tradeoff, backlog, reserve)
