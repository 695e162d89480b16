"""Metric privacy on many places: interior points column by column, pairs added as they are needed.

A private channel has one column a report, each in the same cone, and rows that sum to one; see
:mod:`mechdesign.solvers.coupled_cones`. Only the pairs of a spanner are written down at first: fewer
constraints are a relaxation, so its bound holds for the whole problem. Pairs that its solution breaks are
added, and it starts anew: from a late state the path would have no room to turn. What is missed by then is
mended by the repair that every method uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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

GAP = 5e-3
"""The proven gap of the repaired channel, as a part of the loss, at which it stops unless told otherwise."""

FIRST = 0.02
"""The gap up to which the pairs of the spanner are followed alone."""

PASSES = 4
"""How often pairs are added at most, each time followed to half the gap that is wanted."""

MARGIN = 0.05
"""Pairs that are broken by more than minus this, in the logarithm of their ratio, are added."""

LEAST = 1e-12
"""A smaller gap, as a part of the largest coefficient, is rounding."""

MOST_STEPS = 400

LARGEST = 1 << 28
"""Numbers of the inverse matrices, 8 bytes each; 600 places and as many reports have fewer."""

CLOSEST = 1e-6
"""Different places with a smaller epsilon times distance are left to other methods."""


def run(problem: RandomizedResponse, gap: float = GAP, progress: Progress | None = None) -> Outcome:
    """Follow the central path until the repaired channel is within ``gap`` times its loss of the bound.

    Parameters
    ----------
    problem : RandomizedResponse
    gap : float
        In (0, 1). Rounding ends the method a little below 1e-4; the gap that was reached is in the solution.
    progress : callable, optional
        Called with value and bound (of the utility) after every step.
    """
    goal = in_range("gap", gap, 0.0, 1.0, low_open=True, high_open=True)
    gains, offset = problem.centred_weights()
    scale = float(np.abs(gains).max()) or 1.0
    places = _Places.of(problem)
    path = _Path(_shifted_progress(progress, scale, offset))
    weights = places.summed(gains / scale)
    edges, best = spanner(places.distance, STRETCH), np.inf
    goals = [max(goal, FIRST)] + PASSES * [goal / 2]
    cones = CoupledCones(weights, edges, _factors(places, edges, problem.epsilon))
    for part in goals:
        path.walk(cones, part)
        best = min(best, cones.bound)
        channel, costs = polished(problem, _normalised(cones.columns)[places.group])
        bound = shifted(scale * best + 2.0**-50 * abs(scale * best), offset)
        assert bound is not None
        shortfall = bound - problem.objective({"channel": channel})
        near = _near(cones, places, problem.epsilon)
        if shortfall <= goal * (offset - bound + shortfall) or (part != goals[0] and not len(near)):
            break
        if len(near):
            edges = np.concatenate([edges, near])
            cones = CoupledCones(weights, edges, _factors(places, edges, problem.epsilon))
    stake = float(problem.prior @ np.ptp(problem.utility_matrix(), axis=1))
    return Outcome(
        status="optimal" if shortfall <= OPTIMALITY / 2 * stake else "feasible",
        variables={"channel": channel},
        bound=bound,
        bound_source="weak duality with the multipliers of the central path",
        solver="interior point on columns",
        notes={
            "steps": path.steps,
            "pairs": 2 * len(cones.edges),
            "needed_pairs": 2 * len(places.pairs),
            **costs,
        },
    )


@dataclass(frozen=True)
class _Places:
    """The distinct places: answers at distance 0 are one place, whose rows are equal."""

    distance: Array
    group: NDArray[np.intp]

    @cached_property
    def pairs(self) -> Edges:
        """The pairs i < j whose inequalities imply all others."""
        both = metric.needed_pairs(self.distance)
        return both[both[:, 0] < both[:, 1]]

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
        return cls(apart, np.asarray(group, dtype=np.intp))

    def summed(self, gains: Array) -> Array:
        """Return the coefficients of the places, those of their answers added."""
        total = np.zeros((len(self.distance), gains.shape[1]))
        np.add.at(total, self.group, gains)
        return total


@dataclass
class _Path:
    """Counts steps and shows where they are."""

    watch: Progress | None
    steps: int = 0

    def walk(self, cones: CoupledCones, goal: float) -> None:
        """Make steps until the gap is below this part of the loss, or rounding stops them."""
        going = len(cones.edges) > 0
        while going and cones.bound - cones.value > max(goal * -cones.value, LEAST):
            going = self.steps < MOST_STEPS and cones.step()
            self.steps += 1
            if self.watch is not None:
                self.watch(cones.value, cones.bound)


def _factors(places: _Places, edges: Edges, epsilon: float) -> Array:
    """Return e^(-eps d) rounded down: what the exact channels satisfy, they satisfy with these as well."""
    chosen = epsilon * places.distance[edges[:, 0], edges[:, 1]]
    factors: Array = np.exp(-chosen) * (1.0 - (chosen + 8.0) * 2.0**-52)
    return np.maximum(factors, 0.0)


def _near(cones: CoupledCones, places: _Places, epsilon: float) -> Edges:
    """Return the pairs not yet written down that some column breaks, or that come within MARGIN of it."""
    codes = (len(places.distance), 1)
    left = places.pairs[~np.isin(places.pairs @ codes, cones.edges @ codes)]
    logs = np.log(np.maximum(cones.columns, 1e-300))
    excess = np.zeros(len(left))
    for part in batches(len(left), logs.shape[1]):
        first, second = left[part].T
        rises = np.abs(logs[first] - logs[second]).max(axis=1)
        excess[part] = rises - epsilon * places.distance[first, second]
    return left[excess > -MARGIN]


def _normalised(columns: Array) -> Array:
    positive = np.maximum(columns, 0.0)
    channel: Array = positive / positive.sum(axis=1, keepdims=True)
    return channel


def _shifted_progress(progress: Progress | None, scale: float, offset: float) -> Progress | None:
    if progress is None:
        return None
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
    with np.errstate(over="ignore"):
        factors = problem.epsilon * distance
    if not np.isfinite(factors).all():
        return "epsilon times a distance is beyond double precision"
    if not factors.any():
        return "no report may tell any two answers apart, so every channel has equal rows"
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
