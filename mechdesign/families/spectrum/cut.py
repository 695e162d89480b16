"""A tiling cut to a map: groups of tiles with enough area inside, so that no sliver gives a place away.

A tile with less than half of its area inside the map is merged with the neighbor that has the largest area
inside (of equal ones that with the least center), as long as that is larger than its own. The groups depend
on tiling and map alone, never on a place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.families.spectrum.audit.polygon import Rectangle, Vertex, in_rectangle, polygon_area
from mechdesign.families.spectrum.tile import WIDTH, Number, Tile, Tiling

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
        found = ((tile, self._cut(tile)) for tile in tiles)
        return {tile: area for tile, area in found if area > 0}

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
        found: dict[Tile, list[Tile]] = {}
        for tile in self._inside:
            found.setdefault(self.root(tile), []).append(tile)
        return {root: tuple(sorted(tiles)) for root, tiles in found.items()}

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
