"""Tables of a spectrum cloak: owners' places in, tiles out; made where the owner is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.collecting import located, require_columns
from mechdesign.collect.domain import as_floats
from mechdesign.collect.operations import Column, Operation, Settings
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Source
from mechdesign.families.spectrum.registered import COLUMNS, Registered, registration_rows
from mechdesign.families.spectrum.tile import Tiling

if TYPE_CHECKING:
    from mechdesign.families.spectrum.cloak_mechanism import SpectrumCloak

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
    wanted = ["name", *numbers, *(["protection"] if "protection" in source.columns else [])]
    require_columns(source, wanted)
    count = 0
    for block in source.blocks(wanted):
        columns = {}
        for key in wanted[1:]:
            with located(source, key):
                columns[key] = as_floats(block[key], 1, key)
                wrong = ~np.isfinite(columns[key])
                if wrong.any():
                    raise RowError(key, int(np.argmax(wrong)), "not a finite number", "correct it")
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


def _by_slot(found: BySlot, tiling: Tiling) -> Block:
    blocks = [(slot, registration_rows(registered, tiling)) for slot, registered in found.items()]
    slots = [np.full(len(np.asarray(block["name"])), slot, dtype=np.int64) for slot, block in blocks]
    keys = list(blocks[0][1])
    joined = {key: np.concatenate([np.asarray(block[key]) for _, block in blocks]) for key in keys}
    return {"slot": np.concatenate(slots), **joined}
