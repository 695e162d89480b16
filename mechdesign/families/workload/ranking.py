"""The ranking of reports for an ordered question: all of them for cumulative shares, by predicted error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.solution import Solution
from mechdesign.core.solve import solve
from mechdesign.core.text import counted, table
from mechdesign.core.validation import integer
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.release import WorkloadRelease

MOST_USERS = 10**18

EXACT = 1e-6
"""A gap that is not printed, as a part of the value."""

REASONS = {
    "subset": "made for the shares of the single levels",
    "tree": "ranges of 2, 4, 8, ... levels",
    "haar": "differences of neighboring ranges",
}
"""What is ranked besides the best report."""


@dataclass(frozen=True)
class RankedReport:
    """A report with its predicted error.

    Attributes
    ----------
    name : str
        The problem for the best report, else the method.
    error : float
        Root mean square of the standard errors of the cumulative shares, for equally frequent levels.
    solution : Solution
    reason : str
    """

    name: str
    error: float
    solution: Solution[WorkloadRelease]
    reason: str


@dataclass(frozen=True)
class OrderedRanking:
    """Reports for the cumulative shares of ordered levels, the best one first; ``print`` it for a table."""

    epsilon: float
    users: int
    levels: int
    candidates: tuple[RankedReport, ...]

    @property
    def best(self) -> RankedReport:
        """The report with the least predicted error."""
        return self.candidates[0]

    def mechanism(self) -> WorkloadRelease:
        """Return the best mechanism, ready to run."""
        return self.best.solution.mechanism()

    def __str__(self) -> str:
        rows = [[report.name, f"{report.error:.4g}", report.reason] for report in self.candidates]
        head = (
            f"cumulative shares of {self.levels} ordered levels, epsilon = {self.epsilon:g}, "
            f"{counted(self.users, 'user')}\n"
        )
        return head + table(["report", "std error", "reason"], rows)

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain values."""
        return {
            "epsilon": self.epsilon,
            "users": self.users,
            "levels": self.levels,
            "candidates": [
                {"report": report.name, "error": report.error, "reason": report.reason}
                for report in self.candidates
            ],
        }


def choose_ordered(epsilon: float, users: int, levels: int) -> OrderedRanking:
    """Rank the reports for an ordered question: a rating scale, classes of a salary.

    Parameters
    ----------
    epsilon : float
    users, levels : int

    Raises
    ------
    ParameterError
        When there are fewer than two levels, or epsilon is 0 or out of range.

    Examples
    --------
    >>> ranking = choose_ordered(1.0, 10_000, 5)
    >>> [(found.name, round(found.error, 5)) for found in ranking.candidates]
    [('linear-queries', 0.01553), ('subset', 0.0169)]
    """
    number = integer("users", users, 1, MOST_USERS)
    problem = LinearQueries(workload={"name": "prefix", "size": levels}, epsilon=epsilon)
    if problem.epsilon == 0.0:
        raise ParameterError("epsilon", "a report contains no information at 0", "set epsilon > 0")
    best = solve(problem)
    reports = [
        _ranked("linear-queries", best, number, levels, f"made for cumulative shares, {_proven(best)}")
    ]
    for method, reason in REASONS.items():
        try:
            reports.append(_ranked(method, solve(problem, method), number, levels, reason))
        except MethodError:
            continue
    ranked = sorted(reports, key=lambda candidate: candidate.error)
    return OrderedRanking(problem.epsilon, number, levels, tuple(ranked))


def _proven(best: Solution[WorkloadRelease]) -> str:
    """Return how near the squared error is to the least one, as far as the bound tells."""
    if not best.bound:
        return "how near to the least error is not known"
    left = best.gap / best.bound
    return (
        "proven to have the least error" if left < EXACT else f"proven within {left:.1%} of the least error"
    )


def _ranked(
    name: str, solution: Solution[WorkloadRelease], users: int, levels: int, reason: str
) -> RankedReport:
    return RankedReport(name, math.sqrt(solution.value / (levels - 1) / users), solution, reason)
