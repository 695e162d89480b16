"""The best partition of a grid, found and proven by complete search in integers.

With feasible prices y the cost of a partition is sum(y) plus the reduced costs of its cells, all >= 0. So all
partitions whose cost exceeds sum(y) by at most a slack use only cells with reduced costs up to the slack,
which are few. If there is none, the slack grows; the first slack with a partition shows the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.judging import rounded_down
from mechdesign.families.spectrum.partition.duality import Exact, repaired
from mechdesign.families.spectrum.partition.linear_program import cloak_program
from mechdesign.families.spectrum.partition.problem import SpectrumPartition, infeasible, released, sets_of

Places = NDArray[np.int64]

NODES = 200_000
"""Partial partitions that are tried at most."""

FIRST, GROWTH = 256, 2
"""The first slack is this part of the cost of the whole map; the next ones are larger by the factor."""


@dataclass
class PartitionSearch:
    """Complete search for exact covers of the places by sets with small reduced costs.

    Attributes
    ----------
    members : (m, n) bool array
        Sets in rising order of their reduced costs.
    reduced : list of int
    limit : int
        The largest sum of reduced costs that is of interest; it falls to that of the best partition found.
    """

    members: NDArray[np.bool_]
    reduced: list[int]
    limit: int
    nodes: int = 0
    best: tuple[int, ...] | None = None
    complete: bool = True

    def __post_init__(self) -> None:
        counts = self.members.astype(np.float32)
        self.apart = (counts @ counts.T) == 0

    def run(self) -> None:
        """Try all partitions."""
        self._extend((), 0, np.arange(len(self.members)), np.ones(self.members.shape[1], dtype=np.bool_))

    def _extend(
        self, chosen: tuple[int, ...], cost: int, left: Places, open_places: NDArray[np.bool_]
    ) -> None:
        """Extend a partial partition at the open place that the fewest sets can cover."""
        if not open_places.any():
            if self.best is None or cost < self.limit:
                self.best, self.limit = chosen, cost
            return
        self.nodes += 1
        if self.nodes > NODES:
            self.complete = False
            return
        choices = self.members[left].sum(axis=0)
        place = int(np.where(open_places, choices, len(self.members) + 1).argmin())
        for number in left[self.members[left, place]].tolist():
            after = cost + self.reduced[number]
            if after > self.limit or (self.best is not None and after >= self.limit):
                break  # the others are no cheaper
            still = left[self.apart[number, left]]
            self._extend((*chosen, number), after, still, open_places & ~self.members[number])


def run(problem: SpectrumPartition) -> Outcome:
    """Search with growing slack until there is a partition."""
    nothing = infeasible(problem, "search")
    if nothing is not None:
        return nothing
    family = problem.family
    relaxed = cloak_program(problem, (family @ problem.masses) * problem.losses)
    if relaxed.status != "optimal":
        return Outcome(status="failed", solver=relaxed.solver, message=f"HiGHS ended with: {relaxed.message}")
    exact = repaired(problem, -relaxed.equal_multipliers)
    whole = int(np.flatnonzero(family.all(axis=1))[0])
    cells, proven, nodes = _grown(problem, exact, whole)
    sets = family[list(cells)]
    return Outcome(
        status="optimal" if proven == sum(exact.costs[number] for number in cells) else "feasible",
        variables=released(sets, sets.T.astype(np.float64)),
        bound=rounded_down(Fraction(proven, exact.unit), problem.objective_scale()),
        bound_source=f"complete search in integers, for partitions into {sets_of(problem)}",
        solver="search",
        notes={"nodes": nodes, "cloak_bound": float(exact.bound)},
    )


def _grown(problem: SpectrumPartition, exact: Exact, whole: int) -> tuple[tuple[int, ...], int, int]:
    """Return the best cells, a proven lower bound of all partitions' costs, and the nodes of the search."""
    base, nodes = sum(exact.prices), 0
    most = exact.reduced[whole]
    slack, proven = max(1, exact.costs[whole] // FIRST), base
    order = sorted(range(len(exact.reduced)), key=exact.reduced.__getitem__)
    while True:
        slack = min(slack, most)
        kept = [number for number in order if exact.reduced[number] <= slack]
        search = PartitionSearch(problem.family[kept], [exact.reduced[number] for number in kept], slack)
        search.run()
        nodes += search.nodes
        if search.best is not None:
            cells = tuple(kept[number] for number in search.best)
            return cells, (base + search.limit if search.complete else proven), nodes
        if not search.complete:
            return (whole,), proven, nodes
        proven = base + slack
        slack *= GROWTH


def why_not(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    return (
        None
        if problem.notion == "partition"
        else f"the notion '{problem.notion}' allows more than partitions"
    )
