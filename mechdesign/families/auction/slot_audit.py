"""Audit of reverse auctions in whole and rational numbers: coverage, individual rationality, truthfulness.

It knows no rule: a rule is asked what one user would get for a report while the others report the truth.
Money is in any unit; prices, costs and payments are in the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate

Money = int | Fraction
Report = tuple[int, tuple[int, ...]]
"""A price and the tasks that a user says to be able to do."""

Asked = Callable[[int, Report], Money | None]
"""``asked(user, report)`` is what the rule pays the user for a report; None if it does not win."""

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
    asked: Asked,
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
    asked : callable
        The rule, see :data:`Asked`.
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
        honest = asked_honestly = _utility(asked(user, truths[user]), cost)
        if payments is not None:
            honest = _utility(payments.get(user), cost)
            if asked_honestly > honest and (best is None or asked_honestly - honest > best.gained):
                best = Misreport(user, truths[user], honest, asked_honestly - honest)
        for report in reports(user):
            tried += 1
            gained = _utility(asked(user, report), cost) - honest
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
        kept = generator.random(len(tasks)) < generator.random()
        if kept.any():
            yield tuple(task for task, keep in zip(tasks, kept.tolist(), strict=True) if keep)


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
    found = search.best
    figures["worst_gain"] = float(found.gained * unit)
    witness = {
        "user": found.user,
        "reported_cost": float(found.report[0] * unit),
        "reported_tasks": list(found.report[1]),
        "honest_utility": float(found.honest * unit),
        "gain": float(found.gained * unit),
    }
    return Certificate("truthfulness", False, True, figures, witness, note)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
