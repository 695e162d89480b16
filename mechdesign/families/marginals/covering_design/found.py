"""Coverings that a search found once: kept as a group and one block of each of its orbits.

``found.txt`` has a line for each: points, order, block size, number of blocks, the group's name (see
:mod:`~mechdesign.families.marginals.covering_design.groups`), and the blocks, a digit to base 32 a point.
They come from a search over orbits. Nothing of them is believed: whatever is built from them is audited as
every other covering.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mechdesign.families.marginals.covering_design.groups import generators, images

FILE = "found.txt"

Parameters = tuple[int, int, int]


@dataclass(frozen=True)
class FoundCovering:
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
def found_coverings() -> dict[Parameters, FoundCovering]:
    """Return the coverings by points, order and block size.

    Examples
    --------
    >>> found_coverings()[23, 4, 7].count
    253
    """
    lines = files(__package__).joinpath(FILE).read_text(encoding="ascii").splitlines()
    found = {}
    for line in lines:
        points, order, block, count, group, text = line.split(" ", 5)
        one = FoundCovering(int(points), int(order), int(block), int(count), group, text)
        found[one.points, one.order, one.block] = one
    return found
