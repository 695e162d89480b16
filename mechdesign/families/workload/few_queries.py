"""``linear-queries`` for one or two queries: a linear program over estimates, with exact pricing.

**Estimates.**
A report is an estimate s of the answers with the probabilities q(s | u) = l + d_u, 0 <= d_u <= (E - 1) l:

    minimise  sum_s |s|^2 pi.q(s)   subject to   sum_s q(s | u) = 1,   sum_s s q(s | u) = W~_u.

The multipliers of the equations are -mu and 2 B. Estimates where a pattern violates |Bv|^2 <= (mu.v)(pi.v)
join the program; where none does, B and mu prove the value for every channel (docs: workload, theorem 1). For
two queries the program is only solved for a grid of estimates; it goes on from its reports.

**Two queries: reports, each an estimate with its pattern.**
A report is a pattern v with an estimate s of the answers and the probabilities c v:

    minimise  sum c |s|^2 pi.v   subject to   sum c v = 1,   sum c s v = W~,   c >= 0.

It has 3n equations, and their multipliers -mu and 2 B jump about. So they are held in a box about the best
ones so far: a column and its negative for each equation, at a price. The box moves and grows where the proven
bound rises and shrinks where it does not (du Merle, Villeneuve, Desrosiers and Hansen 1999). All patterns are
priced by :mod:`mechdesign.families.workload.master`. Symmetries of the queries leave fewer equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError
from mechdesign.core.problem import Outcome
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import DualPrices, Reflections, cell_estimates, violations
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.families.workload.query_outcomes import has_few_queries, infeasible, outcome
from mechdesign.families.workload.simple_reports import or_simple
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED, WorkloadBound
from mechdesign.solvers.linear import LinearProgram, solve_linear

PLANE_ROUNDS, PLANE_NEWEST = 80, 150
RADIUS, WIDEST = 0.05, 2.0
"""Half the width of the box, as a part of the mean size of the multipliers: at first and at most."""

MOST_REPORTS, KEPT = 4000, 2500
"""Reports at which those with the worst prices leave the program, and how many stay."""


@dataclass(frozen=True, eq=False)
class Duals:
    """B and mu, for rows with pi.|W~|^2 = 1."""

    directions: Array
    multiplier: Array

    def scaled(self, rows: Array) -> Duals:
        """Return the multiple for which tr B W~' = 1.mu, which proves the same."""
        factor = float((self.directions * rows).sum()) / float(self.multiplier.sum())
        return Duals(self.directions * factor, self.multiplier * factor**2)

    def value(self, rows: Array) -> float:
        """Return the bound that they prove, if no pattern violates them."""
        return float((self.directions * rows).sum()) ** 2 / float(self.multiplier.sum()) - 1.0

    @property
    def vector(self) -> Array:
        """The multipliers of all equations."""
        return np.concatenate([-self.multiplier, *(2.0 * self.directions)])


@dataclass(frozen=True, eq=False)
class _Found:
    """Weights c, the multipliers, the value, and what each report costs beyond its worth at these."""

    weights: Array
    duals: Duals
    value: float
    reduced: Array


class Plane:
    """The program for some reports.

    Parameters
    ----------
    rows : (2, n) array
        The centered queries, with pi.|W~|^2 = 1.
    shares : (n,) array
    power : float
    group : Reflections
    sets : (k, n) array of bool
        Patterns of reports that suffice; they stay in the program.
    places : (k, 2) array
        Their estimates.
    """

    def __init__(
        self, rows: Array, shares: Array, power: float, group: Reflections, sets: Sets, places: Array
    ) -> None:
        self.rows, self.shares, self.power, self.group = rows, shares, power, group
        self.sets, self.places, self.first = sets, places, len(sets)
        self.basis = group.basis
        self.members = np.abs(self.basis).sum(axis=0)
        self.sides = np.concatenate([np.ones(len(shares)), *rows]) @ self.basis

    def solved(self, box: tuple[Array, Array] | None) -> _Found | None:
        """Return the best weights, with multipliers in a box if its middle and half its width are given."""
        from scipy import sparse

        columns = columns_of(self.sets, self.power)
        cost = (self.places**2).sum(axis=1) * (columns @ self.shares)
        whole = np.hstack([columns, *(columns * side[:, None] for side in self.places.T)])
        table = (whole @ self.basis).T
        eye = np.eye(len(self.sides))
        everything, costs, high = table, cost, np.ones(len(cost))
        if box is not None:
            middle = box[0] @ self.basis / self.members
            width = box[1] @ np.abs(self.basis) / self.members
            everything = np.hstack([table, eye, -eye])
            costs = np.concatenate([cost, middle + width, width - middle])
            high = np.concatenate([high, np.full(2 * len(eye), 1e3)])
        none = sparse.csr_array((0, len(costs)))
        equal = sparse.csr_array(everything)
        program = LinearProgram(-costs, none, np.zeros(0), equal, self.sides, np.zeros(len(costs)), high)
        solution = solve_linear(program)
        if solution.status != "optimal":
            return None
        prices = -solution.equal_multipliers
        parts = (self.basis @ prices).reshape(1 + len(self.rows), -1)
        return _Found(
            solution.variables[: len(cost)],
            Duals(parts[1:] / 2.0, -parts[0]),
            float(costs @ solution.variables) - 1.0,
            cost - table.T @ prices,
        )

    def priced(self, duals: Duals) -> tuple[Sets, Array, float]:
        """Return patterns that violate the multipliers, worst first, their estimates, the largest excess."""
        prices = DualPrices(duals.directions, duals.multiplier, self.rows, self.shares, self.power)
        sets, places, excess = violations(prices, self.group)
        order = np.argsort(-excess)[:PLANE_NEWEST]
        return sets[order], places[order], float(excess.max(initial=0.0))

    def _grow(self, solved: _Found, sets: Sets, places: Array) -> None:
        used = np.ones(len(self.sets), dtype=bool)
        if len(used) > MOST_REPORTS:
            used = solved.reduced <= np.partition(solved.reduced, KEPT)[KEPT]
            used |= solved.weights > 0.0
            used[: self.first] = True
        self.sets = np.vstack([self.sets[used], sets])
        self.places = np.vstack([self.places[used], places])

    def repaired(self, duals: Duals, excess: float) -> Duals:
        """Return multipliers that no pattern violates: mu + excess pi."""
        return Duals(duals.directions, duals.multiplier + excess * self.shares).scaled(self.rows)

    def improved(self, start: Duals, gap: float) -> tuple[Duals, int]:
        """Add reports until the bound and the value agree to within ``gap``; return the bound and rounds."""
        best = self.repaired(start, self.priced(start)[2])
        radius, rounds = RADIUS, 0
        while rounds < PLANE_ROUNDS:
            rounds += 1
            width = radius * np.repeat([np.abs(part).mean() for part in _parts(best)], len(self.shares))
            solved = self.solved((best.vector, width))
            if solved is None:
                break
            sets, places, excess = self.priced(solved.duals)
            reached = self.repaired(solved.duals, excess)
            gained, before = reached.value(self.rows) - best.value(self.rows), best.value(self.rows)
            if gained > 0.0:
                best = reached
                radius = min(2.0 * radius, WIDEST) if gained > 0.5 * (solved.value - before) else radius
            else:
                radius *= 0.6
            self._grow(solved, sets, places)
            if solved.value <= (1.0 + gap) * best.value(self.rows):
                free = self.solved(None)
                if free is None or free.value <= (1.0 + gap) * best.value(self.rows):
                    break
                self._grow(free, *self.priced(free.duals)[:2])
                radius = min(2.0 * radius, WIDEST)
        return best, rounds


def _parts(duals: Duals) -> list[Array]:
    return [duals.multiplier, *([2.0 * duals.directions] * len(duals.directions))]


LARGEST = (192, 144)
"""Types for one and for two queries."""

EQUATIONS = 300
"""Of the linear program for two queries, three per type; symmetries leave fewer."""

FIRST = (61, 13)
"""Estimates per query to begin with."""

LINE_ROUNDS, LINE_NEWEST = 16, 120
CLOSE = 1e-6
"""The gap for one query, as a part of the bound: there the last digits cost next to nothing."""
KNOWN = 2e-6
"""The share of each single type among the reports, where the patterns do not determine all shares."""


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Probabilities l (m,) and d (n, m), the multipliers, and the value of a program over estimates."""

    low: Array
    more: Array
    directions: Array
    multiplier: Array
    value: float


def _weighed(
    rows: Array, shares: Array, power: float, estimates: Array, group: Reflections | None = None
) -> _Weighed | None:
    """Return the best probabilities of these estimates, shape (m, r); None where they do not suffice.

    With a group that permutes the estimates they are equal for images.
    """
    from scipy import sparse

    size, count = rows.shape[1], len(estimates)
    squares = (estimates**2).sum(axis=1)
    cost = np.concatenate([squares, np.outer(shares, squares).ravel()])
    sides = [np.ones(count), *estimates.T]
    eye = sparse.eye_array(size)
    equal: list[Any] = [
        sparse.hstack([sparse.csr_array(np.tile(side, (size, 1))), sparse.kron(eye, side[None, :])])
        for side in sides
    ]
    upper = sparse.hstack(
        [
            sparse.kron(np.ones((size, 1)), (1.0 - power) * sparse.eye_array(count)),
            sparse.eye_array(size * count),
        ]
    )
    equations, right = sparse.csr_array(sparse.vstack(equal)), np.concatenate([np.ones(size), *rows])
    limits, basis, alike = sparse.csr_array(upper), np.eye(len(right)), np.arange(len(cost))
    if group is not None:
        basis, alike = group.basis, group.alike(estimates)
        limits = limits[np.unique(alike[count:], return_index=True)[1]]
    merged = sparse.csr_array((np.ones(len(cost)), (np.arange(len(cost)), alike)))
    kinds = merged.shape[1]
    program = LinearProgram(
        -(cost @ merged),
        sparse.csr_array(limits @ merged),
        np.zeros(limits.shape[0]),
        sparse.csr_array(sparse.csr_array(basis.T) @ equations @ merged),
        right @ basis,
        np.zeros(kinds),
        np.ones(kinds),
    )
    solution = solve_linear(program)
    if solution.status != "optimal":
        return None
    values = solution.variables[alike]
    prices = -(basis @ solution.equal_multipliers).reshape(1 + len(rows), size)
    low, more = values[:count], values[count:].reshape(size, count)
    return _Weighed(low, more, prices[1:] / 2.0, -prices[0], float(cost @ values))


def _first(rows: Array, power: float) -> Array:
    """Return a grid of estimates, wide enough for each user to report one coordinate at random."""
    width = 1.3 * len(rows) * float(np.abs(rows).max()) * (power + 1.0) / (power - 1.0)
    axis = np.linspace(-width, width, FIRST[len(rows) - 1])
    grid: Array = np.stack(np.meshgrid(*[axis] * len(rows), indexing="ij"), axis=-1).reshape(-1, len(rows))
    return grid


def _layers(low: Array, more: Array, power: float) -> tuple[Sets, Array, NDArray[np.int64]]:
    """Return patterns with weights c whose sums are l + d, and the number of each one's estimate."""
    sets: list[Sets] = []
    amounts: list[Array] = []
    whose: list[NDArray[np.int64]] = []
    for place, (level, part) in enumerate(zip(low, more.T, strict=True)):
        if level <= 0.0:
            continue
        shares = np.clip(part / ((power - 1.0) * level), 0.0, 1.0)
        ends = np.concatenate([[0.0], np.unique(shares[shares > 0.0]), [1.0]])
        sets.append(np.asarray(shares[None, :] > ends[:-1, None], dtype=bool))
        amounts.append(level * np.diff(ends))
        whose.append(np.full(len(ends) - 1, place))
    together, weights = np.vstack(sets), np.concatenate(amounts)
    used = np.flatnonzero(weights > 0.0)
    return np.asarray(together[used]), np.asarray(weights[used]), np.concatenate(whose)[used]


def _merged(together: Sets, weights: Array, power: float) -> tuple[Sets, Array]:
    """Return each pattern once."""
    whole = np.asarray(together.all(axis=1))
    weights = np.where(whole, power * weights, weights)  # a report of the same probability for all types
    distinct, inverse = np.unique(together & ~whole[:, None], axis=0, return_inverse=True)
    merged = np.bincount(inverse.ravel(), weights=weights)
    used = merged > 0.0
    return np.asarray(distinct[used], dtype=bool), np.asarray(merged[used], dtype=np.float64)


def _known(sets: Sets, amounts: Array, shares: Array, power: float) -> tuple[Sets, Array]:
    """Return the patterns, with rare reports of single types where they leave a direction unknown."""
    size = sets.shape[1]
    columns = columns_of(sets, power)
    levels = np.linalg.eigvalsh((columns * (amounts / (columns @ shares))[:, None]).T @ columns)
    if levels[0] > 1e-9 * levels[-1]:
        return sets, amounts
    share = KNOWN * size
    single = np.full(size, share / (size - 1.0 + power))
    return np.vstack([sets, np.eye(size, dtype=bool)]), np.append((1.0 - share) * amounts, single)


def _proven(problem: LinearQueries, bound: WorkloadBound) -> float:
    """Return the bound that the numbers prove; minus infinity where they prove none."""
    try:
        return problem.proven(bound)
    except (CertificateError, ZeroDivisionError):
        return -math.inf


def few_queries(problem: LinearQueries, gap: float | None = None) -> Outcome:
    """Add estimates until the bound proves the value to within ``gap``, a part of it.

    Parameters
    ----------
    problem : LinearQueries
    gap : float, optional
        By default 1e-6 for one query and :attr:`LinearQueries.optimal_within` for two.
    """
    if problem.epsilon == 0.0:
        return infeasible("linear programs")
    plain = problem.directions(np.eye(problem.queries.size))
    size = math.sqrt(float(problem.shares @ (plain**2).sum(axis=0)))
    if len(plain) == 1:
        reports = _on_line(problem, plain / size, size, CLOSE if gap is None else gap)
    else:
        reports = _on_plane(problem, plain / size, size, problem.optimal_within if gap is None else gap)
    if reports is None:
        return Outcome(
            status="failed", solver="linear programs", message="the first estimates do not suffice"
        )
    sets, amounts, bound, rounds = reports
    power = math.exp(problem.epsilon)
    sets, amounts = _known(*_merged(sets, amounts, power), problem.shares, power)
    notes = {"patterns": len(sets), "rounds": rounds}
    best = outcome(problem, sets, amounts, bound, "linear programs over estimates", notes=notes)
    return or_simple(problem, best)


_Reports = tuple[Sets, Array, WorkloadBound | None, int]


def _on_line(problem: LinearQueries, rows: Array, size: float, gap: float) -> _Reports | None:
    """Return patterns, weights, bound and rounds for one query."""
    shares, power = problem.shares, math.exp(problem.epsilon)
    estimates, weighed = _first(rows, power), None
    bound: WorkloadBound | None = None
    proven, rounds = -math.inf, 0
    while rounds < LINE_ROUNDS:
        rounds += 1
        again = _weighed(rows, shares, power, estimates)
        if again is None:
            break
        weighed, used = again, estimates
        stored = WorkloadBound(shares, weighed.directions * size, weighed.multiplier * size**2)
        value = _proven(problem, stored)
        if value > proven:
            bound, proven = stored, value
        if (weighed.value - 1.0) * size**2 <= proven * (1.0 + gap):
            break
        prices = DualPrices(weighed.directions, weighed.multiplier, rows, shares, power)
        estimates = np.unique(
            np.vstack([used[weighed.low > 0.0], cell_estimates(prices, LINE_NEWEST)]), axis=0
        )
    if weighed is None:
        return None
    sets, amounts, _ = _layers(weighed.low, weighed.more, power)
    return sets, amounts, bound, rounds


def _on_plane(problem: LinearQueries, rows: Array, size: float, gap: float) -> _Reports | None:
    """Return patterns, weights, bound and rounds for two queries."""
    shares, power = problem.shares, math.exp(problem.epsilon)
    estimates, group = _first(rows, power), Reflections.of(rows, shares)
    weighed = _weighed(rows, shares, power, estimates, group)
    if weighed is None:
        return None
    sets, _, whose = _layers(weighed.low, weighed.more, power)
    plane = Plane(rows, shares, power, group, sets, estimates[whose])
    best, rounds = plane.improved(Duals(weighed.directions, weighed.multiplier), gap)
    bound = WorkloadBound(shares, best.directions * size, best.multiplier * size**2)
    last = plane.solved(None)
    if last is None:
        return None
    used = last.weights > 0.0
    return *group.images(plane.sets[used], last.weights[used]), bound, rounds


def why_not_few_queries(problem: LinearQueries) -> str | None:
    """Return why estimates cannot be enumerated, or None."""
    if problem.is_worst:
        return "it minimizes an average; give shares instead"
    if not has_few_queries(problem):
        return "it goes through the estimates of one or two queries"
    size = problem.queries.size
    if size <= MOST_ENUMERATED:
        return "all patterns are few enough; use all-columns or columns"
    most = LARGEST[len(problem.queries.factor[0]) - 1]
    if size > most:
        return f"{size} types are too many for its linear program; the limit is {most}"
    rows = problem.directions(np.eye(size))
    if len(rows) > 1 and Reflections.of(rows, problem.shares).basis.shape[1] > EQUATIONS:
        return f"{size} types without symmetries are too many for its program; the limit is {EQUATIONS // 3}"
    return None
