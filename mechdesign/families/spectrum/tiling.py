r"""A public tiling of the plane by hexagons with rational vertices: tiles of places, distances, crossings.

The hexagon around (0, 0) has the vertices (0, +-a) and (+-W a, +-a/2) with W = 97/112. With X = x / (W a)
and Y = y / a it is the set of all places with \|X\| <= 1 and \|X\| / 2 + \|Y\| <= 1. Its translates by
(2 W a, 0) and (W a, 3 a / 2) tile the plane for any W; with this one the ratio of perimeter to root of area
exceeds that of a regular hexagon by a part of 5e-10. Everything is computed in fractions.

*Cut to a map*, a tiling has groups of tiles with enough area inside, so that no sliver gives a place away. A
tile with less than half of its area inside the map is merged with the neighbor that has the largest area
inside (of equal ones that with the least center), as long as that is larger than its own. The groups depend
on tiling and map alone, never on a place.

*Time* goes in fixed public slots: which slots a session occupies, and which tiles a path visits in each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from mechdesign.collect.base import digest
from mechdesign.core.errors import DataError, ParameterError, counted
from mechdesign.exact.numbers import plain_int
from mechdesign.families.spectrum.geometry import (
    Rectangle,
    Vertex,
    common_part,
    coordinate,
    in_rectangle,
    polygon_area,
    positive,
)

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

    def outline(self, tile: Tile) -> tuple[list[float], list[float]]:
        """Return x and y of a tile's vertices, the first one again at the end, to be drawn."""
        corners = self.vertices(tile)
        x, y = zip(*((float(x), float(y)) for x, y in (*corners, corners[0])), strict=True)
        return list(x), list(y)

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
        tiles = []
        for row in range(math.ceil((up - 1) * 2 / 3), math.floor((up + 1) * 2 / 3) + 1):
            left = 1 - abs(up - Fraction(3 * row, 2))  # how much of |X| / 2 the closed tiles of the row allow
            low, high = math.ceil((across - 1 - row) / 2), math.floor((across + 1 - row) / 2)
            tiles += [
                (column, row)
                for column in range(low, high + 1)
                if abs(across - (2 * column + row)) <= 2 * left
            ]
        return tiles if len(tiles) == 1 else sorted(tiles, key=self.center)

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


MOST_TILES = 50_000
"""Tiles of a map; with more the audit would take minutes."""


@dataclass(frozen=True)
class CutTiling:
    """Groups of tiles that cover a rectangle.

    Attributes
    ----------
    tiling : Tiling
    area : (x_low, y_low, x_high, y_high) of Fraction
        The map.

    Examples
    --------
    >>> cut = CutTiling(Tiling.of(1.0), tuple(map(Fraction, (0, 0, 20, 20))))
    >>> cut.group_of(0.0, 0.0), cut.group_of(10, 10)
    (((0, 0), (0, 1)), ((2, 7),))
    >>> sum(cut.areas.values()), 1.25 < cut.least_area < cut.tiling.area
    (Fraction(400, 1), True)
    """

    tiling: Tiling
    area: Rectangle

    def __post_init__(self) -> None:
        rows, columns = self._rows(), self._columns(0)
        if len(rows) * len(columns) > MOST_TILES:
            raise ParameterError(
                "cell",
                f"the area has about {counted(len(rows) * len(columns), 'tile')}, the limit is {MOST_TILES}",
                "give a larger cell or a smaller area",
            )

    def _rows(self) -> range:
        low, high = ((self.area[part] - self.tiling.origin[1]) / self.tiling.side for part in (1, 3))
        return range(math.ceil((low - 1) * 2 / 3), math.floor((high + 1) * 2 / 3) + 1)

    def _columns(self, row: int) -> range:
        unit = WIDTH * self.tiling.side
        low, high = ((self.area[part] - self.tiling.origin[0]) / unit for part in (0, 2))
        return range(math.ceil((low - 1 - row) / 2), math.floor((high + 1 - row) / 2) + 1)

    def inside(self, tile: Tile) -> Fraction:
        """Return the area of a tile inside the map."""
        known = self._inside.get(tile)
        return Fraction(0) if known is None else known

    @cached_property
    def _inside(self) -> dict[Tile, Fraction]:
        """The area inside the map of every tile that has one."""
        tiles = ((column, row) for row in self._rows() for column in self._columns(row))
        areas = ((tile, self._cut(tile)) for tile in tiles)
        return {tile: area for tile, area in areas if area > 0}

    def _cut(self, tile: Tile) -> Fraction:
        x, y = self.tiling.center(tile)
        wide, high = WIDTH * self.tiling.side, self.tiling.side
        x_low, y_low, x_high, y_high = self.area
        if x_low <= x - wide and x + wide <= x_high and y_low <= y - high and y + high <= y_high:
            return self.tiling.area
        return polygon_area(in_rectangle(self.tiling.vertices(tile), self.area))

    def root(self, tile: Tile) -> Tile:
        """Return the tile with which a tile is merged, itself where it has enough area inside."""
        while 2 * self.inside(tile) < self.tiling.area:
            near = self.tiling.neighbors(tile)
            best = max(self.inside(other) for other in near)
            if best <= self.inside(tile):
                break
            tile = min((other for other in near if self.inside(other) == best), key=self.tiling.center)
        return tile

    @cached_property
    def groups(self) -> dict[Tile, tuple[Tile, ...]]:
        """The tiles of each group by its root."""
        members: dict[Tile, list[Tile]] = {}
        for tile in self._inside:
            members.setdefault(self.root(tile), []).append(tile)
        return {root: tuple(sorted(tiles)) for root, tiles in members.items()}

    @cached_property
    def areas(self) -> dict[Tile, Fraction]:
        """The area of each group inside the map."""
        groups = self.groups.items()
        return {root: sum((self.inside(tile) for tile in tiles), Fraction(0)) for root, tiles in groups}

    @property
    def least_area(self) -> Fraction:
        """The least area of a group inside the map."""
        return min(self.areas.values())

    def holds_place(self, x: Number, y: Number) -> bool:
        """Return whether a place lies on the map, edges included."""
        x_low, y_low, x_high, y_high = self.area
        return x_low <= x <= x_high and y_low <= y <= y_high

    def root_of(self, x: Number, y: Number) -> Tile:
        """Return the root of a place of the map: that of the first of its tiles that has area inside."""
        return self.root(next(tile for tile in self.tiling.tiles_at(x, y) if self.inside(tile) > 0))

    def group_of(self, x: Number, y: Number) -> tuple[Tile, ...]:
        """Return the tiles of the group that a place of the map belongs to."""
        return self.groups[self.root_of(x, y)]

    def counts(self, places: Sequence[Vertex]) -> Counter[Tile]:
        """Return the number of some locations in each group; groups without any are omitted."""
        return Counter(self.root_of(*place) for place in places)


MOST_SLOTS = 100_000
"""Slots of one session, or between two rows of a path."""

Fix = tuple[Fraction, Vertex]
"""A time and a place."""


def session_slots(start: Any, end: Any, length: float) -> range:
    """Return the slots [k length, (k + 1) length) that the time from ``start`` to before ``end`` meets.

    Examples
    --------
    >>> list(session_slots(0.5, 2.0, 1.0)), list(session_slots(3.0, 3.0, 1.0))
    ([0, 1], [3])
    """
    low, high = Fraction(coordinate("start", start)), Fraction(coordinate("end", end))
    if high < low:
        raise DataError("end", f"{float(high):g} is before the start {float(low):g}", "correct one of them")
    size = Fraction(length)
    first, last = math.floor(low / size), math.ceil(high / size)
    return _limited(first, max(last, first + 1))


def visited(tiling: Tiling, before: Fix, after: Fix, length: float) -> Iterator[tuple[int, Tile]]:
    """Yield (slot, tile) for all closed tiles that a straight, even movement meets in each closed slot.

    Examples
    --------
    >>> fixes = [(Fraction(t), (Fraction(4 * t), Fraction(0))) for t in (0, 1)]
    >>> sorted(visited(Tiling.of(2.0), *fixes, 0.5))
    [(0, (0, 0)), (0, (1, 0)), (1, (1, 0))]
    """
    (start, here), (end, there) = before, after
    if end <= start:
        raise DataError(
            "time", f"{float(end):g} does not follow {float(start):g}", "sort each name's rows by time"
        )
    size = Fraction(length)

    def place(time: Fraction) -> Vertex:
        part = (time - start) / (end - start)
        return here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])

    for slot in _limited(math.floor(start / size), math.ceil(end / size)):
        one, two = max(start, slot * size), min(end, (slot + 1) * size)
        for tile in tiling.crossed(place(one), place(two)):
            yield slot, tile


def _limited(first: int, end: int) -> range:
    if end - first > MOST_SLOTS:
        raise ParameterError(
            "slot", f"{end - first} slots in a row, the limit is {MOST_SLOTS}", "use a longer slot"
        )
    return range(first, end)
