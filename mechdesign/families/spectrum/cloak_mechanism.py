"""The mechanism ``spectrum-cloak``: an owner's place becomes a tile, on the owner's own device.

Its tables have owners' places in and tiles out, and are made where the owner is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Column, Operation, Settings, located, number_column, require_columns
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.core.validation import finite_array, in_range, integer
from mechdesign.data.intake import Block, Source
from mechdesign.families.spectrum.geometry import FARTHEST, Rectangle, Vertex, coordinate, positive
from mechdesign.families.spectrum.registration import COLUMNS, Registered, registration_rows, united
from mechdesign.families.spectrum.tiling import (
    CutTiling,
    Tile,
    Tiling,
    session_slots,
    tiles_the_plane,
    visited,
)
from mechdesign.show.figure import Figure, Line, Panel

MOST_ROWS = 100_000

Rows = Iterable[Mapping[str, Any]]
BySlot = dict[int, dict[str, Registered]]


def cloak_operations(cloak: SpectrumCloak) -> tuple[Operation, ...]:
    """Return ``register``, ``sessions`` and ``visits``."""
    place = (
        Column("name", "the channel"),
        Column("x", "the owner's location"),
        Column("y", "the owner's location"),
    )
    slot = Column("slot", "number of the time slot")

    def register(sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        (source,) = sources
        rows = list(_rows(source, ("x", "y")))
        yield registration_rows(_one_by_one(source, rows, cloak.register), cloak.tiling)

    def in_slots(kind: str, columns: tuple[str, ...]) -> Callable[..., Iterator[Block]]:
        def run(sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
            (source,) = sources
            rows = list(_rows(source, columns))
            yield _by_slot(_at_once(source, rows, getattr(cloak, kind)), cloak.tiling)

        return run

    times = (Column("start", "of a session"), Column("end", "of a session, not in it"))
    return (
        Operation("register", "the tile of each owner; run it where the owner is", place, COLUMNS, register),
        Operation(
            "sessions",
            "the slots in which owners are on, with their tiles: reveals which slots, not when in them",
            (*place, *times),
            (slot, *COLUMNS),
            in_slots("sessions", ("x", "y", "start", "end")),
        ),
        Operation(
            "visits",
            "the tiles that moving owners visit in each slot: reveals which tiles, not where in them",
            (*place, Column("time", "time at this location, rising for each name")),
            (slot, *COLUMNS),
            in_slots("visits", ("x", "y", "time")),
        ),
    )


def _rows(source: Source, numbers: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    keys = ["name", *numbers, *(["protection"] if "protection" in source.columns else [])]
    require_columns(source, keys)
    count = 0
    for block in source.blocks(keys):
        columns = {key: number_column(source, block, key, wrong="not a finite number") for key in keys[1:]}
        names = np.asarray(block["name"]).astype(str)
        count += len(names)
        if count > MOST_ROWS:
            raise DataError(source.name, f"more than {MOST_ROWS} rows", "split it")
        for row, name in enumerate(names.tolist()):
            if not name:
                raise DataError(f"{source.name}: row {source.row(row)}: name", "is empty", "give a name")
            yield {"name": name, **{key: float(column[row]) for key, column in columns.items()}}
    if not count:
        raise DataError(source.name, "has no owner", "give at least one row")


def _one_by_one(source: Source, rows: list[dict[str, Any]], register: Callable[[Rows], Any]) -> Any:
    """Register rows; an error names the first row that is refused alone."""
    try:
        return register(rows)
    except ValueError:
        for number, row in enumerate(rows, start=1):
            try:
                register([row])
            except ValueError as error:
                raise DataError(f"{source.name}: row {number}", error) from None
        raise


def _at_once(source: Source, rows: list[dict[str, Any]], run: Callable[[Rows], BySlot]) -> BySlot:
    with located(source):
        return run(rows)


def _by_slot(registrations: BySlot, tiling: Tiling) -> Block:
    blocks = [(slot, registration_rows(registered, tiling)) for slot, registered in registrations.items()]
    slots = [np.full(len(np.asarray(block["name"])), slot, dtype=np.int64) for slot, block in blocks]
    keys = list(blocks[0][1])
    joined = {key: np.concatenate([np.asarray(block[key]) for _, block in blocks]) for key in keys}
    return {"slot": np.concatenate(slots), **joined}


NOTE = "answers reveal the tile and nothing else about the location; not differential privacy"


class SpectrumCloak(Mechanism):
    """A public tiling: the owner of a channel registers the hexagon that it is in, and no place.

    Whatever a database answers from the tile alone is the same for every place of the tile. So any number of
    queries, by anybody, for any time, tells that the owner is in its tile, and nothing else: for any prior,
    the posterior is the prior cut to the tile. That is not differential privacy: places of two tiles are told
    apart with certainty, however near they are.

    Parameters
    ----------
    cell : number > 0
        The side a of a hexagon; its area is about 2.6 a^2. It is public: do not choose it by the places.
    protection : number > 0 or list of them
        The public classes of protection radii; an owner's radius is rounded up to the next class.
    origin : (x, y)
        The center of a hexagon, chosen once for everybody.
    area : (x_low, y_low, x_high, y_high), optional
        The map. Hexagons with less than half of their area inside are merged with a neighbor.
    places : list of (x, y), optional
        All plausible places of owners, such as masts, where not every place of the map is one.
    least_area : number > 0, optional
        The certificate requires this area of every tile, inside the map.
    least_places : int, optional
        The certificate requires this many plausible places in every tile that has any.
    slot : number > 0
        The length of a public time slot, for owners who come and go or move.

    Raises
    ------
    ParameterError
        Naming the entry, what is wrong and the remedy.

    Examples
    --------
    >>> cloak = SpectrumCloak(cell=2.0, protection=1.0, area=[0, 0, 20, 20])
    >>> cloak.register([{"name": "tv", "x": 9.7, "y": 4.1}])
    {'tv': Registered(tiles=((2, 1),), protection=1.0)}
    >>> print(cloak.audit())
    cloak: holds (exact); cell = 2, tiles = 41, least_area = 5.196428571; witness smallest = [-3, 6]; ...
    """

    type: ClassVar[str] = "spectrum-cloak"
    exact_alternative = (
        "it protects places of radio users: build 'finite-channel' on the places that are asked for"
    )

    def __init__(
        self,
        cell: float,
        protection: float | Sequence[float],
        origin: Sequence[float] = (0.0, 0.0),
        area: Sequence[float] | None = None,
        places: Sequence[Sequence[float]] | None = None,
        least_area: float | None = None,
        least_places: int | None = None,
        slot: float = 1.0,
    ) -> None:
        self.tiling = Tiling.of(cell, origin)
        self.classes = _classes(protection)
        self.area = None if area is None else _rectangle(area)
        self.places = _places(places, self.area)
        self.least_area = None if least_area is None else positive("least_area", least_area)
        self.least_places = None if least_places is None else integer("least_places", least_places, 1)
        if self.least_places is not None and not self.places:
            raise ParameterError("least_places", "no places are given to count", "give places, or omit it")
        self.slot = positive("slot", slot)
        if self.cut is not None:
            self.cut.groups  # noqa: B018  # too many tiles are refused here and not at the first owner

    @cached_property
    def cut(self) -> CutTiling | None:
        """The tiling cut to the map; None without a map."""
        return None if self.area is None else CutTiling(self.tiling, self.area)

    # What the owner's device does

    def _tiles_of(self, x: float, y: float) -> tuple[Tile, ...]:
        """Return the tiles that are registered for a place: one, or a merged group at the edge of the map.

        Raises
        ------
        DataError
            For a place outside the map.
        """
        east, north = coordinate("x", x), coordinate("y", y)
        if self.cut is None:
            return (self.tiling.tile_of(east, north),)
        if not self.cut.holds_place(east, north):
            limits = "[{:g}, {:g}] x [{:g}, {:g}]".format(*(float(self.cut.area[k]) for k in (0, 2, 1, 3)))
            raise DataError(
                f"({east:.10g}, {north:.10g}) is outside the area {limits}", remedy="correct the location"
            )
        return self.cut.group_of(east, north)

    def _class_of(self, protection: float | None) -> float:
        """Return the public class for a protection radius; without one, the largest class."""
        if protection is None:
            return self.classes[-1]
        needed = positive("protection", protection)
        for radius in self.classes:
            if needed <= radius:
                return radius
        raise ParameterError(
            "protection",
            f"{needed:g} is above the largest class {self.classes[-1]:g}",
            "build with a larger one",
        )

    def registration(self, x: float, y: float, protection: float | None = None) -> Registered:
        """Return the registration of one owner; its location is compared with its tiles again, exactly."""
        registered = Registered(self._tiles_of(x, y), self._class_of(protection), self.tiling.mark)
        if self.tiling.nearest(registered.tiles, x, y) != 0:
            raise CertificateError("cloak", "a location outside its own tile", "report this as a bug")
        return registered

    def register(self, owners: Iterable[Mapping[str, Any]]) -> dict[str, Registered]:
        """Return the registrations of owners, by name; several locations of one name make a union.

        Parameters
        ----------
        owners : iterable of {name, x, y} or {name, x, y, protection}
        """
        parts = []
        for owner in owners:
            place = {key: value for key, value in owner.items() if key != "name"}
            parts.append((str(owner["name"]), self.registration(**place)))
        return united(parts)

    def sessions(self, value: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Registered]]:
        """Return registrations by slot of owners who come and go.

        A slot is occupied if the owner uses the channel at any time in it. What is told is which slots are
        occupied: sessions that touch the same slots are told apart by nothing.

        Parameters
        ----------
        value : iterable of {name, start, end, x, y} or with {protection}
            Sessions from ``start`` to before ``end``, in the unit of ``slot``.

        Examples
        --------
        >>> cloak = SpectrumCloak(cell=2.0, protection=1.0, slot=10.0)
        >>> one = {"name": "tv", "x": 0, "y": 0, "start": 12, "end": 30}
        >>> sorted(cloak.sessions([one])), sorted(cloak.sessions([{**one, "start": 19.5, "end": 20.5}]))
        ([1, 2], [1, 2])
        """
        parts_of: dict[int, list[tuple[str, Registered]]] = {}
        for session in value:
            place = {key: session[key] for key in session if key not in ("name", "start", "end")}
            part = str(session["name"]), self.registration(**place)
            for slot in session_slots(session["start"], session["end"], self.slot):
                parts_of.setdefault(slot, []).append(part)
        return {slot: united(parts) for slot, parts in sorted(parts_of.items())}

    def visits(self, value: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Registered]]:
        """Return registrations by slot of owners who move: the union of the tiles that each visits in it.

        Between two rows of a name it moves straight and evenly. Paths that meet the same closed tiles in each
        slot are registered equally; nothing else separates them. Between two rows the larger of their
        protection radii holds. It does not say that the owner's place at
        a moment stays spread over a tile: who changes tiles is near their edge.

        Parameters
        ----------
        value : iterable of {name, time, x, y} or with {protection}
            Rows of a name by rising time, in the unit of ``slot``.

        Examples
        --------
        >>> cloak = SpectrumCloak(cell=2.0, protection=1.0, slot=10.0)
        >>> path = [{"name": "van", "time": t, "x": t / 2, "y": 0.0} for t in (0, 12, 15)]
        >>> {slot: found["van"].tiles for slot, found in cloak.visits(path).items()}
        {0: ((0, 0), (1, 0)), 1: ((1, 0), (2, 0))}
        """
        parts_of: dict[int, list[tuple[str, Registered]]] = {}
        before: dict[str, tuple[Fraction, Vertex, float]] = {}
        for fix in value:
            place = {key: fix[key] for key in fix if key not in ("name", "time")}
            name, here = str(fix["name"]), self.registration(**place)
            now = Fraction(coordinate("time", fix["time"]))
            spot = Fraction(coordinate("x", fix["x"])), Fraction(coordinate("y", fix["y"]))
            parts_of.setdefault(math.floor(now / Fraction(self.slot)), []).append((name, here))
            if name in before:
                earlier, spot_before, radius = before[name]
                radius = max(radius, here.protection)
                for slot, tile in visited(self.tiling, (earlier, spot_before), (now, spot), self.slot):
                    tiles = self._group(tile)
                    if tiles:
                        part = Registered(tiles, radius, self.tiling.mark)
                        parts_of.setdefault(slot, []).append((name, part))
            before[name] = now, spot, here.protection
        return {slot: united(parts) for slot, parts in sorted(parts_of.items())}

    def _group(self, tile: Tile) -> tuple[Tile, ...]:
        """Return the group of a tile; nothing for one that only touches the map's edge from outside."""
        if self.cut is None:
            return (tile,)
        return self.cut.groups[self.cut.root(tile)] if self.cut.inside(tile) > 0 else ()

    def operations(self) -> tuple[Operation, ...]:
        return cloak_operations(self)

    # What it guarantees

    def certificates(self) -> tuple[Certificate, ...]:
        """Return that a tile is a function of the place alone and is as large as required, exactly.

        The hexagons tile the plane (areas and overlaps in fractions), and the groups cut to the map add up to
        it: so every place has one tile, and the tile contains the place.
        """
        covers = tiles_the_plane(self.tiling)
        figures: dict[str, Any] = {"cell": float(self.tiling.side)}
        witness: dict[str, Any] = {}
        least = self.tiling.area
        if self.cut is not None:
            cut, (x_low, y_low, x_high, y_high) = self.cut, self.cut.area
            covers = covers and sum(cut.areas.values()) == (x_high - x_low) * (y_high - y_low)
            least = cut.least_area
            figures["tiles"] = len(cut.areas)
            smallest: Tile = min(cut.areas, key=lambda root: (cut.areas[root], root))
            witness["smallest"] = list(smallest)
        figures["least_area"] = float(least)
        holds = covers and (self.least_area is None or least >= Fraction(self.least_area))
        if self.places:
            fewest, where = self._fewest()
            figures["least_places"] = fewest
            holds = holds and (self.least_places is None or fewest >= self.least_places)
            witness["fewest_places"] = list(where)
        figures |= {} if self.least_area is None else {"required_area": self.least_area}
        figures |= {} if self.least_places is None else {"required_places": self.least_places}
        return (Certificate("cloak", holds, True, figures, witness, NOTE),)

    def _fewest(self) -> tuple[int, Tile]:
        """Return the least number of plausible places in a tile that has any, and that tile."""
        counts: dict[Tile, int] = {}
        for x, y in self.places:
            tile = self.tiling.tile_of(x, y) if self.cut is None else self.cut.root_of(x, y)
            counts[tile] = counts.get(tile, 0) + 1
        return min((count, tile) for tile, count in counts.items())

    def figures(self) -> list[Figure]:
        """Return the hexagons of the map, or those around the origin."""
        tiles: Iterable[Tile] = [(0, 0), *self.tiling.neighbors((0, 0))]
        if self.cut is not None:
            tiles = [tile for group in self.cut.groups.values() for tile in group][:2000]
        marks = [Line(*self.tiling.outline(tile), series=0) for tile in tiles]
        panel = Panel("x (units of distance)", "y (units of distance)", marks, equal_aspect=True)
        return [
            Figure("The tiles that owners register", [panel], "All places of a tile get the same answers.")
        ]

    def _figures(self) -> str:
        classes = ", ".join(f"{radius:g}" for radius in self.classes)
        return f"cell {float(self.tiling.side):g}, area {float(self.tiling.area):.4g}, protection {classes}"

    def content(self) -> dict[str, Any]:
        optional: dict[str, Any] = {
            "area": None if self.area is None else [float(part) for part in self.area],
            "places": [[float(x), float(y)] for x, y in self.places] or None,
            "least_area": self.least_area,
            "least_places": self.least_places,
        }
        return {
            "cell": float(self.tiling.side),
            "protection": list(self.classes),
            "origin": [float(part) for part in self.tiling.origin],
            "slot": self.slot,
            **{key: value for key, value in optional.items() if value is not None},
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(**content)


def _classes(classes: Any) -> tuple[float, ...]:
    listed = list(classes) if isinstance(classes, (list, tuple)) else [classes]
    if not listed:
        raise ParameterError("protection", "is an empty list", "give at least one class")
    return tuple(sorted({positive("protection", radius) for radius in listed}))


def _rectangle(area: Any) -> Rectangle:
    numbers = finite_array("area", area, 1).tolist()
    if len(numbers) != 4 or not (numbers[0] < numbers[2] and numbers[1] < numbers[3]):
        raise ParameterError(
            "area", f"expected [x_low, y_low, x_high, y_high] with low < high, got {numbers}", "correct it"
        )
    x_low, y_low, x_high, y_high = (Fraction(in_range("area", part, -FARTHEST, FARTHEST)) for part in numbers)
    return x_low, y_low, x_high, y_high


def _places(places: Any, area: Rectangle | None) -> tuple[Vertex, ...]:
    if places is None:
        return ()
    numbers = finite_array("places", places, 2)
    if numbers.shape[1] != 2 or not len(numbers):
        raise ParameterError("places", "expected a list of [x, y]", "give two numbers for each location")
    points = [
        (Fraction(coordinate("places", x)), Fraction(coordinate("places", y))) for x, y in numbers.tolist()
    ]
    for x, y in points:
        if area is not None and not (area[0] <= x <= area[2] and area[1] <= y <= area[3]):
            raise ParameterError("places", f"({float(x):g}, {float(y):g}) is outside the area", "omit it")
    return tuple(dict.fromkeys(points))
