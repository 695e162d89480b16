"""``covering-design`` by lazy greedy choice, removal of redundant blocks, and local search."""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.covering_design.bounds import lower_bound, schoenheim
from mechdesign.families.marginals.covering_design.exchange import improved
from mechdesign.families.marginals.covering_design.problem import CoveringDesign, outcome
from mechdesign.families.marginals.covering_design.subsets import Subsets, Wholes, places, without_redundant

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
    found = []
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
                    found.append(part[0])
                    uncovered[ranks[part[0]]] = False
                    part = part[1:]
    return candidates[found]


def grown(problem: CoveringDesign, subsets: Subsets, rng: np.random.Generator) -> Wholes:
    """Grow blocks from uncovered subsets, each time by the point that covers most; keep the best of a few."""
    uncovered = np.ones(subsets.count, dtype=np.bool_)
    found = []
    holes = np.arange(subsets.count)
    while holes.size:
        starts = rng.choice(holes, size=min(TRIES, len(holes)), replace=False)
        blocks = np.array([_one_grown(problem, subsets, uncovered, start, rng) for start in starts])
        ranks = subsets.of_blocks(blocks)
        best = int(uncovered[ranks].sum(axis=1).argmax())
        found.append(blocks[best])
        uncovered[ranks[best]] = False
        holes = holes[uncovered[holes]]
    return np.array(found)


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


def run(problem: CoveringDesign, effort: int | None = None) -> Outcome:
    """Choose greedily, remove what is redundant, then try with one block fewer, and so on.

    Parameters
    ----------
    problem : CoveringDesign
    effort : int, optional
        How many subsets the local search may look at; by default as many as take a few seconds.
    """
    return outcome(problem, searched(problem, None, effort), "greedy choice and local search")


def why_not(problem: CoveringDesign) -> str | None:
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
