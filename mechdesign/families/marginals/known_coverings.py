"""Coverings that a search brought to light once: each is a group and one block of each of its orbits.

``known_coverings.txt`` has a line for each: points, order, block size, number of blocks, the group's name,
and the blocks, a digit to base 32 a point. They come from a search over orbits. Nothing of them is believed:
whatever is built from them is audited as every other covering.

A name says which group of permutations it is; points beyond those it moves stay where they are:

- ``1``: only the identity.
- ``2x11``: two cycles of 11 points each, turned together.
- ``2x11*4``: besides, the number in each cycle is multiplied by 4 (mod 11).
- ``2x11*4>``: that multiplication moves on to the next cycle as well; ``2x11>`` moves on alone.
- ``AG16`` and ``AG16*3``: the translations of GF(16); besides, the multiplication by its element 3.
- ``PSL23``: the fractional linear maps of square determinant on GF(23) and infinity; ``PGL23``: all.
- ``=120/102``: generators by the images of the points, a digit to base 32 each; here all of three points.
- ``2x7*2+3x1>``: parts side by side on points of their own. The last generators of all parts move together,
  so do those before them; here the multiplication by 2 turns the last three points.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mechdesign.families.marginals.geometries import field, prime_power

Permutation = list[int]


def generators(name: str, points: int) -> list[Permutation]:
    """Return permutations that generate the group of this name.

    Examples
    --------
    >>> generators("1x5*4", 6)
    [[1, 2, 3, 4, 0, 5], [0, 4, 3, 2, 1, 5]]
    >>> generators("1x3+2x1>", 5)
    [[0, 1, 2, 3, 4], [1, 2, 0, 4, 3]]
    """
    joined: list[Permutation] = []
    for part in name.split("+"):
        joined = _side_by_side(joined, _generators(part))
    return [moved + list(range(len(moved), points)) for moved in joined]


def _side_by_side(first: list[Permutation], second: list[Permutation]) -> list[Permutation]:
    """Return generators on the points of both; the part with fewer generators rests under the first ones."""
    sizes = [len(moves[0]) if moves else 0 for moves in (first, second)]
    count = max(len(first), len(second))
    padded = [
        [list(range(size))] * (count - len(moves)) + moves
        for size, moves in zip(sizes, (first, second), strict=True)
    ]
    return [one + [sizes[0] + point for point in two] for one, two in zip(*padded, strict=True)]


def _generators(part: str) -> list[Permutation]:
    if part == "1":
        return []
    if part.startswith("="):
        return [[int(digit, 32) for digit in word] for word in part[1:].split("/")]
    if part.startswith(("PSL", "PGL")):
        return _fractional(int(part[3:]), 1 if part.startswith("PGL") else 2)
    if part.startswith("AG"):
        size, _, factor = part[2:].partition("*")
        return _affine(int(size), int(factor or 1))
    parts = re.fullmatch(r"(\d+)x(\d+)(?:\*(\d+))?(>)?", part)
    assert parts is not None, f"no group is called {part}"
    return _cycles(int(parts[1]), int(parts[2]), int(parts[3] or 1), int(parts[4] is not None))


def _cycles(count: int, length: int, factor: int, onward: int) -> list[Permutation]:
    places = [(cycle, number) for cycle in range(count) for number in range(length)]
    moves = [[cycle * length + (number + 1) % length for cycle, number in places]]
    if factor > 1 or onward:
        moves.append(
            [(cycle + onward) % count * length + number * factor % length for cycle, number in places]
        )
    return moves


def _affine(size: int, factor: int) -> list[Permutation]:
    numbers, parts = field(size), prime_power(size)
    assert parts is not None
    moves = [numbers.plus[parts[0] ** place].tolist() for place in range(parts[1])]
    if factor > 1:
        moves.append(numbers.times[factor].tolist())
    return moves


def _fractional(size: int, step: int) -> list[Permutation]:
    """Return x + b, g^step x and -1/x on GF(q) and infinity, which is q; g generates GF(q)."""
    numbers = field(size)
    shifts = [[*move, size] for move in _affine(size, 1)]
    root = next(g for g in range(1, size) if len(_powers(g, size)) == size - 1)
    factor = _powers(root, size)[step % (size - 1)]
    inverted = [int(numbers.minus[numbers.inverse[x]]) for x in range(1, size)]
    return [*shifts, [*numbers.times[factor].tolist(), size], [size, *inverted, 0]]


def _powers(element: int, size: int) -> list[int]:
    """Return the distinct powers of a nonzero element of GF(size), 1 first."""
    times, powers = field(size).times, [1]
    while (power := int(times[powers[-1], element])) != 1:
        powers.append(power)
    return powers


def images(blocks: Iterable[tuple[int, ...]], moves: list[Permutation]) -> list[tuple[int, ...]]:
    """Return all blocks that the moves make of the given ones, each once.

    Examples
    --------
    >>> images([(0, 1, 3)], generators("1x7", 7))[:3]
    [(0, 1, 3), (1, 2, 4), (2, 3, 5)]
    """
    reached: dict[tuple[int, ...], None] = {}
    waiting = [tuple(sorted(block)) for block in blocks]
    while waiting:
        block = waiting.pop()
        if block not in reached:
            reached[block] = None
            waiting += [tuple(sorted([move[point] for point in block])) for move in moves]
    return list(reached)


FILE = "known_coverings.txt"

Parameters = tuple[int, int, int]


@dataclass(frozen=True)
class KnownCovering:
    """A covering by a group and one block of each orbit.

    Attributes
    ----------
    points, order, block : int
    count : int
        How many blocks all orbits have together.
    group : str
    text : str
        The blocks, separated by blanks.
    """

    points: int
    order: int
    block: int
    count: int
    group: str
    text: str

    def blocks(self) -> list[tuple[int, ...]]:
        """Return all blocks, points in rising order."""
        bases = [tuple(int(digit, 32) for digit in word) for word in self.text.split()]
        return images(bases, generators(self.group, self.points))


@cache
def known_coverings() -> dict[Parameters, KnownCovering]:
    """Return the coverings by points, order and block size.

    Examples
    --------
    >>> known_coverings()[23, 4, 7].count
    253
    """
    lines = files(__package__).joinpath(FILE).read_text(encoding="ascii").splitlines()
    coverings = {}
    for line in lines:
        points, order, block, count, group, text = line.split(" ", 5)
        one = KnownCovering(int(points), int(order), int(block), int(count), group, text)
        coverings[one.points, one.order, one.block] = one
    return coverings
