"""Coverings by search: lazy greedy choice, removal of redundant blocks, and local search.

All work on how often each subset of ``order`` points is covered (:class:`Subsets`). The local search takes
one block away, then exchanges single points until everything is covered again. A step takes an uncovered
subset at random and looks at every block that lacks one point of it: which of the block's other points is
best given up for that point? The exchange that leaves the fewest subsets uncovered is carried out, even if
that is more than before; a block rests for a few steps then. The neighbours are those of Nurmela and
Ostergard (1993), only those that help the chosen subset; the memory is that of tabu search.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.marginals.covering_design import (
    CoveringDesign,
    binomials,
    lower_bound,
    outcome,
    schoenheim,
    unranked,
)

Wholes = NDArray[np.int64]
Halves = NDArray[np.int32]

MOST_ENTRIES = 1 << 21
"""Entries of the table of ranks by unsorted points; above it points are sorted each time."""


SORTING = 6
"""How many times as long as a look into the table sorting takes."""


class Subsets:
    """Ranks of subsets whose points come in any order.

    Parameters
    ----------
    points, order : int

    Attributes
    ----------
    count : int
        C(points, order).
    every : (count, order) array
        The subsets by their ranks.
    cost : int
        How long finding one rank takes, in units of the quicker way.
    """

    def __init__(self, points: int, order: int) -> None:
        self.points, self.order = points, order
        self.count = math.comb(points, order)
        self.every = unranked(np.arange(self.count), points, order)
        self._table = binomials(points, order)
        self._weights = points ** np.arange(order)
        self._rank: Wholes | None = None
        if points**order <= MOST_ENTRIES:
            numbers = np.arange(points**order)
            self._rank = self._sorted_ranks(numbers[:, None] // self._weights % points)
        self.cost = 1 if self._rank is not None else SORTING

    def ranks(self, subsets: Wholes) -> Wholes:
        """Return the ranks of subsets, given as (..., order) array of distinct points.

        Examples
        --------
        >>> Subsets(5, 2).ranks(np.array([[0, 1], [1, 0], [4, 3]])).tolist()
        [0, 0, 9]
        """
        if self._rank is None:
            return self._sorted_ranks(subsets)
        ranks: Wholes = self._rank[subsets @ self._weights]
        return ranks

    def halves(self, rest: Wholes) -> Halves:
        """Return the part that (..., order - 1) points have in a place of the table, for :meth:`joined`.

        Without a table that is the points themselves.
        """
        small = rest.astype(np.int32)
        if self._rank is None:
            return small
        ranks: Halves = small @ self._weights[1:].astype(np.int32)
        return ranks

    def joined(self, halves: Halves, point: Wholes) -> Wholes:
        """Return the ranks of subsets given by (n, parts) halves, each joined by its row's point.

        Examples
        --------
        >>> subsets = Subsets(5, 3)
        >>> rest = np.array([[[0, 1], [3, 1]]])
        >>> subsets.joined(subsets.halves(rest), np.array([4])).tolist()
        [[4, 8]]
        >>> subsets.ranks(np.array([[4, 0, 1], [4, 3, 1]])).tolist()
        [4, 8]
        """
        if self._rank is not None:
            ranks: Wholes = self._rank[halves + point[:, None]]
            return ranks
        column = np.broadcast_to(point[:, None, None], (*halves.shape[:2], 1))
        return self._sorted_ranks(np.concatenate([column, halves], axis=2))

    def _sorted_ranks(self, subsets: Wholes) -> Wholes:
        ordered = np.sort(subsets, axis=-1)
        ranks = np.zeros(subsets.shape[:-1], dtype=np.int64)
        for place in range(self.order):
            ranks += self._table[place + 1][ordered[..., place]]
        return ranks

    def of_blocks(self, blocks: Wholes) -> Wholes:
        """Return the ranks of all subsets of each block, a row per block."""
        return self.ranks(blocks[:, places(blocks.shape[1], self.order)])

    def times_covered(self, blocks: Wholes) -> Wholes:
        """Return the number of blocks that cover each subset."""
        return np.bincount(self.of_blocks(blocks).ravel(), minlength=self.count)


def places(size: int, part: int) -> Wholes:
    """Return the subsets of 0 .. size - 1 with ``part`` members, a row each, in lexicographic order.

    Examples
    --------
    >>> places(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(combinations(range(size), part)), dtype=np.int64).reshape(
        math.comb(size, part), part
    )


def without_redundant(blocks: Wholes, subsets: Subsets) -> Wholes:
    """Remove, one after the other, blocks all of whose subsets lie in blocks that are kept.

    Examples
    --------
    >>> without_redundant(np.array([[0, 1], [0, 2], [0, 1], [1, 2]]), Subsets(3, 2)).tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    ranks = subsets.of_blocks(blocks)
    times = np.bincount(ranks.ravel(), minlength=subsets.count)
    own = (times[ranks] == 1).sum(axis=1)
    needed = np.ones(len(blocks), dtype=np.bool_)
    for number in np.flatnonzero(own == 0).tolist():
        if (times[ranks[number]] > 1).all():
            needed[number] = False
            times[ranks[number]] -= 1
    return blocks[needed]


REST = 2
"""Steps for which a block is left alone after an exchange, at most; 1 and 4 found larger coverings."""

STEP = 300
"""What a step costs besides the subsets that are looked at, in the time that one of them takes."""


def improved(
    blocks: Wholes, subsets: Subsets, enough: int, effort: int, rng: np.random.Generator
) -> tuple[Wholes, int]:
    """Return a covering of fewer blocks where one is found, and the effort that it took.

    Parameters
    ----------
    blocks : (m, l) array
        A covering.
    subsets : Subsets
    enough : int
        A proven lower bound: the search ends at this number of blocks.
    effort : int
        How many subsets of changed blocks are looked at, about; a step counts for ``STEP`` of them besides.
        No clock decides, so the same problem has the same answer.
    rng : numpy Generator
    """
    best, left = without_redundant(blocks, subsets), effort
    while len(best) > enough and left > 0:
        search = _Search(_without_one(best, subsets), subsets, rng)
        steps = search.run(left)
        left -= steps
        if search.holes.size:
            break
        best = without_redundant(search.blocks, subsets)
    return best, effort - left


def _without_one(blocks: Wholes, subsets: Subsets) -> Wholes:
    """Leave out the block that covers the fewest subsets alone."""
    ranks = subsets.of_blocks(blocks)
    times = np.bincount(ranks.ravel(), minlength=subsets.count)
    own = (times[ranks] == 1).sum(axis=1)
    return np.delete(blocks, int(own.argmin()), axis=0)


class _Search:
    """Blocks, how often they cover each subset, and the exchange of single points."""

    def __init__(self, blocks: Wholes, subsets: Subsets, rng: np.random.Generator) -> None:
        self.blocks, self.subsets, self.rng = blocks.copy(), subsets, rng
        size = blocks.shape[1]
        self.times = subsets.times_covered(blocks)
        self.members = np.zeros((subsets.points, len(blocks)), dtype=np.bool_)
        np.put_along_axis(self.members, blocks.T, True, axis=0)
        others = np.array([[i for i in range(size) if i != place] for place in range(size)])
        self.parts = others[:, places(size - 1, subsets.order - 1)]
        self.halves = subsets.halves(blocks[:, self.parts])  # what is left of a block without each point
        self.rested = np.full(len(blocks), -REST - 1)
        self.rest = min(REST, len(blocks) // 4)

    @property
    def holes(self) -> Wholes:
        """The ranks of the uncovered subsets."""
        return np.flatnonzero(self.times == 0)

    def run(self, effort: int) -> int:
        """Exchange until everything is covered or the effort is spent; return what was spent."""
        spent, step = 0, 0
        while spent < effort:
            holes = self.holes
            if not holes.size:
                break
            step += 1
            hole = self.subsets.every[holes[self.rng.integers(len(holes))]]
            has = self.members[hole]
            inside = has.sum(axis=0)
            rows = np.flatnonzero(inside == self.subsets.order - 1)
            awake = rows[self.rested[rows] < step - self.rest]
            rows = awake if awake.size else rows
            spent += STEP + len(self.times) // 16
            if rows.size:
                spent += self._best_exchange(rows, hole, hole[has[:, rows].argmin(axis=0)], step)
            else:
                self._approach(hole, inside, step)
        return spent

    def _best_exchange(self, rows: Wholes, hole: Wholes, lacking: Wholes, step: int) -> int:
        """Make the exchange in these rows that leaves the fewest uncovered; return what looking took."""
        blocks = self.blocks[rows]
        is_wanted = np.zeros(self.subsets.points, dtype=np.bool_)
        is_wanted[hole] = True
        row, place = np.nonzero(~is_wanted[blocks])
        halves = self.halves[rows[row], place]
        out = self.subsets.joined(halves, blocks[row, place])
        new = self.subsets.joined(halves, lacking[row])
        worse = (self.times[out] == 1).sum(axis=1) - (self.times[new] == 0).sum(axis=1)
        best = np.flatnonzero(worse == worse.min())
        chosen = int(best[self.rng.integers(len(best))])
        self.times[out[chosen]] -= 1
        self.times[new[chosen]] += 1
        self._replace(int(rows[row[chosen]]), int(place[chosen]), int(lacking[row[chosen]]), step)
        return out.size * self.subsets.cost

    def _approach(self, hole: Wholes, inside: Wholes, step: int) -> None:
        """No block lacks just one point: give one of the nearest a point more."""
        nearest = np.flatnonzero(inside == inside.max())
        row = int(nearest[self.rng.integers(len(nearest))])
        lacking = hole[~self.members[hole, row]]
        spare = np.flatnonzero(~np.isin(self.blocks[row], hole))
        place, point = int(self.rng.choice(spare)), int(self.rng.choice(lacking))
        halves = self.halves[[row], place]
        self.times[self.subsets.joined(halves, self.blocks[row, [place]])[0]] -= 1
        self.times[self.subsets.joined(halves, np.array([point]))[0]] += 1
        self._replace(row, place, point, step)

    def _replace(self, row: int, place: int, point: int, step: int) -> None:
        self.members[self.blocks[row, place], row] = False
        self.members[point, row] = True
        self.blocks[row, place] = point
        self.halves[row] = self.subsets.halves(self.blocks[row][self.parts])
        self.rested[row] = step


SEED = 20190601
"""The same problem gives the same covering every time."""

MOST_EFFORT, EFFORT_EACH = 40_000_000, 20_000
"""Subsets that the local search looks at, at most (two or three seconds), and for each one to be covered."""

MOST_RANKED = 2_000_000
"""Subsets of candidates that the exact greedy choice looks at; above it blocks are grown point by point."""

MOST_SUBSETS = 300_000
MOST_WORK = 4_000_000
"""Limits for subsets to be covered, and for subsets of all blocks."""

AT_ONCE = 256
TRIES = 8
"""Candidates that are looked at together, and blocks grown to choose one from."""


def chosen(problem: CoveringDesign, subsets: Subsets) -> Wholes:
    """Choose the block with the most uncovered subsets, the first of several, until none is uncovered.

    What a block would cover only falls as others are chosen. So a candidate is looked at again only when
    all better ones of before are used up: the candidates are kept by what they covered when last seen.
    """
    candidates = places(problem.points, problem.block)
    ranks = subsets.of_blocks(candidates)
    uncovered = np.ones(subsets.count, dtype=np.bool_)
    levels: list[list[Wholes]] = [[] for _ in range(ranks.shape[1] + 1)]
    levels[-1].append(np.arange(len(candidates)))
    best = []
    for level in range(ranks.shape[1], 0, -1):
        waiting = np.sort(np.concatenate(levels[level])) if levels[level] else np.zeros(0, dtype=np.int64)
        for start in range(0, len(waiting), AT_ONCE):
            part = waiting[start : start + AT_ONCE]
            while part.size:
                gains = uncovered[ranks[part]].sum(axis=1)
                for gain in np.unique(gains[gains < level]).tolist():
                    levels[gain].append(part[gains == gain])
                part = part[gains == level]
                if part.size:
                    best.append(part[0])
                    uncovered[ranks[part[0]]] = False
                    part = part[1:]
    return candidates[best]


def grown(problem: CoveringDesign, subsets: Subsets, rng: np.random.Generator) -> Wholes:
    """Grow blocks from uncovered subsets, each time by the point that covers most; keep the best of a few."""
    uncovered = np.ones(subsets.count, dtype=np.bool_)
    rows = []
    holes = np.arange(subsets.count)
    while holes.size:
        starts = rng.choice(holes, size=min(TRIES, len(holes)), replace=False)
        blocks = np.array([_one_grown(problem, subsets, uncovered, start, rng) for start in starts])
        ranks = subsets.of_blocks(blocks)
        best = int(uncovered[ranks].sum(axis=1).argmax())
        rows.append(blocks[best])
        uncovered[ranks[best]] = False
        holes = holes[uncovered[holes]]
    return np.array(rows)


def _one_grown(
    problem: CoveringDesign,
    subsets: Subsets,
    uncovered: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    start: int,
    rng: np.random.Generator,
) -> Wholes:
    points, order = problem.points, problem.order
    block: Wholes = subsets.every[start]
    outside = np.ones(points, dtype=np.bool_)
    outside[block] = False
    gain = np.where(outside, 0, -1)
    parts = block[places(order, order - 1)]  # those that the newest points have made possible
    while True:
        free = np.flatnonzero(outside)
        joined = np.concatenate(
            [
                np.broadcast_to(parts[:, None, :], (len(parts), len(free), order - 1)),
                np.broadcast_to(free[None, :, None], (len(parts), len(free), 1)),
            ],
            axis=2,
        )
        gain[free] += uncovered[subsets.ranks(joined)].sum(axis=0)
        if len(block) == problem.block:
            return block
        best = free[gain[free] == gain[free].max()]
        point = int(best[rng.integers(len(best))])
        older = block[places(len(block), order - 2)]
        parts = np.concatenate([older, np.full((len(older), 1), point)], axis=1)
        block, outside[point] = np.append(block, point), False


def searched(problem: CoveringDesign, start: Wholes | None, effort: int | None) -> Wholes:
    """Return the best that greedy choice and local search find, from the given start where it is smaller."""
    subsets = Subsets(problem.points, problem.order)
    rng = np.random.default_rng(SEED)
    enough = lower_bound(problem.points, problem.order, problem.block)[0]
    few = math.comb(problem.points, problem.block) * math.comb(problem.block, problem.order) <= MOST_RANKED
    first = chosen(problem, subsets) if few else grown(problem, subsets, rng)
    first = without_redundant(first, subsets)
    if start is not None and len(start) <= len(first):
        first = start
    if effort is None:
        effort = min(MOST_EFFORT, EFFORT_EACH * subsets.count)
    blocks, _ = improved(first, subsets, enough, effort, rng)
    ordered = np.sort(blocks, axis=1)
    result: Wholes = ordered[np.lexsort(ordered.T[::-1])]
    return result


def run_greedy(problem: CoveringDesign, effort: int | None = None) -> Outcome:
    """Choose greedily, remove what is redundant, then try with one block fewer, and so on.

    Parameters
    ----------
    problem : CoveringDesign
    effort : int, optional
        How many subsets the local search may look at; by default as many as take a few seconds.
    """
    return outcome(problem, searched(problem, None, effort), "greedy choice and local search")


def why_not_greedy(problem: CoveringDesign) -> str | None:
    """Return why there are too many subsets or blocks, or None."""
    count = math.comb(problem.points, problem.order)
    if count > MOST_SUBSETS:
        return f"{count} subsets are more than {MOST_SUBSETS}: the search would take minutes"
    needed = schoenheim(problem.points, problem.order, problem.block)
    work = needed * math.comb(problem.block, problem.order)
    if work > MOST_WORK:
        return f"its {needed} blocks or more have {work} subsets, more than {MOST_WORK}"
    if problem.order == 1:
        return "with order 1 there is nothing to search: blocks side by side are optimal"
    return None
