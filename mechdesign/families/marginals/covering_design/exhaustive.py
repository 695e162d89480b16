"""``covering-design`` by exhaustive search in integers: the optimum of small cases, and what cannot be.

Some block contains the first uncovered subset. Two points that lie in the same blocks so far, and are both
in that subset or both not, can be exchanged; so of the blocks that differ by such exchanges only one is
tried. A branch ends where the blocks that are left have too few places for what every point still needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.covering_design.bounds import lower_bound
from mechdesign.families.marginals.covering_design.designs import Wholes
from mechdesign.families.marginals.covering_design.geometric import as_set, construct, full_rows
from mechdesign.families.marginals.covering_design.problem import CoveringDesign, outcome

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
            found = self._extend([*chosen, block], uncovered & ~covered, left - 1)
            if found is not None:
                return found
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
    if why_not(problem) is not None:
        return blocks, False
    search = Search(problem.points, problem.order, problem.block, nodes)
    found = search.find(len(blocks) - 1)
    while found is not None:
        blocks = full_rows([as_set(block) for block in found], problem.points, problem.block)
        found = search.find(len(blocks) - 1)
    return blocks, search.nodes >= 0


def run(problem: CoveringDesign, nodes: int = NODES) -> Outcome:
    """Look for coverings with as many blocks as the bound says, then one more, and so on.

    Parameters
    ----------
    problem : CoveringDesign
    nodes : int
        How many partial coverings may be looked at; what is then unknown is taken from the constructions.
    """
    count, source = lower_bound(problem.points, problem.order, problem.block)
    search = Search(problem.points, problem.order, problem.block, nodes)
    found = search.find(count)
    while found is None and search.nodes >= 0:
        count, source = count + 1, HOW
        found = search.find(count)
    if found is None:
        blocks, name = construct(problem)
        return outcome(problem, blocks, f"{nodes} nodes were not enough; {name}", (count, source))
    rows = full_rows([as_set(block) for block in found], problem.points, problem.block)
    return outcome(problem, rows, f"search of {nodes - search.nodes} nodes", (count, source))


def why_not(problem: CoveringDesign) -> str | None:
    """Return why the problem is too large, or None."""
    count = math.comb(problem.points, problem.order)
    if problem.points > MOST_POINTS or count > MOST_SUBSETS:
        return (
            f"{problem.points} points with {count} subsets are too many to go through all cases; "
            f"{MOST_POINTS} with {MOST_SUBSETS} at most"
        )
    return None
