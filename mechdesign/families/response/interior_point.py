"""Metric privacy on many places: interior points column by column, on the pairs of a spanner.

A private channel has one column a report, each in the same cone, and rows that sum to one; see
:mod:`mechdesign.solvers.interior`. Only the pairs of a spanner are written down, twice. First with
lengths a little shorter than the distances, so that every way over them has at most the distance it spans:
then the channel is private for all pairs. From there on with the distances themselves: fewer constraints are
a relaxation, so its bound holds for the whole problem. The stretch of the spanner, which is what both
together lose, is chosen by the gap that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.metric import needed_pairs
from mechdesign.core.errors import counted
from mechdesign.core.problem import Outcome
from mechdesign.core.validation import in_range
from mechdesign.core.values import frozen_value
from mechdesign.families.response.linear_program import SIMPLEX_ROWS, polished, row_count, shifted
from mechdesign.families.response.parameters import inner_lengths, spanner
from mechdesign.families.response.randomized_response import RandomizedResponse
from mechdesign.solvers.interior import CoupledCones

Array = NDArray[np.float64]
Edges = NDArray[np.int64]
Progress = Callable[[float, float], None]

GAP, CLOSE_GAP = 5e-3, 5e-4
"""The proven gap of the channel, as a part of the loss, at which it stops unless told otherwise; the second
for at most ``FEW`` places and reports."""

FEW = 100
"""With at most as many places and reports the last steps take seconds."""

QUICK_ROWS = 20_000
"""Up to this many privacy rows, those of 100 places on a line, the linear program takes seconds and ends at
the optimum."""

INNER = 1.0 / 3.0
"""The channel is followed until its gap to the best one over the shorter lengths is this part of the goal."""

EXACT = 0.5
"""The same where no length is shorter than its distance, so that nothing else is lost."""

FIRST_STRETCH, FIRST_GAP = 0.1, 0.05
"""The spanner of the first steps, and the gap at which they end."""

FEWER = 2
"""First steps are made where that spanner has at most one pair for this many pairs of the whole one."""

IN_VAIN = 0.01
"""More steps are useless where the bound can fall by at most this part of the goal."""

PASSES = 4
"""How often it starts at most, each time with a finer spanner."""

FINER = 0.25
"""The stretch of the next spanner, in that of the last one."""

LEAST = 1e-12
"""A smaller gap, as a part of the largest coefficient, is rounding."""

MOST_STEPS = 400

LARGEST = 1 << 28
"""Numbers of the inverse matrices, 8 bytes each; 600 places and as many reports have fewer."""

CLOSEST = 1e-6
"""Different places with a smaller epsilon times distance are left to other methods."""


def run(problem: RandomizedResponse, gap: float | None = None, progress: Progress | None = None) -> Outcome:
    """Follow the central path until the repaired channel is within ``gap`` times its loss of the bound.

    Parameters
    ----------
    problem : RandomizedResponse
    gap : float, optional
        In (0, 1); by default 0.0005 for at most 100 places and reports, and 0.005 for more. Rounding ends the
        method a little below 1e-4; the gap that was reached is in the solution.
    progress : callable, optional
        Called with value and bound (of the utility) after every step.
    """
    usual = CLOSE_GAP if max(problem.size, problem.reports) <= FEW else GAP
    goal = in_range("gap", usual if gap is None else gap, 0.0, 1.0, low_open=True, high_open=True)
    gains, offset = problem.centred_weights()
    scale = float(np.abs(gains).max()) or 1.0
    places = _Places.of(problem)
    path = _Path(problem, places, places.summed(gains / scale), scale, offset, progress)
    stretch = goal / max(1.0, problem.epsilon * places.nearest)
    for _ in range(PASSES):
        exact = path.both_sides(spanner(places.distance, stretch), goal)
        if exact or path.reached(goal) or path.steps >= MOST_STEPS:
            break
        stretch *= FINER
    bound = path.proven()
    stake = float(problem.prior @ np.ptp(problem.utility_matrix(), axis=1))
    return Outcome(
        status="optimal" if bound - path.value <= problem.optimal_within / 2 * stake else "feasible",
        variables={"channel": path.channel},
        bound=bound,
        bound_source="weak duality with the multipliers of the central path",
        solver="interior point on columns",
        notes={
            "steps": path.steps,
            "pairs": path.pairs,
            "needed_pairs": len(needed_pairs(places.distance)),
            **path.costs,
        },
    )


@frozen_value(repr=False, eq=False)
class _Places:
    """The distinct places: answers at distance 0 are one place, whose rows are equal."""

    distance: Array
    group: NDArray[np.intp]

    @property
    def nearest(self) -> float:
        """The least distance of two places; 0 if there is one place."""
        apart = self.distance[np.triu_indices(len(self.distance), 1)]
        return float(apart.min()) if len(apart) else 0.0

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


@attrs.define(slots=False, repr=False, eq=False)
class _Path:
    """The best channel and the best bound so far, in units of the utility and of the scaled weights."""

    problem: RandomizedResponse
    places: _Places
    weights: Array
    scale: float
    offset: float
    watch: Progress | None
    channel: Array = attrs.field(factory=lambda: np.empty(0))
    value: float = -np.inf
    bound: float = np.inf
    costs: dict[str, Any] = attrs.field(factory=dict)
    steps: int = 0
    pairs: int = 0

    def both_sides(self, edges: Edges, goal: float) -> bool:
        """Find a channel that is private over all pairs, then a bound; True if nothing was shortened."""
        distances = self._distances(edges)
        lengths = inner_lengths(self.places.distance, edges)
        exact = bool((lengths == distances).all())
        cones = self._start(edges, lengths)
        self.pairs = 2 * len(edges)
        going = len(edges) > 0
        if going:
            self._follow(cones, goal * (EXACT if exact else INNER))
        self._keep(cones.columns)
        if exact:
            self.bound = min(self.bound, cones.bound)
            return True
        cones.relax(_factors(self.problem.epsilon * distances))
        self.bound = min(self.bound, cones.bound)
        least = max(IN_VAIN * goal * -cones.value, LEAST)
        while going and not self.reached(goal) and cones.bound - cones.value > least:
            going = self._step(cones)
            self.bound = min(self.bound, cones.bound)
            if self.watch is not None:
                self.watch(self.value, self.proven())
        return False

    def _distances(self, edges: Edges) -> Array:
        """Return the distances of pairs of places."""
        distances: Array = self.places.distance[edges[:, 0], edges[:, 1]]
        return distances

    def _start(self, edges: Edges, lengths: Array) -> CoupledCones:
        """Return the cones of the edges, after some steps over fewer pairs where these are much fewer.

        More pairs, most of which bind nowhere, make a step cost more and go less far. The lengths of the
        fewer pairs are shortened by what those of the edges are: so the columns are private over the edges.
        """
        factors = _factors(self.problem.epsilon * lengths)
        few = spanner(self.places.distance, FIRST_STRETCH)
        if not 0 < FEWER * len(few) <= len(edges):
            return CoupledCones(self.weights, edges, factors)
        first = (lengths / self._distances(edges)).min() * inner_lengths(self.places.distance, few)
        cones = CoupledCones(self.weights, few, _factors(self.problem.epsilon * first))
        self._follow(cones, FIRST_GAP)
        return cones.moved_to(edges, factors)

    def _follow(self, cones: CoupledCones, aim: float) -> bool:
        """Follow the path in cones inside of the true ones to a gap; False where it does not go on."""
        true_factors = _factors(self.problem.epsilon * self._distances(cones.edges))
        going = True
        while going and cones.bound - cones.value > max(aim * -cones.value, LEAST):
            going = self._step(cones)
            if self.watch is not None:
                self.bound = min(self.bound, cones.bound_with(true_factors))
                self.watch(self.scale * cones.value + self.offset, self.proven())
        return going

    def _step(self, cones: CoupledCones) -> bool:
        self.steps += 1
        return self.steps <= MOST_STEPS and cones.step()

    def _keep(self, columns: Array) -> None:
        """Repair what rounding left, for all pairs, and keep the channel if it is better."""
        channel, costs = polished(self.problem, _normalised(columns)[self.places.group])
        value = self.problem.objective({"channel": channel})
        if value > self.value:
            self.channel, self.value, self.costs = channel, value, costs

    def proven(self) -> float:
        """Return the bound of the utility, rounded upwards."""
        bound = shifted(self.scale * self.bound + 2.0**-50 * abs(self.scale * self.bound), self.offset)
        assert bound is not None
        return bound

    def reached(self, goal: float) -> bool:
        """Return whether the channel is as close to the bound as was wanted."""
        return self.proven() - self.value <= goal * (self.offset - self.value)


def _factors(products: Array) -> Array:
    """Return e^(-eps d) rounded down: what the exact channels satisfy, they satisfy with these as well."""
    factors: Array = np.exp(-products) * (1.0 - (products + 8.0) * 2.0**-52)
    return np.maximum(factors, 0.0)


def _normalised(columns: Array) -> Array:
    positive = np.maximum(columns, 0.0)
    channel: Array = positive / positive.sum(axis=1, keepdims=True)
    return channel


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    distance = problem.distances()
    if distance is None or not problem.is_linear:
        return "it is for metric privacy and linear utilities"
    if problem.size**2 * problem.reports > LARGEST:
        return f"{counted(problem.size, 'answer')} and {problem.reports} reports are too many for it"
    with np.errstate(over="ignore"):
        factors = problem.epsilon * distance
    if not np.isfinite(factors).all():
        return "epsilon times a distance is beyond double precision"
    if not factors.any():
        return "no report may distinguish any two answers, so every channel has equal rows"
    if ((factors > 0) & (factors < CLOSEST)).any():
        return f"some answers have a distance below {CLOSEST:g} / epsilon that is not 0"
    if row_count(problem) <= SIMPLEX_ROWS:
        return "the linear program is small enough for the simplex method, which ends at a vertex"
    return None


def defers(problem: RandomizedResponse) -> bool:
    """Whether the linear program is as quick and ends at the optimum."""
    return row_count(problem) <= QUICK_ROWS
