"""What an owner registers: a channel's name, tiles of a public tiling and a public class of protection.

Rows of a table have one tile each; the tiles of one name make a union. The column ``tiling`` carries a digest
of side and origin, for tiles of another tiling would protect another place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mechdesign.collect.codec import as_floats
from mechdesign.collect.collecting import Column, located, require_columns
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    UnknownNameError,
    counted,
    named_option,
    option,
    suggestion,
)
from mechdesign.data.intake import Block, Source
from mechdesign.families.spectrum.geometry import positive
from mechdesign.families.spectrum.tiling import Tile, Tiling, tile_index

MOST_TILES = 10_000
"""Tiles of one registration."""

GIVEN = ("name", "column", "row", "protection", "tiling")
COLUMNS = (
    Column("name", "the channel"),
    Column("column", "of a tile"),
    Column("row", "of a tile"),
    Column("protection", "protection radius, a public class"),
    Column("tiling", "digest of the tiling"),
)


@dataclass(frozen=True)
class Registered:
    """The owner of a channel, as far as anybody but the owner knows it.

    Attributes
    ----------
    tiles : tuple of (column, row)
        Sorted, each once; their union contains the owner.
    protection : float
        The radius within which the owner must not be disturbed.
    tiling : str
        The digest of the tiling whose tiles these are; empty where nobody has said it.
    """

    tiles: tuple[Tile, ...]
    protection: float
    tiling: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, where: str, entry: Mapping[str, Any]) -> Registered:
        """Read ``{tiles, protection}``.

        Raises
        ------
        ParameterError
            Naming the entry, what is wrong and the remedy.

        Examples
        --------
        >>> Registered.of("channels 1", {"tiles": [[2, 1], [0, 0]], "protection": 1})
        Registered(tiles=((0, 0), (2, 1)), protection=1.0)
        """
        for key in entry:
            if key in ("x", "y"):
                raise ParameterError(
                    where,
                    f"'{key}' is a location, which a database must not hold",
                    "register the owner's tile (spectrum-cloak) and give {name, tiles, protection}",
                )
            if key not in ("tiles", "protection"):
                raise UnknownNameError(
                    where, f"no entry '{key}'", suggestion(str(key), ["tiles", "protection"])
                )
        for key in ("tiles", "protection"):
            if key not in entry:
                raise ParameterError(where, f"'{key}' is missing", "give {name, tiles, protection}")
        return cls(
            tiles_of(f"{where}: tiles", entry["tiles"]), positive(f"{where}: protection", entry["protection"])
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"tiles": [list(tile) for tile in self.tiles], "protection": self.protection}

    def joined(self, other: Registered) -> Registered:
        """Return the union: the tiles of both, and the larger protection."""
        other.require_tiling(self.tiling)
        tiles = tuple(sorted({*self.tiles, *other.tiles}))
        tiling = self.tiling or other.tiling
        return Registered(tiles, max(self.protection, other.protection), tiling)

    def require_tiling(self, mark: str) -> None:
        """Raise DataError where these are tiles of another tiling: they would protect another place."""
        if self.tiling and mark and self.tiling != mark:
            raise DataError(
                f"tile of another tiling ({self.tiling:.20}, this one is {mark})",
                remedy="register with the cell and the origin of this database",
            )


def tiles_of(field: str, tiles: Any) -> tuple[Tile, ...]:
    """Read a list of [column, row]."""
    if not isinstance(tiles, (list, tuple)) or not tiles:
        raise ParameterError(field, "expected a list of [column, row]", "give at least one tile")
    if len(tiles) > MOST_TILES:
        raise ParameterError(
            field, f"{counted(len(tiles), 'tile')}, the limit is {MOST_TILES}", "give a larger cell"
        )
    indices = set()
    for number, tile in enumerate(tiles, start=1):
        if not isinstance(tile, (list, tuple)) or len(tile) != 2:
            raise ParameterError(field, f"entry {number} is {tile!r:.40}", "give [column, row]")
        indices.add((tile_index(field, tile[0]), tile_index(field, tile[1])))
    return tuple(sorted(indices))


def united(parts: Iterable[tuple[str, Registered]]) -> dict[str, Registered]:
    """Return the union of all registrations of each name, in the order of the names' first row."""
    registered: dict[str, Registered] = {}
    for name, part in parts:
        registered[name] = part if name not in registered else registered[name].joined(part)
    return registered


def registration_rows(registered: Mapping[str, Registered], tiling: Tiling) -> Block:
    """Return the table of registrations."""
    rows = [(name, tile, item.protection) for name, item in registered.items() for tile in item.tiles]
    return {
        "name": np.array([name for name, _, _ in rows]),
        "column": np.array([tile[0] for _, tile, _ in rows], dtype=np.int64),
        "row": np.array([tile[1] for _, tile, _ in rows], dtype=np.int64),
        "protection": np.array([protection for _, _, protection in rows], dtype=np.float64),
        "tiling": np.array([tiling.mark] * len(rows)),
    }


def read_registered(
    source: Source, tiling: Tiling, slot: int | None = None
) -> tuple[dict[str, Registered], set[str]]:
    """Return the registrations of a table, and all names in it.

    With ``slot`` the rows of that slot; a name without a row in it is idle.

    Raises
    ------
    DataError
        For tiles of another tiling, and values that are not tiles.
    """
    has_slots = "slot" in source.columns
    if has_slots and slot is None:
        raise DataError(source.name, "has rows of several slots", "name one with " + option("slot"))
    if slot is not None and not has_slots:
        raise DataError(source.name, "has no column 'slot'", "leave " + named_option("slot") + " out")
    needed = [*GIVEN, "slot"] if has_slots else list(GIVEN)
    require_columns(source, needed)
    parts: list[tuple[str, Registered]] = []
    names: set[str] = set()
    for block in source.blocks(needed):
        with located(source, "protection"):
            protection = as_floats(block["protection"], 1, "protection")
        columns = {key: np.asarray(block[key]).astype(str) for key in needed if key != "protection"}
        for row in range(len(protection)):
            at = f"{source.name}: row {source.row(row)}"
            name, mark = str(columns["name"][row]), str(columns["tiling"][row])
            names.add(name)
            if mark != tiling.mark:
                try:
                    Registered((), 1.0, mark or "none").require_tiling(tiling.mark)
                except DataError as error:
                    raise error.within(at) from None
            if has_slots and _integer(at, columns["slot"][row]) != slot:
                continue
            tile = [_integer(at, columns[key][row]) for key in ("column", "row")]
            try:
                parts.append(
                    (name, Registered.of(at, {"tiles": [tile], "protection": float(protection[row])}))
                )
            except MechDesignError as error:
                raise error.as_a(DataError) from None
    registered = united(parts)
    for name, item in registered.items():
        if len(item.tiles) > MOST_TILES:
            raise DataError(source.name, f"'{name}' has more than {MOST_TILES} tiles", "use a larger cell")
    return registered, names


def _integer(where: str, text: Any) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise DataError(
            where, f"'{text:.30}' is not an integer", "give the table that register wrote"
        ) from None
