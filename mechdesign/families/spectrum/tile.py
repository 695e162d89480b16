r"""A public tiling of the plane by hexagons with rational vertices: tiles of places, distances, crossings.

The hexagon around (0, 0) has the vertices (0, +-a) and (+-W a, +-a/2) with W = 97/112. With X = x / (W a)
and Y = y / a it is the set of all places with \|X\| <= 1 and \|X\| / 2 + \|Y\| <= 1. Its translates by
(2 W a, 0) and (W a, 3 a / 2) tile the plane for any W; with this one the ratio of perimeter to root of area
exceeds that of a regular hexagon by a part of 5e-10. Everything is computed in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from mechdesign.collect.written import digest
from mechdesign.core.errors import ParameterError
from mechdesign.exact.numbers import plain_int
from mechdesign.families.spectrum.audit.polygon import Vertex, common_part, polygon_area
from mechdesign.families.spectrum.channel_program import coordinate, positive

WIDTH = Fraction(97, 112)
"""W: half the width of the hexagon of side 1, near the square root of 3/4."""

Tile = tuple[int, int]
"""Column and row of a hexagon; its center is (W a (2 column + row), 3 a row / 2) from the origin."""

Number = int | float | Fraction

MOST_INDEX = 1 << 62
"""Columns and rows are at most this large: places up to 1e9 with hexagons of side 1e-9 have smaller ones."""

MOST_CROSSED = 10_000
"""Tiles that one straight line may cross."""


@dataclass(frozen=True)
class Tiling:
    """The hexagons of one side length, around one origin.

    Attributes
    ----------
    side : Fraction
        The side a of a hexagon.
    origin : (Fraction, Fraction)
        The center of the hexagon (0, 0).

    Examples
    --------
    >>> tiling = Tiling.of(2.0)
    >>> tiling.tile_of(0.3, -0.1), tiling.tile_of(10, 3)
    ((0, 0), (2, 1))
    >>> float(tiling.area)
    10.392857142857142
    """

    side: Fraction
    origin: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    @classmethod
    def of(cls, cell: Any, origin: Any = (0.0, 0.0)) -> Tiling:
        """Read the side and the origin, doubles of moderate size.

        Raises
        ------
        ParameterError
            Naming what is wrong and the remedy.
        """
        if not isinstance(origin, (list, tuple)) or len(origin) != 2:
            raise ParameterError("origin", f"expected [x, y], got {origin!r:.60}", "give two numbers")
        x, y = (Fraction(coordinate("origin", part)) for part in origin)
        return cls(Fraction(positive("cell", cell)), (x, y))

    @cached_property
    def mark(self) -> str:
        """A short digest of side and origin: tiles of two tilings must not be mixed."""
        content = {"side": str(self.side), "origin": [str(part) for part in self.origin]}
        return f"t{digest('hexagons', content)[:12]}"

    @cached_property
    def halfwidth(self) -> Fraction:
        """Half the width of a hexagon, W a."""
        return WIDTH * self.side

    @cached_property
    def area(self) -> Fraction:
        """The area of a hexagon, 3 W a^2."""
        return 3 * WIDTH * self.side**2

    def center(self, tile: Tile) -> Vertex:
        """Return the center of a tile."""
        column, row = tile
        across, up = self.halfwidth * (2 * column + row), self.side * row * Fraction(3, 2)
        return self.origin[0] + across, self.origin[1] + up

    def vertices(self, tile: Tile) -> tuple[Vertex, ...]:
        """Return the six vertices of a tile in counterclockwise order."""
        x, y = self.center(tile)
        wide, high = WIDTH * self.side, self.side
        return (
            (x + wide, y - high / 2),
            (x + wide, y + high / 2),
            (x, y + high),
            (x - wide, y + high / 2),
            (x - wide, y - high / 2),
            (x, y - high),
        )

    def neighbors(self, tile: Tile) -> tuple[Tile, ...]:
        """Return the six tiles that share a side with a tile."""
        column, row = tile
        return tuple((column + i, row + j) for i, j in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)))

    # Places

    def _scaled(self, x: Number, y: Number, tile: Tile = (0, 0)) -> Vertex:
        """Return X and Y of a place, seen from the center of a tile."""
        center = self.origin if tile == (0, 0) else self.center(tile)
        return (Fraction(x) - center[0]) / self.halfwidth, (Fraction(y) - center[1]) / self.side

    def contains(self, tile: Tile, x: Number, y: Number) -> bool:
        """Return whether a closed tile contains a place."""
        across, up = map(abs, self._scaled(x, y, tile))
        return across <= 1 and across / 2 + up <= 1

    def tiles_at(self, x: Number, y: Number) -> list[Tile]:
        """Return the closed tiles that contain a place, one to three, by their centers: x first, then y."""
        across, up = self._scaled(x, y)
        found = []
        for row in range(math.ceil((up - 1) * 2 / 3), math.floor((up + 1) * 2 / 3) + 1):
            left = 1 - abs(up - Fraction(3 * row, 2))  # how much of |X| / 2 the closed tiles of the row allow
            low, high = math.ceil((across - 1 - row) / 2), math.floor((across + 1 - row) / 2)
            found += [
                (column, row)
                for column in range(low, high + 1)
                if abs(across - (2 * column + row)) <= 2 * left
            ]
        return found if len(found) == 1 else sorted(found, key=self.center)

    def tile_of(self, x: Number, y: Number) -> Tile:
        """Return the tile of a place: of those that contain it the one with the least center."""
        return self.tiles_at(x, y)[0]

    def squared_distance(self, tile: Tile, x: Number, y: Number) -> Fraction:
        """Return the squared distance from a place to a closed tile, exactly; 0 inside.

        The nearest point of a symmetric convex set lies in the quadrant of the place, where the hexagon has
        two sides: one upright, up to (W a, a/2), and one from there to (0, a).
        """
        center, wide, high = self.center(tile), self.halfwidth, self.side
        across, up = abs(Fraction(x) - center[0]), abs(Fraction(y) - center[1])
        if across <= wide and across / (2 * wide) + up / high <= 1:
            return Fraction(0)
        upright = (across - wide) ** 2 + max(up - high / 2, Fraction(0)) ** 2
        part = (wide * (wide - across) + (up - high / 2) * high / 2) / (wide**2 + high**2 / 4)
        part = min(max(part, Fraction(0)), Fraction(1))
        slanted = (across - wide + part * wide) ** 2 + (up - high / 2 - part * high / 2) ** 2
        return min(upright, slanted)

    def nearest(self, tiles: Iterable[Tile], x: Number, y: Number) -> Fraction:
        """Return the squared distance from a place to a union of tiles, of which there is at least one."""
        return min(self.squared_distance(tile, x, y) for tile in tiles)

    # Lines

    def crossed(self, start: Vertex, end: Vertex) -> Iterator[Tile]:
        """Yield the closed tiles that the straight line between two places meets, each once.

        Raises
        ------
        ParameterError
            When there are more than ``MOST_CROSSED``.
        """
        one, two = (self._scaled(*place) for place in (start, end))
        ys = sorted((one[1], two[1]))
        count = 0
        for row in range(math.ceil((ys[0] - 1) * 2 / 3), math.floor((ys[1] + 1) * 2 / 3) + 1):
            middle = row * Fraction(3, 2)
            part = _within(one[1], two[1], middle - 1, middle + 1)
            ends = sorted(one[0] + t * (two[0] - one[0]) for t in part)
            low, high = math.ceil((ends[0] - 1 - row) / 2), math.floor((ends[1] + 1 - row) / 2)
            count += high - low + 1
            if count > MOST_CROSSED:
                raise ParameterError(
                    "cell", f"one step of a path crosses more than {MOST_CROSSED} tiles", "give a larger cell"
                )
            for column in range(low, high + 1):
                tile = column, row
                if _meets(self._scaled(*start, tile), self._scaled(*end, tile)):
                    yield tile


def tile_index(field: str, value: Any) -> int:
    """Return a column or a row, refusing what no place has."""
    number = plain_int(field, value)
    if abs(number) > MOST_INDEX:
        raise ParameterError(field, f"{number} is beyond {MOST_INDEX}", "give tiles that register wrote")
    return number


def _within(one: Fraction, two: Fraction, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the part of [0, 1] in which a number that moves from one to two lies in [low, high]."""
    if one == two:
        return Fraction(0), Fraction(1)
    parts = sorted(((low - one) / (two - one), (high - one) / (two - one)))
    return max(parts[0], Fraction(0)), min(parts[1], Fraction(1))


def _meets(one: Vertex, two: Vertex) -> bool:
    """Return whether a line, in X and Y, meets the closed hexagon around (0, 0)."""
    low, high = Fraction(0), Fraction(1)
    half = Fraction(1, 2)
    for a, b in ((1, 0), (-1, 0), (half, 1), (half, -1), (-half, 1), (-half, -1)):
        here, there = (a * x + b * y - 1 for x, y in (one, two))
        if here > 0 and there > 0:
            return False
        if here > 0:
            low = max(low, here / (here - there))
        elif there > 0:
            high = min(high, here / (here - there))
    return low <= high


@cache
def tiles_the_plane(tiling: Tiling) -> bool:
    """Return whether the hexagons cover the plane without overlap, exactly.

    A hexagon with the area of a cell of the lattice of its translates, whose interior meets no translate's
    interior, tiles the plane. Only translates within its diameter 2 a can meet it.
    """
    here = tiling.vertices((0, 0))
    translates = [(1, 0), (0, 1)]
    (x, y), (x_next, y_next) = (
        (tiling.center(tile)[0] - tiling.origin[0], tiling.center(tile)[1] - tiling.origin[1])
        for tile in translates
    )
    cell = abs(x * y_next - y * x_next)
    near = [(column, row) for row in range(-2, 3) for column in range(-3, 4) if (column, row) != (0, 0)]
    apart = all(polygon_area(common_part(here, tiling.vertices(tile))) == 0 for tile in near)
    return polygon_area(here) == cell == tiling.area and apart
