"""The methods of ``spectrum-partition``: the first one that applies is the default.

*A line, by dynamic programming in fractions.* V(j) is the least cost of a partition of the first j places.
The differences y_j = V(j) - V(j - 1) are prices with y(Q) = V(j) - V(i) <= cost(Q) for each admissible
interval Q = (i, j]: feasible in the dual of all channels of the notion "cloak", randomized ones included, and
they sum to V(n), the cost of the partition. So on a line nothing is gained by randomizing. (The matrix of
intervals has consecutive ones, so it is totally unimodular: the same in other words.) Where no partition ends
at i, V(i) is taken so large that no interval from i is below cost.

*A grid, by complete search in integers.* With feasible prices y the cost of a partition is sum(y) plus the
reduced costs of its cells, all >= 0. So all partitions whose cost exceeds sum(y) by at most a slack use only
cells with reduced costs up to the slack, which are few. If there is none, the slack grows; the first slack
with a partition shows the best one.

*Noise of bounded support on a line.* The center of a window is the place plus truncated Laplace noise u in
{-w, ..., w} with probability proportional to r^|u|, r = e^(-epsilon / distance), and Q is the window
[x + u - w, x + u + w] cut to the map. Within the support probabilities at places d <= distance apart differ
by at most e^epsilon, so all that delta has to pay for is the mass of the last ``distance`` steps. Without the
cut and with steps that are small, half the window is (D / epsilon) ln(1 + (e^epsilon - 1) / (2 delta)).

The integer and the conic program, which only check the others, are in ``checks``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.spectrum.checks import (
    partition_by_integer_program,
    why_no_set_partitioning,
)
from mechdesign.families.spectrum.partition import (
    SpectrumPartition,
    cells_of,
    channels_over,
    infeasible,
    outcome,
    released,
    sets_of,
)
from mechdesign.families.spectrum.partition_programs import (
    Exact,
    cloak_program,
    cloaks_by_linear_program,
    exact_costs,
    repaired,
    why_no_linear_program,
)
from mechdesign.solvers.statement import statement_method


def partition_by_dynamic_program(problem: SpectrumPartition) -> Outcome:
    """Return the cheapest chain of intervals from the first place to the last."""
    if (nothing := infeasible(problem, "dynamic program")) is not None:
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
    source = f"prices of the dynamic program, checked in fractions, for {channels_over(problem)}"
    return outcome(problem, cells_of(sets), bound, source, "dynamic program", is_best=True)


def _dual(least: list[int | None], ending: list[list[tuple[int, int, int]]]) -> int:
    """Return the sum of the prices, after checking that no interval costs less than its prices."""
    highest = max(value for value in least if value is not None)
    potential = [highest if value is None else value for value in least]
    for j, arcs in enumerate(ending):
        for i, cost, _ in arcs:
            if potential[j] - potential[i] > cost:
                raise ArithmeticError("dynamic program: a price is above a cost")
    return potential[-1] - potential[0]


def why_no_dynamic_program(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if not problem.on_line:
        return "the places are not on a line"
    if problem.notion not in ("partition", "cloak"):
        return f"the notion '{problem.notion}' is not about fixed sets"
    return None


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


def partition_by_search(problem: SpectrumPartition) -> Outcome:
    """Search with growing slack until there is a partition."""
    if (nothing := infeasible(problem, "search")) is not None:
        return nothing
    family = problem.family
    relaxed = cloak_program(problem, (family @ problem.masses) * problem.losses)
    if relaxed.status != "optimal":
        return Outcome(status="failed", solver=relaxed.solver, message=f"HiGHS ended with: {relaxed.message}")
    exact = repaired(problem, -relaxed.equal_multipliers)
    whole = int(np.flatnonzero(family.all(axis=1))[0])
    cells, proven, nodes = _grown(problem, exact, whole)
    return outcome(
        problem,
        cells_of(family[list(cells)]),
        Fraction(proven, exact.unit),
        f"complete search in integers, for partitions into {sets_of(problem)}",
        "search",
        is_best=proven == sum(exact.costs[number] for number in cells),
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
        cheap = [number for number in order if exact.reduced[number] <= slack]
        search = PartitionSearch(problem.family[cheap], [exact.reduced[number] for number in cheap], slack)
        search.run()
        nodes += search.nodes
        if search.best is not None:
            cells = tuple(cheap[number] for number in search.best)
            return cells, (base + search.limit if search.complete else proven), nodes
        if not search.complete:
            return (whole,), proven, nodes
        proven = base + slack
        slack *= GROWTH


def why_no_search(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    return (
        None
        if problem.notion == "partition"
        else f"the notion '{problem.notion}' allows more than partitions"
    )


Array = NDArray[np.float64]

TINY = 1e-9
"""Below it epsilon is 0 in the formulas, which makes no difference in double precision."""

LONGEST = 1000.0
"""Half a window at most, in steps."""


def half_window(epsilon: float, delta: float, distance: float) -> float:
    """Return half the length of the window for real noise: (D / epsilon) ln(1 + (e^epsilon - 1) / (2 delta)).

    Examples
    --------
    >>> round(half_window(1.0, 0.1345, 1.0), 3), round(half_window(1e-9, 0.125, 1.0), 3)
    (2.0, 4.0)
    """
    if epsilon < TINY:
        return distance / (2.0 * delta)
    return distance / epsilon * math.log1p(math.expm1(epsilon) / (2.0 * delta))


def least_window(epsilon: float, delta: float, distance: float) -> float:
    """Return a length that the window of every invariant mechanism exceeds.

    Let Q have the law nu of the place's position in it. The first j runs of length D from either end have at
    most m_j = delta (e^(epsilon j) - 1) / (e^epsilon - 1) of nu in all: shifted by D the first leaves Q, and
    the first j become the first j - 1, so m_j <= e^epsilon m_(j-1) + delta. A window of at most (n - 1) D is
    covered by n - 1 such runs, floor((n - 1) / 2) from one end and the others from the other one, which have
    to hold all of nu. So the window exceeds (n - 1) D for the least n at which they can: returned is that (n
    - 1) D.

    Examples
    --------
    >>> least_window(1.0, 0.1345, 1.0)
    3.0
    """

    def held(runs: int) -> float:
        return delta * (runs if epsilon < TINY else math.expm1(epsilon * runs) / math.expm1(epsilon))

    count = 1
    while held(count // 2) + held(count - count // 2) < 1.0:
        count += 1
    return (count - 1) * distance


def _noise(epsilon: float, delta: float, distance: int) -> Array:
    """Return the probabilities of u = -w, ..., w for the least w with a mass of at most delta at its end.

    Examples
    --------
    >>> _noise(0.0, 0.25, 1)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """
    width = 0
    while True:
        steps = np.abs(np.arange(-width, width + 1))
        weights = np.exp(-epsilon / distance * steps)
        law: Array = weights / weights.sum()
        if float(law[-distance:].sum()) <= delta:
            return law
        width += 1


def windows_of_truncated_laplace(problem: SpectrumPartition) -> Outcome:
    """Return the channel of the window cut to the map."""
    if (nothing := infeasible(problem, "formula")) is not None:
        return nothing
    assert problem.epsilon is not None
    assert problem.delta is not None
    law = _noise(problem.epsilon, problem.delta, problem.distance)
    width, size = len(law) // 2, problem.size
    places = {row.tobytes(): number for number, row in enumerate(problem.family)}
    channel = np.zeros((size, len(problem.family)))
    points = np.arange(size)
    for x in range(size):
        for u, probability in enumerate(law.tolist(), -width):
            window = (points >= x + u - width) & (points <= x + u + width)
            channel[x, places[window.tobytes()]] += probability
    return Outcome(status="feasible", variables=released(problem.family, channel), solver="formula")


def why_no_truncated_laplace(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion != "slack" or not problem.on_line:
        return "it is for the notion 'slack' on a line"
    if problem.delta == 0:
        return "it needs delta > 0"
    if problem.least > 0 or problem.count > 1:
        return "windows at the ends of the map may be too small for least and count"
    if half_window(problem.epsilon or 0.0, problem.delta or 0.0, problem.distance) > LONGEST:
        return f"half its window is longer than {LONGEST:g} steps; the whole map hides the place"
    return None


METHODS = (
    Method("dynamic-program", SpectrumPartition, "analytic", "the cheapest chain of intervals, in fractions",
           partition_by_dynamic_program, why_no_dynamic_program),
    Method("search", SpectrumPartition, "analytic",
           "complete search for exact covers by sets of small reduced cost, in integers",
           partition_by_search, why_no_search),
    Method("linear-program", SpectrumPartition, "numeric",
           "the linear program over all sets (HiGHS), with a bound of its own",
           cloaks_by_linear_program, why_no_linear_program),
    Method("truncated-laplace", SpectrumPartition, "heuristic",
           "a window around a location with truncated Laplace noise",
           windows_of_truncated_laplace, why_no_truncated_laplace),
    Method("milp", SpectrumPartition, "numeric", "set partitioning by an integer program (pulp)",
           partition_by_integer_program, why_no_set_partitioning),
    statement_method(SpectrumPartition, most=8000, former_names=("convex",)),
)  # fmt: skip
