"""Search for a covering with a group: annealing of a block per orbit, or a set cover by orbits.

The newest lines of :mod:`mechdesign.families.marginals.known_coverings` were found by such a search. A
covering that is found is audited and printed as a line of that module's file ::

    python -m benchmarks.covering_search 26 3 8 --group 3x7 --blocks 70 --seconds 60

Every step exchanges a point of a block (Nurmela and Ostergard 1993); the group is one of
:mod:`mechdesign.families.marginals.known_coverings`. Some cases need slow cooling around one
temperature: 75 blocks for ``28 3 8`` were found with ``--hot 0.56 --warm 0.48``, in one of several runs.
With ``--orbits`` a set cover by the orbits of all blocks is searched for instead, see
:mod:`benchmarks.covering_orbits`. A C compiler is required.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import sys
import time
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import mechdesign as md
from benchmarks.covering_orbits import loops_of, searched, set_cover
from mechdesign.families.marginals.covering_design import audit_covering
from mechdesign.families.marginals.known_coverings import Permutation, generators, images, known_coverings

SOURCE = Path(__file__).with_name("covering_search.c")
MOST, MOST_SUBSETS = 32, 512
"""Points, and subsets of a block with one of its points, that the compiled loop has room for."""
DIGITS = "0123456789abcdefghijklmnopqrstuv"
SWEEPS = 20_000
"""Steps for each exchange there is."""
HOT, WARM, COLD, SLOW = 0.6, 0.32, 0.15, 0.85
"""Temperatures in orbits of subsets, and the part of the steps from the first to the second of them."""

Blocks = list[tuple[int, ...]]


def orbits_of(
    points: int, order: int, moves: list[Permutation]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the number of the orbit of each ordered subset, and the size of each orbit over the largest."""
    subsets = list(combinations(range(points), order))
    number = {subset: place for place, subset in enumerate(subsets)}
    links = [
        (place, number[tuple(sorted(move[point] for point in subset))])
        for place, subset in enumerate(subsets)
        for move in moves
    ]
    rows, columns = np.array(links or [(0, 0)]).T
    shape = (len(subsets), len(subsets))
    count, found = connected_components(
        coo_array((np.ones(len(rows)), (rows, columns)), shape), directed=False
    )
    table = np.zeros(MOST**order, dtype=np.int32)
    for subset, one in zip(subsets, found.tolist(), strict=True):
        for ordered in permutations(subset):
            table[sum(point * MOST ** (order - 1 - place) for place, point in enumerate(ordered))] = one
    sizes = np.bincount(found, minlength=count).astype(np.float64)
    return table, sizes / sizes.max()


def annealings(
    points: int,
    order: int,
    block: int,
    group: str,
    blocks: int,
    seed: int,
    hot: float = HOT,
    warm: float = WARM,
) -> Iterator[tuple[Blocks, float]]:
    """Yield the blocks of each annealing, one per orbit, and the weight of the orbits left uncovered."""
    moves = generators(group, points)
    table, weights = orbits_of(points, order, moves)
    kept = blocks // order_of(moves, points)
    loop, rng = loops_of(SOURCE).anneal, np.random.default_rng(seed)
    loop.restype, times = ctypes.c_double, np.zeros(len(weights), dtype=np.int32)
    steps = SWEEPS * kept * block * (points - block)
    while True:
        members = np.array([rng.permutation(points)[:block] for _ in range(kept)], dtype=np.int32)
        for first, last, part in ((hot, warm, SLOW), (warm, COLD, 1.0 - SLOW)):
            times[0] = len(weights)
            left = loop(
                *map(ctypes.c_int, (points, order, block, kept)),
                *(ctypes.c_void_p(array.ctypes.data) for array in (table, weights, times, members)),
                ctypes.c_int64(int(part * steps)),
                ctypes.c_double(first),
                ctypes.c_double(last),
                ctypes.c_uint64(int(rng.integers(1 << 62))),
            )
        yield [tuple(sorted(row)) for row in members.tolist()], left


def why_not(
    points: int, order: int, block: int, group: str, blocks: int, by_orbits: bool = False
) -> str | None:
    """Return why there is no such search, or None."""
    if not (2 <= order <= 4 and order < block < points <= MOST):
        return f"expected 2 <= order <= 4 and order < block < points <= {MOST}"
    if math.comb(block - 1, order - 1) > MOST_SUBSETS:
        return f"blocks of {block} points are too large for order {order}"
    try:
        moves = generators(group, points)
    except (AssertionError, StopIteration, ValueError, ZeroDivisionError):
        return f"--group: unknown group '{group}'; examples: found, 1, 3x7, 2x11*4, AG16*3, PSL23"
    if any(len(move) > points for move in moves):
        return f"--group: '{group}' moves {len(moves[0])} points, more than {points}"
    if any(sorted(move) != list(range(points)) for move in moves):
        reason = "a factor divides the length, or an image is missing"
        return f"--group: '{group}' is not a group of permutations: {reason}"
    if not by_orbits and (size := order_of(moves, points)) > blocks:
        return (
            f"--blocks: {blocks} is below the order of the group, {size}; --orbits has short orbits as well"
        )
    return None


def order_of(moves: list[Permutation], points: int) -> int:
    """Return the order of the group: the number of images of a block in general position."""
    rows, waiting = set(), [tuple(range(points))]
    while waiting:
        row = waiting.pop()
        if row not in rows:
            rows.add(row)
            waiting += [tuple(move[point] for point in row) for move in moves]
    return len(rows)


def main() -> int:
    """Search until a covering is found or the time is over."""
    parser = argparse.ArgumentParser(
        description="Search for a covering with a group, by simulated annealing or among all orbits."
    )
    for name in ("points", "order", "block"):
        parser.add_argument(name, type=int)
    parser.add_argument(
        "--group",
        default="1",
        help="as in known_coverings.txt, e.g. 3x7; or: found, as in its line for this case (default: none)",
    )
    parser.add_argument("--blocks", type=int, required=True, help="how many there may be")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hot", type=float, default=HOT, help="first temperature (default: %(default)s)")
    parser.add_argument(
        "--warm", type=float, default=WARM, help="where slow cooling ends (default: %(default)s)"
    )
    parser.add_argument(
        "--orbits",
        action="store_true",
        help="choose among the orbits of all blocks; for groups of some dozen",
    )
    parser.add_argument(
        "--improve", action="store_true", help="with --orbits: begin with the covering that is known here"
    )
    given = parser.parse_args()
    case = given.points, given.order, given.block
    kept = known_coverings().get(case)
    if given.group == "found" and kept is not None:
        given.group = kept.group
    if given.improve and not given.orbits:
        reason: str | None = "--improve: needs --orbits"
    elif given.group == "found":
        reason = f"--group: known_coverings.txt has no covering for {' '.join(map(str, case))}; name a group"
    else:
        reason = why_not(*case, given.group, given.blocks, given.orbits)
    if reason is not None:
        print(f"covering_search: {reason}", file=sys.stderr)
        return 2
    start = time.monotonic()
    if given.orbits:
        known = _known(*case) if given.improve else []
        problem = set_cover(*case, generators(given.group, given.points), given.blocks, known)
        found = searched(problem, given.blocks, given.seconds, given.seed)
        if found is None:
            print("covering_search: nothing was found", file=sys.stderr)
            return 1
        print(_line(case, given.group, found))
        return 0
    for bases, left in annealings(*case, given.group, given.blocks, given.seed, given.hot, given.warm):
        print(f"{time.monotonic() - start:6.1f} s: {left:.2f} orbits are left", file=sys.stderr, flush=True)
        if left < 1e-9:
            print(_line(case, given.group, bases))
            return 0
        if time.monotonic() - start > given.seconds:
            break
    return 1


def _known(points: int, order: int, block: int) -> Blocks:
    """Return the blocks of the covering that the constructions give."""
    solution = md.solve(md.CoveringDesign(points=points, order=order, block=block), "geometric")
    return [tuple(map(int, one)) for one in solution.variables["blocks"] if len(one) == block]


def _line(case: tuple[int, int, int], group: str, bases: Blocks) -> str:
    """Return the line of ``known_coverings.txt``, of a covering that is audited here."""
    whole = images(bases, generators(group, case[0]))
    assert audit_covering(whole, *case).holds
    words = ["".join(DIGITS[point] for point in one) for one in bases]
    return " ".join(map(str, (*case, len(whole), group, *words)))


if __name__ == "__main__":
    sys.exit(main())
