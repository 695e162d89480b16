r"""The problem ``weekly``: the same question every week, with a promise for all weeks and one for each.

**Theorem.** A user keeps a set S of w of the k answers, drawn once by subset selection at ``epsilon_all``,
and draws every week's report from S. Let p be the probability that S holds the answer, p' that of subset
selection of size w' at ``epsilon_week``, m = min(w, w') and

    P* = p m/w + (1 - p) (w' - m)/(k - w).

If ``p' <= P*``, weekly sets of size w' can be drawn from S so that a week's report is exactly subset
selection of size w' at ``epsilon_week``; else as subset selection of size w' that holds the answer with
probability ``P*``.
The mean of T weekly scores of a user has n Var = V + (V' - V)/T at a rare answer, V that of S and V' that of
one week.

*Proof.* Draw S' uniformly among the sets of size w' with the most in common with S, or with another
probability uniformly among all. By symmetry Pr[S' | x] depends on whether S' holds x, so that it is subset
selection; the probability that it holds x is ``P*`` in the first case, w'/k in the second, and any between.
Given S, the expected score of an answer depends on whether S holds it, hence is an affine function of that
which is unbiased over S: it is the score of S. The variance is V between users and (V' - V)/T within. []

**Bound.** Let the device keep any state that is private at ``epsilon_all``, and draw the weekly reports from
it independently, with any unbiased scores. The expected score given the state is an unbiased score of a
report at ``epsilon_all``: its variance is at least ``V*``, the least of subset selection
(docs/families/marginals_oracles.md). One week has at least ``V'*``, the least at ``epsilon_week``. The mean
of T has V (1 - 1/T) + V'/T, which increases in both. So ``V* (1 - 1/T) + V'*/T`` bounds it, and where the
theorem applies to the two best sizes both are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import integer, one_of, privacy_epsilon
from mechdesign.exact.numbers import prime_from
from mechdesign.exact.randomness import exp_written
from mechdesign.families.marginals.frequency_oracle import listed_count, listed_names
from mechdesign.families.marginals.weeks.cells import KINDS
from mechdesign.families.marginals.weeks.law import single_variance
from mechdesign.families.marginals.weeks.numbers import bin_edges, increasing
from mechdesign.families.marginals.weeks.response import WeeklyResponse
from mechdesign.primitives.hashing import collision
from mechdesign.primitives.oracle import best_size, subset_variance

Array = NDArray[np.float64]

LEAST, LARGEST = 1e-6, 300.0
"""Below this epsilon variances are beyond 10^12; above, next to nothing."""

MOST_CATEGORIES = 1 << 16
MOST_WEEKS = 1 << 20

SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""

UNITS = 64.0
"""By how many units of 2^-62 over the least probability the weights may move a variance, relative."""


def weekly_variances(
    cells: int, each: float, week: float, size: int, sizes: NDArray[np.int64], alike: float = 0.0
) -> tuple[float, Array]:
    """Return n Var of a rare answer by the permanent set, and by one week for each size of weekly sets.

    Parameters
    ----------
    cells : int
        k.
    each, week : float
        Epsilon of the permanent set and of one week.
    size : int
        w, of the permanent set.
    sizes : array of int
        w', of weekly sets.
    alike : float
        The probability that two answers have the same cell.

    Examples
    --------
    >>> last, one = weekly_variances(5, 4.0, 2.0, 1, np.array([1, 2]))
    >>> round(last, 4), one.round(4)
    (0.02, array([0.2545, 0.7117]))
    """
    lost, missed = misses(cells, each, week, size, sizes)
    last = _variance(cells, float(size), np.array(lost), alike)
    return float(last), _variance(cells, sizes.astype(float), missed, alike)


def misses(cells: int, each: float, week: float, size: int, sizes: NDArray[np.int64]) -> tuple[float, Array]:
    """Return 1 - p and 1 - min(p', P*): that the permanent and a weekly set lack the own cell.

    Examples
    --------
    >>> lost, missed = misses(2, 2.0, 1.0, 1, np.array([1]))  # 1/(e^2 + 1) and 1/(e + 1)
    >>> round(lost, 6), missed.round(6)
    (0.119203, array([0.268941]))
    """
    v, rest = sizes.astype(float), float(cells - size)
    lost = rest * math.exp(-each) / (size + rest * math.exp(-each))
    common = np.minimum(v, size)
    beyond = (1.0 - lost) * (1.0 - common / size) + lost * (1.0 - (v - common) / rest)
    promised = (cells - v) * math.exp(-week) / (v + (cells - v) * math.exp(-week))
    return lost, np.maximum(promised, beyond)


def _variance(cells: int, size: Any, missed: Array, alike: float) -> Array:
    """Return Q (1 - Q)/(P - Q)^2 of sets of a size that miss the own cell with this probability."""
    other = ((size - 1.0) + missed) / (cells - 1.0)
    gain = 1.0 - missed - other
    seen = other + alike * gain
    with np.errstate(divide="ignore"):
        result: Array = seen * (1.0 - seen) / ((1.0 - alike) * gain) ** 2
    return result


def least_variance(categories: int, epsilon: float) -> float:
    """Return the least n Var of a rare answer of all channels private at epsilon.

    Examples
    --------
    >>> round(least_variance(20, 4.0), 4)
    0.0253
    """
    return float(subset_variance(categories, np.arange(1, categories, dtype=np.int64), epsilon).min())


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LEAST <= epsilon <= LARGEST:
        raise ParameterError(field, f"{epsilon:g} is out of range", f"give {LEAST:g} to {LARGEST:g}")
    return epsilon


def _week(problem: Weekly, field: str, value: Any) -> float:
    epsilon = _epsilon(field, value)
    if epsilon > problem.epsilon_all:
        what = f"{epsilon:g} for one week is more than the {problem.epsilon_all:g} for all weeks"
        raise ParameterError(field, what, "give at most epsilon_all")
    return epsilon


def _distinct(problem: Weekly, field: str, value: Any) -> int:
    number = integer(field, value, 1)
    if number > problem.categories:
        what = f"{number} different answers of {problem.categories}"
        raise ParameterError(field, what, f"give at most {problem.categories}")
    return number


def _edges(problem: Weekly, field: str, value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    if problem.labels is not None:
        raise ParameterError(field, "are given with labels", "give one of them")
    return tuple(increasing(field, value, 2).tolist())


def _count(problem: Weekly, field: str, value: Any) -> int:
    if problem.edges is None:
        return int(listed_count(MOST_CATEGORIES)(problem, field, value))
    if value is None and len(problem.edges) == 2:
        raise ParameterError(field, "is missing", "write categories = 10, or all edges of the bins")
    number = integer(field, len(problem.edges) - 1 if value is None else value, 2)
    bin_edges("edges", problem.edges, number)
    return number


@frozen_problem()
class Weekly(Problem[WeeklyResponse]):
    r"""The permanent report and the weekly ones with the least variance over so many weeks.

    ::

        minimize    V + (V' - V)/T = n Var(mean of T weekly scores of a rare answer)
        over        permanent sets of w cells and weekly sets of w' cells drawn from them
        subject to  all weekly reports of a user are epsilon_all-private, however many, if the user has at
                    most ``distinct`` different answers; each is epsilon_week-private

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Erlingsson, Pihur, Korolova (2014) for the two levels; Arcolezi et al. (2022) for k-ary and unary
    reports (L-GRR, L-OSUE); docs/families/weekly.md for the theorem.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.Weekly(categories=5, epsilon_all=4.0, epsilon_week=2.0, weeks=26))
    >>> solution.variables["permanent_size"], solution.variables["weekly_size"], round(solution.value, 6)
    (1, 1, 0.029067)
    >>> solution.status
    'optimal'
    """

    name: ClassVar[str] = "weekly"
    example: ClassVar[Mapping[str, Any]] = {
        "labels": ["good", "fair", "bad"], "epsilon_all": 4.0, "epsilon_week": 2.0, "weeks": 26,
    }  # fmt: skip
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon_all", "epsilon_week")
    value_name: ClassVar[str] = "users x variance of a share over all weeks"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "it is a choice of whole numbers, each with a formula"
    summary: ClassVar[str] = "the same question every week: a permanent report, and weekly ones drawn from it"
    compared_with: ClassVar[str] = (
        "all states private at epsilon_all with independent weekly reports private at epsilon_week"
    )

    labels: Sequence[str] | None = checked(
        "Names of the answers; their number is that of the names.",
        listed_names,
        form="sequence of str",
        default=None,
    )
    edges: Sequence[float] | None = related(
        "Edges of bins, where people give a number; two are a range of ``categories`` equal bins.",
        _edges,
        form="sequence of float",
        default=None,
    )
    categories: Kept[int, int | None] = related(
        "Their number k, at least 2; not needed with ``labels`` or ``edges``.",
        _count,
        form="int",
        limits={"minimum": 2, "maximum": MOST_CATEGORIES},
        default=None,
        fills=True,
    )
    epsilon_all: float = checked(
        "For all weekly reports of a user together, however many. With 0 the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST},
        form="float",
    )
    epsilon_week: float = related(
        "For each single report; at most ``epsilon_all``.",
        _week,
        limits={"minimum": 0, "maximum": LARGEST},
        form="float",
    )
    weeks: int = whole(
        "Number of weeks T that are planned: a device makes no more reports.",
        low=1,
        high=MOST_WEEKS,
        default=52,
    )
    distinct: int = related(
        "The most different answers of one user over all weeks; with 1 the answer does not change.",
        _distinct,
        limits={"minimum": 1},
        form="int",
        default=1,
    )

    # Judging candidates

    def each(self, cells: int) -> float:
        """Return epsilon of each permanent report where a user has at most this many cells."""
        return self.epsilon_all / min(self.distinct, cells)

    def spread(self, kind: str, cells: int, size: int, sizes: NDArray[np.int64]) -> tuple[float, Array]:
        """Return V, and V' for each size of weekly sets, of cells of a kind."""
        alike, share, number = 0.0, 1.0, cells
        if kind == "hashed":
            alike = float(collision(prime_from(self.categories), cells))
        if kind == "bins":
            share, number = cells / self.categories, cells + 1
        last, one = weekly_variances(number, self.each(number), self.epsilon_week, size, sizes, alike)
        return last / share, one / share

    def _numbers(self, variables: Variables) -> tuple[str, int, int, int]:
        """Return the kind of cells, their number, and the sizes of permanent and weekly sets."""
        kind = one_of("kind", variables["kind"], KINDS)
        low, high = (1, self.categories - 1) if kind == "bins" else (2, prime_from(self.categories))
        cells = self.categories if kind == "answers" else integer("cells", variables["cells"], low, high)
        number = cells + (kind == "bins")
        size = integer("permanent_size", variables["permanent_size"], 1, number - 1)
        return kind, number, size, integer("weekly_size", variables["weekly_size"], 1, number - 1)

    def parts(self, variables: Variables) -> tuple[float, float]:
        """Return V and V' of the variables."""
        kind, number, size, week_size = self._numbers(variables)
        last, one = self.spread(kind, number - (kind == "bins"), size, np.array([week_size]))
        return last, float(one[0])

    def objective(self, variables: Variables) -> float:
        """Return V + (V' - V)/T."""
        last, one = self.parts(variables)
        return float(self.mean_of(last, one))

    def mean_of(self, last: float, one: Any) -> Any:
        """Return the variance of the mean of all weeks."""
        return last * (1.0 - 1.0 / self.weeks) + one / self.weeks

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much the epsilons of permanent and weekly sets exceed the promises."""
        _, cells, size, week_size = self._numbers(variables)
        each = self.each(cells)
        lost, missed = misses(cells, each, self.epsilon_week, size, np.array([week_size]))
        sides = ((lost, size, each), (float(missed[0]), week_size, self.epsilon_week))
        excess = [
            math.log((1.0 - miss) / miss * (cells - number) / number) - promise
            for miss, number, promise in sides
        ]
        return {"all weeks": max(0.0, excess[0]), "one week": max(0.0, excess[1])}

    def bounds(self) -> tuple[float, float]:
        """Return ``V*`` and ``V'*``, which no state and no week can be below."""
        epsilons = (self.epsilon_all, self.epsilon_week)
        all_weeks, week = (least_variance(self.categories, epsilon) * (1.0 - SAFETY) for epsilon in epsilons)
        return all_weeks, week

    def lower_bound(self) -> float:
        """Return ``V* (1 - 1/T) + V'*/T``."""
        return float(self.mean_of(*self.bounds()))

    def best_sizes(self) -> tuple[int, int]:
        """Return the sizes that are best at ``epsilon_all`` and at ``epsilon_week``, each alone."""
        sizes = (best_size(self.categories, epsilon) for epsilon in (self.epsilon_all, self.epsilon_week))
        all_weeks, week = (size or 1 for size in sizes)
        return all_weeks, week

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        mechanism = solution.mechanism()
        deployed = float(mechanism.law_variance(self.weeks))
        return (
            *mechanism.certificates(),
            self._ends(solution, mechanism),
            self._optimality(solution, deployed),
        )

    def _ends(self, solution: Solution[Any], mechanism: WeeklyResponse) -> Certificate:
        """Return how far each end is from the best single report of its epsilon, in exact fractions.

        It holds where the integer weights have the variances of the formula.
        """
        last, one = mechanism.law_variance(None), mechanism.law_variance(1)
        ratios = exp_written(self.epsilon_all), exp_written(self.epsilon_week)
        best, best_week = (
            single_variance(self.categories, size, ratio)
            for size, ratio in zip(self.best_sizes(), ratios, strict=True)
        )
        figures = {
            "permanent_variance": float(last),
            "permanent_gap": float(last - best),
            "weekly_variance": float(one),
            "weekly_gap": float(one - best_week),
        }
        stated, slack = self.parts(solution.variables), 1e-9 + self._rounding()
        holds = all(abs(float(v) / s - 1.0) <= slack for v, s in zip((last, one), stated, strict=True))
        return Certificate(
            "both_ends", holds, True, figures, note="gaps to the best single report of each epsilon"
        )

    def _optimality(self, solution: Solution[Any], deployed: float) -> Certificate:
        if solution.bound is None:
            return self.optimality(solution)
        excess = deployed - solution.bound
        figures = {"gap": solution.gap, "deployed_value": deployed, "excess": excess}
        return self.optimality(solution, excess, solution.bound, slack=self._rounding(), figures=figures)

    def _rounding(self) -> float:
        """Return what weights out of 2^62 may cost, as a part of the value."""
        return 2.0**-40 + UNITS * 2.0**-62 * math.exp(self.epsilon_all) + 2.0**-56 / self.epsilon_week

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> WeeklyResponse:
        """Return the mechanism with integer weights, audited exactly."""
        variables = solution.variables
        return WeeklyResponse.of(
            self.categories,
            self.epsilon_all,
            self.epsilon_week,
            variables["permanent_size"],
            variables["weekly_size"],
            weeks=self.weeks,
            distinct=self.distinct,
            kind=variables["kind"],
            cells=variables["cells"],
            labels=self.labels,
            edges=self.edges,
        )
