"""Metric privacy on many places: an interior point method column by column, with pairs added as they are needed.

A private channel has one column a report, each in the same cone, and rows that sum to one; see
:mod:`mechdesign.solvers.coupled_cones`. Only the pairs of a spanner are written down at first: fewer
constraints are a relaxation, so its bound holds for the whole problem, and pairs that its solution breaks
are added until none is left. What is missed by then is mended by the repair that every method uses.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.triples import batches
from mechdesign.core.method import Method, Outcome
from mechdesign.core.validation import in_range
from mechdesign.problems.response.randomized_response import metric
from mechdesign.problems.response.randomized_response.linear_program import SIMPLEX_ROWS, shifted
from mechdesign.problems.response.randomized_response.polish import polished
from mechdesign.problems.response.randomized_response.problem import OPTIMALITY, RandomizedResponse
from mechdesign.problems.response.randomized_response.rows import row_count
from mechdesign.problems.response.randomized_response.spanner import spanner
from mechdesign.solvers.coupled_cones import CoupledCones

Array = NDArray[np.float64]
Edges = NDArray[np.int64]
Progress = Callable[[float, float], None]

STRETCH = 0.02
"""Of the spanner whose pairs are the first."""

GAP = 1e-3
"""The proven gap, as a part of the loss, at which it stops unless told otherwise."""

EARLY = 0.5
"""The gap of the state to which pairs are added."""

FIRST = 0.01
"""The gap up to which the pairs of the spanner are followed alone."""

MARGIN = 0.02
"""Pairs that are broken by more than minus this, in the logarithm of their ratio, are added with the rest."""

PART_BROKEN = 0.01
"""A pair may be broken by so much of the gap, in the logarithm of its ratio, and be left to the repair."""

LEAST = 1e-12
"""A smaller gap, as a part of the largest coefficient, is rounding."""

MOST_STEPS = 400

LARGEST = 1 << 28
"""Numbers of the inverse matrices, 8 bytes each; 600 places and as many reports have fewer."""

CLOSEST = 1e-6
"""Different places with a smaller epsilon times distance are left to other methods."""


def run(problem: RandomizedResponse, gap: float = GAP, progress: Progress | None = None) -> Outcome:
    """Follow the central path until the proven gap is below ``gap`` times the loss, then repair.

    Parameters
    ----------
    problem : RandomizedResponse
    gap : float
        In (0, 1). Rounding ends the method a little below 1e-5.
    progress : callable, optional
        Called with value and bound (of the utility) after every step.
    """
    goal = in_range("gap", gap, 0.0, 1.0, low_open=True, high_open=True)
    gains, offset = problem.centred_weights()
    scale = float(np.abs(gains).max()) or 1.0
    places = _Places.of(problem)
    watch = None if progress is None else _shifted_progress(progress, scale, offset)
    cones, notes = _follow(places, places.summed(gains / scale), problem.epsilon, goal, watch)
    channel, costs = polished(problem, _normalised(cones.columns)[places.group])
    bound = shifted(scale * cones.bound * (1.0 - 2.0**-50), offset)
    assert bound is not None
    shortfall = bound - problem.objective({"channel": channel})
    stake = float(problem.prior @ np.ptp(problem.utility_matrix(), axis=1))
    return Outcome(
        status="optimal" if shortfall <= OPTIMALITY / 2 * stake else "feasible",
        variables={"channel": channel},
        bound=bound,
        bound_source="weak duality with the multipliers of the central path",
        solver="interior point on columns",
        notes={**notes, **costs},
    )


@dataclass(frozen=True)
class _Places:
    """The distinct places: answers at distance 0 are one place, whose rows are equal."""

    distance: Array
    group: NDArray[np.intp]

    @classmethod
    def of(cls, problem: RandomizedResponse) -> _Places:
        distance = problem.distances()
        assert distance is not None
        from scipy.sparse.csgraph import connected_components

        factors = problem.epsilon * distance
        count, group = connected_components(factors == 0.0, directed=False)
        apart = np.full((count, count), np.inf)
        np.minimum.at(apart, (group[:, None], group[None, :]), distance)
        np.fill_diagonal(apart, 0.0)
        return cls(apart, group)

    def summed(self, gains: Array) -> Array:
        """Return the coefficients of the places, those of their answers added."""
        total = np.zeros((len(self.distance), gains.shape[1]))
        np.add.at(total, self.group, gains)
        return total


def _follow(
    places: _Places, weights: Array, epsilon: float, goal: float, watch: Progress | None
) -> tuple[CoupledCones, dict[str, int]]:
    """Return the state at the end, with pairs added until none is broken by more than the goal allows.

    Pairs are added to an early state of the path: late ones have slacks too small to make room.
    """
    pairs = metric.needed_pairs(places.distance)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    exponents = epsilon * places.distance
    edges = spanner(places.distance, STRETCH)
    path = _Path(watch)
    cones = CoupledCones(weights, edges, _factors(exponents, edges))
    if len(edges):
        path.walk(cones, EARLY)
    for part in (max(goal, FIRST), goal, goal, goal, goal):
        early, cones = cones, copy(cones)
        path.walk(cones, part)
        broken, near = _broken(cones, pairs, exponents, PART_BROKEN * goal)
        if not len(broken) and part == goal:
            break
        if len(near):
            best, cones = cones.bound, early
            cones.add(near, _factors(exponents, near))
            cones.bound = min(best, cones.bound)
    return cones, {"steps": path.steps, "pairs": 2 * len(cones.edges), "all_pairs": 2 * len(pairs)}


@dataclass
class _Path:
    """Counts steps and shows where they are."""

    watch: Progress | None
    steps: int = 0

    def walk(self, cones: CoupledCones, goal: float) -> None:
        """Make steps until the gap is below this part of the loss, or rounding stops them."""
        going = True
        while going and cones.bound - cones.value > max(goal * -cones.value, LEAST):
            going = self.steps < MOST_STEPS and cones.step()
            self.steps += 1
            if self.watch is not None:
                self.watch(cones.value, cones.bound)


def _factors(exponents: Array, edges: Edges) -> Array:
    """Return e^(-eps d) rounded down: what the exact channels satisfy, they satisfy with these as well."""
    chosen = exponents[edges[:, 0], edges[:, 1]]
    factors: Array = np.exp(-chosen) * (1.0 - (chosen + 8.0) * 2.0**-52)
    return np.maximum(factors, 0.0)


def _broken(cones: CoupledCones, pairs: Edges, exponents: Array, allowed: float) -> tuple[Edges, Edges]:
    """Return the pairs not yet written down that some column breaks, and with them those that come near.

    Broken is a logarithm of a ratio above epsilon d + allowed, near is one above epsilon d - MARGIN.
    """
    size = len(exponents)
    written = np.isin(pairs @ (size, 1), cones.edges @ (size, 1))
    left = pairs[~written]
    logs = np.log(np.maximum(cones.columns, 1e-300))
    excess = np.zeros(len(left))
    for part in batches(len(left), logs.shape[1]):
        first, second = left[part].T
        excess[part] = np.abs(logs[first] - logs[second]).max(axis=1) - exponents[first, second]
    return left[excess > allowed], left[excess > -MARGIN]


def _normalised(columns: Array) -> Array:
    positive = np.maximum(columns, 0.0)
    channel: Array = positive / positive.sum(axis=1, keepdims=True)
    return channel


def _shifted_progress(progress: Progress, scale: float, offset: float) -> Progress:
    return lambda value, bound: progress(scale * value + offset, scale * bound + offset)


def why_not(problem: RandomizedResponse) -> str | None:
    """Say why the method does not apply, if so."""
    if problem.is_extended:
        return "there are own constraints or an own utility"
    distance = problem.distances()
    if distance is None or not problem.is_linear:
        return "it is for metric privacy and linear utilities"
    if problem.size**2 * problem.reports > LARGEST:
        return f"{problem.size} answers and {problem.reports} reports are too many for it"
    factors = problem.epsilon * distance
    if ((factors > 0) & (factors < CLOSEST)).any():
        return f"some answers have a distance below {CLOSEST:g} / epsilon that is not 0"
    if row_count(problem) <= SIMPLEX_ROWS:
        return "the linear program is small enough for the simplex method, which ends at a vertex"
    return None


METHOD = Method(
    name="interior-point",
    problem=RandomizedResponse,
    kind="numeric",
    preference=25,
    summary="metric privacy on hundreds of places, column by column, bound by weak duality",
    run=run,
    why_not=why_not,
)
