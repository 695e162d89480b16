"""The rules that decide a slot, by name, with the proof of truthfulness and the certificates of each one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError
from mechdesign.core.extensions import in_papers
from mechdesign.exact.numbers import rational
from mechdesign.families.auction import greedy, vcg
from mechdesign.families.auction.slot_audit import (
    Asked,
    DeviationSearch,
    Money,
    Report,
    coverage,
    individual_rationality,
    search_misreports,
    task_subsets,
    truthfulness,
)
from mechdesign.families.auction.slot_rules import UNIT, Slot, bid_prices, checked_bids, slot_of

if TYPE_CHECKING:
    from mechdesign.families.auction.online import OnlineAuction


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

    def asked(self, slot: Slot) -> Asked:
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
            rule.asked(slot), truths, lambda user: _all_reports(slot, user), users, rule.by_ratio, payments
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
        rule.asked(slot),
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


def trial_certificates(auction: OnlineAuction) -> tuple[Certificate, ...]:
    """Return what an auction's rule does on its trial slot; the same settings are tried once."""
    queues = auction.policy == "online" and auction.participation > 0
    return _tried(
        auction.rule, (auction.epsilon, auction.tradeoff, auction.reserve, queues, len(auction.tasks))
    )


@lru_cache(maxsize=256)
def _tried(rule: Rule, settings: TrialSettings) -> tuple[Certificate, ...]:
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
