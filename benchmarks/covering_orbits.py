"""Search for a covering with a group among the orbits of all blocks, the short ones as well: a set cover.

For groups of some dozen elements and more: a row is an orbit of subsets, a column an orbit of blocks, and
there are few enough of both that the local search of ``covering_orbits.c`` sees all of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.limits import compiled
from mechdesign.families.marginals.known_coverings import Permutation

SOURCE = Path(__file__).with_name("covering_orbits.c")

MOST_ORBITS = 300_000
"""Orbits of blocks that there is room for: some gigabytes."""

Array = NDArray[np.int64]
Block = tuple[int, ...]


def masks(points: int, size: int) -> Array:
    """Return all subsets of a size as binary numbers, rising.

    Examples
    --------
    >>> masks(4, 2).tolist()
    [3, 5, 6, 9, 10, 12]
    """
    if size == 0:
        return np.zeros(1, dtype=np.int64)
    if points < size:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([masks(points - 1, size), masks(points - 1, size - 1) | 1 << points - 1])


def moved(subsets: Array, move: Permutation) -> Array:
    """Return the images of subsets.

    Examples
    --------
    >>> moved(masks(3, 2), [1, 2, 0]).tolist()
    [6, 3, 5]
    """
    found = np.zeros_like(subsets)
    for point, image in enumerate(move):
        found |= (subsets >> point & 1) << image
    return found


def orbits(subsets: Array, moves: list[Permutation]) -> Array:
    """Return the number of the orbit of each subset; all subsets of a size are given, rising."""
    places = np.arange(len(subsets))
    number = places
    for move in moves:  # an orbit under one move after the other: joined where their members meet
        images = np.searchsorted(subsets, moved(subsets, move))
        count = int(number.max()) + 1
        graph = coo_array((np.ones(len(places)), (number, number[images])), shape=(count, count))
        number = connected_components(graph, directed=False)[1].astype(np.int64)[number]
    return number


def loops_of(source: Path) -> ctypes.CDLL:
    """Return the loops of a file in C, or end the program."""
    found = compiled(source)
    if found is None:
        raise SystemExit("covering_search: needs a C compiler: cc, gcc or clang")
    return found


class SetCover(NamedTuple):
    """Blocks that stand for their orbits, how many these have, and which orbits of subsets they cover.

    There are ``rows`` orbits of subsets; ``known`` are the columns of a covering that was given.
    """

    rows: int
    blocks: list[Block]
    costs: list[int]
    covered: list[list[int]]
    known: list[int]


def set_cover(
    points: int,
    order: int,
    block: int,
    moves: list[Permutation],
    most: int,
    given: Sequence[Block] = (),
) -> SetCover:
    """Return the set cover of orbits of up to ``most`` blocks; of those that cover the same, the smallest.

    Examples
    --------
    >>> set_cover(7, 2, 3, [[1, 2, 3, 4, 5, 6, 0], [0, 2, 4, 6, 1, 3, 5]], 7)
    SetCover(rows=1, blocks=[(0, 1, 3)], costs=[7], covered=[[0]], known=[])
    """
    small, large = masks(points, order), masks(points, block)
    row, column = orbits(small, moves), orbits(large, moves)
    chosen = np.array(list(combinations(range(block), order)))

    def covered_by(members: Array) -> list[tuple[int, ...]]:
        subsets = np.bitwise_or.reduce(1 << members[:, chosen], axis=2)
        return [tuple(sorted(set(line))) for line in row[np.searchsorted(small, subsets)].tolist()]

    sizes = np.bincount(column)
    first = np.unique(column, return_index=True)[1][sizes <= most]
    if len(first) > MOST_ORBITS:
        raise SystemExit(
            f"covering_search: --group: {len(first)} orbits of blocks, more than {MOST_ORBITS}; "
            "a larger group has fewer"
        )
    members = np.nonzero(large[first, None] >> np.arange(points) & 1)[1].reshape(-1, block)
    found: dict[tuple[int, ...], tuple[int, Block]] = {}
    for cost, own, covered in zip(
        sizes[sizes <= most].tolist(), members.tolist(), covered_by(members), strict=True
    ):
        if covered not in found or cost < found[covered][0]:
            found[covered] = cost, tuple(own)
    number = {covered: place for place, covered in enumerate(found)}
    known = {
        number[one] for one in covered_by(np.array(given, dtype=np.int64).reshape(-1, block)) if one in number
    }
    costs, blocks = [cost for cost, _ in found.values()], [own for _, own in found.values()]
    return SetCover(1 + int(row.max()), blocks, costs, list(map(list, found)), sorted(known))


def searched(problem: SetCover, most: int, seconds: float, seed: int) -> list[Block] | None:
    """Search for a covering of at most ``most`` blocks, and return a block of each of its orbits, or None.

    The search begins with the columns of the covering that was given, if any.
    """
    columns = len(problem.blocks)
    begin, held = _listed(problem.covered)
    holders: list[list[int]] = [[] for _ in range(problem.rows)]
    for column, covered in enumerate(problem.covered):
        for row in covered:
            holders[row].append(column)
    if not all(holders):
        return None
    start, held_by = _listed(holders)
    loop, found = loops_of(SOURCE).cover, np.zeros(columns, dtype=np.int32)
    costs, known = (np.array(values, dtype=np.int32) for values in (problem.costs, problem.known))
    count = loop(
        *map(ctypes.c_int, (columns, problem.rows, len(known))),
        *(ctypes.c_void_p(array.ctypes.data) for array in (begin, held, start, held_by, costs, known, found)),
        ctypes.c_int64(most),
        ctypes.c_double(seconds),
        ctypes.c_uint64(seed),
    )
    return None if count < 0 else [problem.blocks[column] for column in found[:count].tolist()]


def _listed(lists: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return lists one after the other, with where each begins."""
    begin = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return begin, np.array(list(chain.from_iterable(lists)), dtype=np.int32)
