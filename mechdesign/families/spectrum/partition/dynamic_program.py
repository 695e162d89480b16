"""The best partition of a line into intervals by dynamic programming, in fractions; proven for all cloaks.

V(j) is the least cost of a partition of the first j places. The differences y_j = V(j) - V(j - 1) are prices
with y(Q) = V(j) - V(i) <= cost(Q) for each admissible interval Q = (i, j]: feasible in the dual of all
channels of the notion "cloak", randomized ones included, and they sum to V(n), the cost of the partition. So
on a line nothing is gained by randomizing. (The matrix of intervals has consecutive ones, so it is totally
unimodular: the same in other words.) Where no partition ends at i, V(i) is taken so large that no interval
from i is below cost.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.judging import rounded_down
from mechdesign.families.spectrum.partition.duality import exact_costs
from mechdesign.families.spectrum.partition.problem import (
    SpectrumPartition,
    channels_over,
    infeasible,
    released,
)


def run(problem: SpectrumPartition) -> Outcome:
    """Return the cheapest chain of intervals from the first place to the last."""
    nothing = infeasible(problem, "dynamic program")
    if nothing is not None:
        return nothing
    unit, costs = exact_costs(problem)
    first = problem.family.argmax(axis=1)
    last = first + problem.family.sum(axis=1)
    ending: list[list[tuple[int, int, int]]] = [[] for _ in range(problem.size + 1)]
    for place, (i, j) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        ending[j].append((i, costs[place], place))
    least: list[int | None] = [0] + [None] * problem.size
    chosen = [-1] * (problem.size + 1)
    for j in range(1, problem.size + 1):
        for i, cost, place in ending[j]:
            before = least[i]
            if before is not None and (least[j] is None or before + cost < least[j]):  # type: ignore[operator]
                least[j], chosen[j] = before + cost, place
    bound = Fraction(_dual(least, ending), unit)
    cells, end = [], problem.size
    while end:
        cells.append(chosen[end])
        end = int(first[chosen[end]])
    sets = problem.family[cells[::-1]]
    return Outcome(
        status="optimal",
        variables=released(sets, sets.T.astype(np.float64)),
        bound=rounded_down(bound, problem.objective_scale()),
        bound_source=f"prices of the dynamic program, checked in fractions, for {channels_over(problem)}",
        solver="dynamic program",
    )


def _dual(least: list[int | None], ending: list[list[tuple[int, int, int]]]) -> int:
    """Return the sum of the prices, after checking that no interval costs less than its prices."""
    highest = max(value for value in least if value is not None)
    potential = [highest if value is None else value for value in least]
    for j, arcs in enumerate(ending):
        for i, cost, _ in arcs:
            if potential[j] - potential[i] > cost:
                raise ArithmeticError("dynamic program: a price is above a cost")
    return potential[-1] - potential[0]


def why_not(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if not problem.on_line:
        return "the places are not on a line"
    if problem.notion not in ("partition", "cloak"):
        return f"the notion '{problem.notion}' is not about fixed sets"
    return None
