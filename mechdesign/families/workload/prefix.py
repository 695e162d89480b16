"""The epsilon-private channel for the cumulative shares of few ordered categories with the least error.

Answers are planned to be even. Up to :data:`FEW` categories all patterns are weighed; beyond, the patterns of
the solved channels next to epsilon on a ladder. The file next to this module holds their patterns and errors;
nothing of it is trusted: a mechanism is made of integers that are audited, and its error is that of these.
``python -m benchmarks.prefix_ladder`` writes it.

All reports of an ordered question are ranked by their predicted error of the cumulative shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError, ParameterError, counted
from mechdesign.core.solution import Solution
from mechdesign.core.validation import integer
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import Basis, Master, PatternWorth
from mechdesign.families.workload.patterns import Array, Sets, columns_of, patterns_from
from mechdesign.families.workload.queries import prefix
from mechdesign.families.workload.release import WorkloadRelease
from mechdesign.families.workload.weights import feasible_patterns, integer_weights
from mechdesign.show.tables import table
from mechdesign.solvers.solve import solve

FILE = Path(__file__).with_name("prefix_ladder.npz")

FEW = 9
"""Categories up to which all patterns are weighed, which takes some hundredths of a second."""

ACCURACY = 1e-10


@dataclass(frozen=True, eq=False)
class PrefixLadder:
    """Solved channels in order of epsilon, for each number of categories.

    Attributes
    ----------
    sizes : (S,) int array
        Numbers of categories, without gaps.
    epsilons : (L,) array
    errors : (S, L) array
        The sum over the cumulative shares of the variance of one report, at even answers.
    starts : (S * L + 1,) int array
        Where the patterns of each channel begin, size by size.
    patterns : (P,) uint32 array
        The sets as bits, the first category the lowest one; one of each pair of mirror images.
    """

    sizes: NDArray[np.int64]
    epsilons: Array
    errors: Array
    starts: NDArray[np.int64]
    patterns: NDArray[np.uint32]

    def has(self, size: int, epsilon: float) -> bool:
        """Whether channels of this size are solved on both sides of epsilon."""
        inside = float(self.epsilons[0]) <= epsilon <= float(self.epsilons[-1])
        return inside and int(self.sizes[0]) <= size <= int(self.sizes[-1])

    def below(self, epsilon: float) -> int:
        """Return the number of the largest rung that is at most epsilon; -1 where there is none."""
        return int(np.searchsorted(self.epsilons, epsilon * (1.0 + 2.0**-50), side="right")) - 1

    def error(self, size: int, place: int) -> float:
        """Return the error of a rung."""
        return float(self.errors[size - int(self.sizes[0]), place])

    def sets(self, size: int, place: int) -> Sets:
        """Return the patterns of a rung, one of each pair of mirror images."""
        row = (size - int(self.sizes[0])) * len(self.epsilons) + place
        numbers = self.patterns[int(self.starts[row]) : int(self.starts[row + 1])]
        sets: Sets = (numbers[:, None] >> np.arange(size, dtype=np.uint32) & 1).astype(np.bool_)
        return sets


@cache
def prefix_ladder() -> PrefixLadder:
    """Return the ladder of the file.

    Examples
    --------
    >>> known = prefix_ladder()
    >>> round(known.error(5, known.below(1.0)), 3), known.below(0.01)
    (9.645, -1)
    """
    with np.load(FILE, allow_pickle=False) as arrays:
        return PrefixLadder(*(arrays[name] for name in PrefixLadder.__dataclass_fields__))


def one_of_each(sets: Sets) -> Sets:
    """Return the sets without mirror images of others, the empty set and the whole one.

    Examples
    --------
    >>> one_of_each(np.array([[1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)).astype(int).tolist()
    [[0, 0, 1]]
    """
    proper = sets[sets.any(axis=1) & ~sets.all(axis=1)]
    differs = proper != proper[:, ::-1]
    first = proper[np.arange(len(proper)), differs.argmax(axis=1)]
    return np.unique(np.where((first & differs.any(axis=1))[:, None], proper[:, ::-1], proper), axis=0)


def weighed(sets: Sets, epsilon: float) -> tuple[Sets, Array, float]:
    """Return the best weights of these sets and their mirror images, and the error without rounding.

    Parameters
    ----------
    sets : (K, n) array of bool
        As :func:`one_of_each` gives them.
    epsilon : float

    Returns
    -------
    sets : (K', n) array of bool
        Those with some weight, and their mirror images.
    amounts : (K',) array
        The probability of a report for a type outside of its set.
    error : float
    """
    size, power = sets.shape[1], math.exp(epsilon)
    shares = np.full(size, 1.0 / size)
    gram = _centered(size)
    columns = columns_of(sets, power)
    best = Master(
        columns / columns.mean(axis=1, keepdims=True), gram, shares, Basis.of(gram, shares)
    ).best_weights(ACCURACY)
    used = best.weights > 1e-9 * float(best.weights.max())
    heavy, weights = sets[used], best.weights[used] / columns[used].mean(axis=1)
    alone = (heavy == heavy[:, ::-1]).all(axis=1)
    halves = np.where(alone, weights, weights / 2.0)
    both = np.vstack([heavy, heavy[~alone][:, ::-1]])
    return both, np.concatenate([halves, halves[~alone]]), best.value - float(np.trace(gram)) / size


def _centered(size: int) -> Array:
    """Return the Gram matrix of the cumulative shares less their averages."""
    named = prefix(size).rows()
    rows = named - named.mean(axis=1, keepdims=True)
    gram: Array = rows.T @ rows
    return gram


def prefix_mechanism(sets: Sets, epsilon: float, promised: float) -> WorkloadRelease:
    """Return the mechanism of the best weights of sets for epsilon, exactly private at the promised one."""
    both, amounts, _ = weighed(sets, epsilon)
    patterns, repaired = feasible_patterns(both, amounts, math.exp(epsilon))
    weights = integer_weights(patterns, repaired, promised)
    return WorkloadRelease({"name": "prefix", "size": sets.shape[1]}, promised, weights)


def _candidates(size: int, epsilon: float) -> Sets:
    """Return the patterns to choose from."""
    known = prefix_ladder()
    place = known.below(epsilon)
    if float(known.epsilons[place]) == epsilon:
        return known.sets(size, place)
    if size <= FEW:
        return one_of_each(patterns_from(1, (1 << size) - 1, size))
    return one_of_each(np.vstack([known.sets(size, place), known.sets(size, place + 1)]))


@lru_cache(maxsize=256)
def best_prefix_channel(size: int, epsilon: float, promised: float | None = None) -> WorkloadRelease | None:
    """Return the exactly private mechanism for cumulative shares; None outside of the ladder.

    Parameters
    ----------
    size : int
        The number of ordered categories, 3 or more.
    epsilon : float
        For which it is designed.
    promised : float, optional
        The epsilon that is certified, where it is less by a rounding.

    Examples
    --------
    >>> mechanism = best_prefix_channel(5, 1.0)
    >>> mechanism.audit().holds, round(mechanism.average_error, 3), best_prefix_channel(5, 40.0)
    (True, 9.645, None)
    """
    if not prefix_ladder().has(size, epsilon):
        return None
    return prefix_mechanism(_candidates(size, epsilon), epsilon, epsilon if promised is None else promised)


@lru_cache(maxsize=256)
def error_slope(size: int, epsilon: float) -> float:
    """Return the derivative of the error of the best channel in epsilon.

    Examples
    --------
    >>> near = best_prefix_channel(5, 1.01).average_error - best_prefix_channel(5, 0.99).average_error
    >>> round(error_slope(5, 1.0), 1), round(near / 0.02, 1)
    (-21.2, -21.2)
    """
    sets, amounts, _ = weighed(_candidates(size, epsilon), epsilon)
    shares, step = np.full(size, 1.0 / size), 1e-4 * epsilon
    worth = PatternWorth(_centered(size), shares, epsilon, sets, amounts)
    return (worth.lagrangian(epsilon + step) - worth.lagrangian(epsilon - step)) / (2.0 * step)


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
    >>> [(one.name, round(one.error, 5)) for one in ranking.candidates]
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
