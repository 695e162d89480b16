"""Groups of permutations of the points by short names, and what becomes of a few blocks under them.

A name says which group it is; points beyond those it moves stay where they are:

- ``1``: only the identity.
- ``2x11``: two cycles of 11 points each, turned together.
- ``2x11*4``: besides, the number in each cycle is multiplied by 4 (mod 11).
- ``2x11*4>``: that multiplication moves on to the next cycle as well; ``2x11>`` moves on alone.
- ``AG16`` and ``AG16*3``: the translations of GF(16); besides, the multiplication by its element 3.
- ``PSL23``: the fractional linear maps of square determinant on GF(23) and infinity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mechdesign.problems.marginals.covering_design.fields import field, prime_power

Permutation = list[int]


def generators(name: str, points: int) -> list[Permutation]:
    """Return permutations that generate the group of this name.

    Examples
    --------
    >>> generators("1x5*4", 6)
    [[1, 2, 3, 4, 0, 5], [0, 4, 3, 2, 1, 5]]
    """
    if name == "1":
        return []
    if name.startswith("PSL"):
        found = _fractional(int(name[3:]))
    elif name.startswith("AG"):
        size, _, factor = name[2:].partition("*")
        found = _affine(int(size), int(factor or 1))
    else:
        parts = re.fullmatch(r"(\d+)x(\d+)(?:\*(\d+))?(>)?", name)
        assert parts is not None, f"no group is called {name}"
        found = _cycles(int(parts[1]), int(parts[2]), int(parts[3] or 1), int(parts[4] is not None))
    return [moved + list(range(len(moved), points)) for moved in found]


def _cycles(count: int, length: int, factor: int, onward: int) -> list[Permutation]:
    places = [(cycle, number) for cycle in range(count) for number in range(length)]
    found = [[cycle * length + (number + 1) % length for cycle, number in places]]
    if factor > 1 or onward:
        found.append(
            [(cycle + onward) % count * length + number * factor % length for cycle, number in places]
        )
    return found


def _affine(size: int, factor: int) -> list[Permutation]:
    numbers, parts = field(size), prime_power(size)
    assert parts is not None
    found = [numbers.plus[parts[0] ** place].tolist() for place in range(parts[1])]
    if factor > 1:
        found.append(numbers.times[factor].tolist())
    return found


def _fractional(prime: int) -> list[Permutation]:
    """Return x + 1, g^2 x and -1/x on 0 .. p - 1 and infinity, which is p; g generates GF(p)."""
    root = next(
        g for g in range(1, prime) if len({pow(g, power, prime) for power in range(prime)}) == prime - 1
    )
    return [
        [*((x + 1) % prime for x in range(prime)), prime],
        [*(x * root * root % prime for x in range(prime)), prime],
        [prime, *(-pow(x, -1, prime) % prime for x in range(1, prime)), 0],
    ]


def images(blocks: Iterable[tuple[int, ...]], moves: list[Permutation]) -> list[tuple[int, ...]]:
    """Return all blocks that the moves make of the given ones, each once.

    Examples
    --------
    >>> images([(0, 1, 3)], generators("1x7", 7))[:3]
    [(0, 1, 3), (1, 2, 4), (2, 3, 5)]
    """
    found: dict[tuple[int, ...], None] = {}
    waiting = [tuple(sorted(block)) for block in blocks]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found[block] = None
            waiting += [tuple(sorted([move[point] for point in block])) for move in moves]
    return list(found)
