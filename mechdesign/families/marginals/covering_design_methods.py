"""The methods of ``covering-design``: the first one that applies is the default.

*Portfolio*: everything that is quick, constructions first, then search, until a bound is met.

*Integer program*: a zero-one variable for each block; for small cases. Minimise sum_B x_B with sum of x_B
over the blocks B that contain S >= 1 for every subset S. Two kinds of rows help the solver and exclude no
covering: all blocks number at least the proven bound, and those that contain a point at least the bound of
what remains without it, C(d-1, k-1, l-1). One block may be fixed, since points can be renamed. The relaxation
proves nothing new: with x the same for all blocks it attains C(d, k) / C(l, k), which Schoenheim's bound
rounds up again and again. Hence the bound that is reported is the proven one, and the solver's word "optimal"
is a note.

*Exhaustive search* in integers: the optimum of small cases, and what cannot be. Some block contains the first
uncovered subset. Two points that lie in the same blocks so far, and are both in that subset or both not, can
be exchanged; so of the blocks that differ by such exchanges only one is tried. A branch ends where the blocks
that are left have too few places for what every point still needs.

The constructions and the greedy search have modules of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.covering_constructions import (
    as_set,
    construct,
    full_rows,
    run_constructions,
    why_not_constructed,
)
from mechdesign.families.marginals.covering_design import CoveringDesign, lower_bound, outcome
from mechdesign.families.marginals.covering_search import (
    Subsets,
    Wholes,
    places,
    run_greedy,
    searched,
    why_not_greedy,
)
from mechdesign.solvers.statement import statement_method

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NODES = 100_000
"""Partial coverings that are looked at: one or two seconds."""

MOST_SUBSETS = 200
MOST_POINTS = 16
"""Beyond this nothing would be settled in that many nodes."""

HOW = "exhaustive search, all cases"


@dataclass
class Search:
    """The search for a covering with a limited number of blocks.

    Attributes
    ----------
    points, order, block : int
    nodes : int
        How many partial coverings may still be looked at.
    """

    points: int
    order: int
    block: int
    nodes: int
    subsets: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.subsets = list(combinations(range(self.points), self.order))
        self.number = {subset: place for place, subset in enumerate(self.subsets)}
        self.stars = [
            as_set(place for place, subset in enumerate(self.subsets) if point in subset)
            for point in range(self.points)
        ]
        self.share = math.comb(self.block - 1, self.order - 1)

    def find(self, count: int) -> list[tuple[int, ...]] | None:
        """Return at most ``count`` blocks that cover everything; None if there are none or ``nodes`` ran out.

        Examples
        --------
        >>> search = Search(7, 2, 4, nodes=1000)
        >>> search.find(4) is None, search.nodes > 0, len(search.find(5))
        (True, True, 5)
        """
        return self._extend([], (1 << len(self.subsets)) - 1, count)

    def _extend(
        self, chosen: list[tuple[int, ...]], uncovered: int, left: int
    ) -> list[tuple[int, ...]] | None:
        if not uncovered:
            return chosen
        self.nodes -= 1
        if self.nodes < 0 or not self._enough_places(uncovered, left):
            return None
        first = self.subsets[(uncovered & -uncovered).bit_length() - 1]
        for block in self._different_blocks(chosen, first):
            covered = as_set(self.number[subset] for subset in combinations(block, self.order))
            covering = self._extend([*chosen, block], uncovered & ~covered, left - 1)
            if covering is not None:
                return covering
        return None

    def _enough_places(self, uncovered: int, left: int) -> bool:
        """Whether every point can still lie in as many blocks as its uncovered subsets need."""
        needed = (-(-(uncovered & star).bit_count() // self.share) for star in self.stars)
        total = 0
        for need in needed:
            total += need
            if need > left or total > left * self.block:
                return False
        return True

    def _different_blocks(
        self, chosen: list[tuple[int, ...]], first: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        """Yield blocks that contain the subset, one of all that differ by points that can be exchanged."""
        kinds: dict[tuple[bool, ...], list[int]] = {}
        for point in range(self.points):
            if point not in first:
                kinds.setdefault(tuple(point in block for block in chosen), []).append(point)
        groups = list(kinds.values())
        for taken in product(*(range(len(group), -1, -1) for group in groups)):
            if sum(taken) == self.block - self.order:
                added = [point for group, part in zip(groups, taken, strict=True) for point in group[:part]]
                yield tuple(sorted((*first, *added)))


def settle(problem: CoveringDesign, blocks: Wholes, nodes: int = NODES) -> tuple[Wholes, bool]:
    """Return the smallest covering that is found within the nodes, and whether all smaller ones are excluded.

    Parameters
    ----------
    problem : CoveringDesign
    blocks : (m, block) array
        A covering; coverings with fewer blocks are looked for.
    nodes : int
    """
    if why_not_exhaustive(problem) is not None:
        return blocks, False
    search = Search(problem.points, problem.order, problem.block, nodes)
    smaller = search.find(len(blocks) - 1)
    while smaller is not None:
        blocks = full_rows([as_set(block) for block in smaller], problem.points, problem.block)
        smaller = search.find(len(blocks) - 1)
    return blocks, search.nodes >= 0


def run_exhaustive(problem: CoveringDesign, nodes: int = NODES) -> Outcome:
    """Look for coverings with as many blocks as the bound says, then one more, and so on.

    Parameters
    ----------
    problem : CoveringDesign
    nodes : int
        How many partial coverings may be looked at; what is then unknown is taken from the constructions.
    """
    count, source = lower_bound(problem.points, problem.order, problem.block)
    search = Search(problem.points, problem.order, problem.block, nodes)
    covering = search.find(count)
    while covering is None and search.nodes >= 0:
        count, source = count + 1, HOW
        covering = search.find(count)
    if covering is None:
        blocks, name = construct(problem)
        return outcome(problem, blocks, f"{nodes} nodes were not enough; {name}", (count, source))
    rows = full_rows([as_set(block) for block in covering], problem.points, problem.block)
    return outcome(problem, rows, f"search of {nodes - search.nodes} nodes", (count, source))


def why_not_exhaustive(problem: CoveringDesign) -> str | None:
    """Return why the problem is too large, or None."""
    count = math.comb(problem.points, problem.order)
    if problem.points > MOST_POINTS or count > MOST_SUBSETS:
        return (
            f"{problem.points} points with {count} subsets are too many to go through all cases; "
            f"{MOST_POINTS} with {MOST_SUBSETS} at most"
        )
    return None


MOST_CANDIDATES = 500
"""Zero-one variables."""

MILP_NODES = 100
"""Nodes of the search tree."""


def run_milp(problem: CoveringDesign, nodes: int = MILP_NODES) -> Outcome:
    """Solve the integer program.

    Parameters
    ----------
    problem : CoveringDesign
    nodes : int
        Nodes of the solver's tree.
    """
    from scipy import sparse

    from mechdesign.solvers.integer import BinaryProgram, solve_binary

    points, order, block = problem.points, problem.order, problem.block
    candidates = places(points, block)
    count = len(candidates)
    least = lower_bound(points, order, block)[0]
    through = lower_bound(points - 1, order - 1, block - 1)[0] if order > 1 else 1
    parts: list[csr_array] = [
        _incidence(Subsets(points, order).of_blocks(candidates), math.comb(points, order)),
        _incidence(candidates, points),
        sparse.csr_array(np.ones((1, count))),
    ]
    rows = sparse.csr_array(sparse.vstack(parts))
    limits = np.concatenate([np.ones(math.comb(points, order)), np.full(points, through), [least]])
    program = BinaryProgram(np.ones(count), rows, limits.astype(np.float64), np.arange(count) == 0)
    result = solve_binary(program, nodes)
    if result.status not in ("optimal", "feasible"):
        return Outcome(status=result.status, solver=result.solver, message=result.message)
    solved = outcome(problem, candidates[result.variables], result.solver)
    return changed(solved, notes={**solved.notes, "solver_says": result.status})


def _incidence(rows: Wholes, count: int) -> csr_array:
    """Return the matrix with a row for each subset (or point) and a column for each block that has it."""
    from scipy import sparse

    columns = np.repeat(np.arange(len(rows)), rows.shape[1])
    return sparse.csr_array((np.ones(rows.size), (rows.ravel(), columns)), shape=(count, len(rows)))


def why_not_milp(problem: CoveringDesign) -> str | None:
    """Return why there are too many candidates, or None."""
    count = math.comb(problem.points, problem.block)
    if count > MOST_CANDIDATES:
        return f"{count} blocks to choose from are too many; {MOST_CANDIDATES} at most"
    return None


def run_portfolio(problem: CoveringDesign, effort: int | None = None, nodes: int = NODES) -> Outcome:
    """Construct; where that does not meet the bound, search, and go through all cases while there are few.

    Parameters
    ----------
    problem : CoveringDesign
    effort : int, optional
        How many subsets the local search may look at; by default as many as take a few seconds.
    nodes : int
        How many partial coverings may be looked at, to find a smaller covering or to exclude it.
    """
    blocks, name = construct(problem)
    bound = lower_bound(problem.points, problem.order, problem.block)
    if len(blocks) == bound[0]:
        return outcome(problem, blocks, name)
    blocks, settled = settle(problem, blocks, nodes)
    if not settled and why_not_greedy(problem) is None:
        better = searched(problem, blocks, effort)
        if len(better) < len(blocks):
            blocks, settled = settle(problem, better, nodes)
            name = "search"
    return outcome(problem, blocks, name, (len(blocks), HOW) if settled else bound)


METHODS = (
    Method("portfolio", CoveringDesign, "numeric",
           "constructions, then greedy choice and local search, until the proven bound is met",
           run_portfolio, why_not_constructed),
    Method("geometric", CoveringDesign, "analytic",
           "geometries, triple systems, groups, products, doubling, deleted points",
           run_constructions, why_not_constructed),
    Method("milp", CoveringDesign, "numeric", "integer program over all blocks, for small cases",
           run_milp, why_not_milp),
    Method("exhaustive", CoveringDesign, "numeric", "exhaustive search up to symmetry, for small cases",
           run_exhaustive, why_not_exhaustive),
    Method("greedy", CoveringDesign, "heuristic",
           "lazy greedy choice, removal of redundant blocks, local search", run_greedy, why_not_greedy),
    statement_method(CoveringDesign, most=130),
)  # fmt: skip
