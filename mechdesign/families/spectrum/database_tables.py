"""Tables of a spectrum database: the queries of a slot in, answers out, the state kept in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.codec import as_floats
from mechdesign.collect.collecting import Column, Operation, Option, Settings, located, require_columns
from mechdesign.core.errors import DataError, ParameterError, RowError, named_option
from mechdesign.core.tables import Block, Source
from mechdesign.families.spectrum.registration import COLUMNS, read_registered, registration_rows
from mechdesign.work.files import one_at_a_time

if TYPE_CHECKING:
    from mechdesign.families.spectrum.database import SpectrumDatabase

NUMBERS = ("x", "y", "radius", "privacy", "epsilon")
MOST_QUERIES = 10_000
TABLES = (".csv", ".parquet", ".pq")
"""Endings that a state file does not have, so that no table of answers takes its place."""

GIVEN = ("user", "channel", "status", "radius", "power", "spent")
STATE = Option("state", "text", "the file that remembers budgets and registrations from slot to slot; needed")
SLOT = Option("slot", "whole number", "of a table with a column slot: register the rows of this slot")
ROOMS = ("channel", "x", "y", "room")


def database_operations(database: SpectrumDatabase) -> tuple[Operation, ...]:
    """Return ``answer``, one table is one slot; ``register`` for owners and ``room`` for users' devices."""
    takes = (
        Column("user", "the asking user"),
        Column("channel", "for which channel"),
        Column("x", "reported position"),
        Column("y", "reported position"),
        Column("radius", "requested radius"),
        Column("privacy", "privacy radius around the report"),
        Column("epsilon", "level of the report, per unit of distance"),
    )
    gives = (
        Column("user", "the asking user"),
        Column("channel", "for which channel"),
        Column("status", "served, not served, covered or budget spent"),
        Column("radius", "granted, 0 where nothing is"),
        Column("power", "maximum transmission power, that of radius 1 being 1"),
        Column("spent", "epsilon that the user has spent in all"),
    )
    summary = "answer the queries of one slot: users served, radius and power"
    return (
        Operation(
            "answer",
            summary,
            takes,
            gives,
            partial(_answered, database),
            (STATE,),
        ),
        Operation(
            "register",
            "replace the tiles of the channels in a table; gives the tiles of all channels, to be published",
            COLUMNS,
            COLUMNS,
            partial(_registered, database),
            (STATE, SLOT),
        ),
        Operation(
            "room",
            "permitted range at a true location, next to owners alone; for a user's own device",
            (Column("channel", "which channel"), Column("x", "true location"), Column("y", "true location")),
            (
                *(Column(name, "as given") for name in ROOMS[:3]),
                Column("room", "radius; inf where it is idle"),
            ),
            lambda sources, settings: _rooms(database, sources),
            several=True,
            private=True,
        ),
    )


def _answered(database: SpectrumDatabase, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    _require_state(settings)
    require_columns(source, ["user", "channel", *NUMBERS])
    queries = _queries(source)
    if not queries:
        raise DataError(source.name, "there is no query", "give at least one row")
    with one_at_a_time(settings["state"], DataError):
        if not Path(settings["state"]).exists():
            settings.count("state begun: nothing spent before", 1)
        database.restore_state(settings["state"])
        with located(source):
            answers = database.answer(queries)
        database.save_state(settings["state"])  # before anybody sees an answer
    for status in sorted({answer.status for answer in answers}):
        settings.count(status, sum(answer.status == status for answer in answers))
    failed = [certificate.property for certificate in answers.certificates if not certificate.holds]
    for name in sorted(set(failed)):
        settings.count(f"{name} not proven", failed.count(name))
    if answers.repeated:
        settings.count("slot answered before, as it was", 1)
    yield {name: np.array([getattr(answer, name) for answer in answers]) for name in GIVEN}


def _require_state(settings: Settings) -> None:
    if not settings["state"]:
        raise ParameterError(
            named_option("state"), "is missing", "name the file that remembers budgets between slots"
        )
    if str(settings["state"]).lower().endswith(TABLES):
        raise ParameterError(
            named_option("state"), f"{settings['state']} is named like a table", "give it another name"
        )


def _registered(database: SpectrumDatabase, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    _require_state(settings)
    registered, names = read_registered(source, database.tiling, settings["slot"])
    if not names:
        raise DataError(source.name, "there is no registration", "give at least one row")
    with one_at_a_time(settings["state"], DataError):
        if not Path(settings["state"]).exists():
            settings.count("state begun: nothing spent before", 1)
        database.restore_state(settings["state"])
        with located(source):
            database.register({name: registered.get(name) for name in sorted(names)})
        database.save_state(settings["state"])
    settings.count("channel(s) registered", len(registered))
    settings.count("channels idle in this slot", len(names - set(registered)))
    occupied = {name: owner for name, owner in database.registered().items() if owner is not None}
    yield registration_rows(occupied, database.tiling)


def _rooms(database: SpectrumDatabase, sources: Sequence[Source]) -> Iterator[Block]:
    """Compute rooms; a table of registrations among the sources replaces those of the file."""
    for source in sources:
        if "tiling" in source.columns:
            registered, names = read_registered(source, database.tiling)
            with located(source):
                database.register({name: registered.get(name) for name in names})
    places = [source for source in sources if "tiling" not in source.columns]
    if not places:
        raise DataError("room", "no table of places", "give one with the columns channel, x and y")
    for source in places:
        require_columns(source, ROOMS[:3])
        for block in source.blocks(ROOMS[:3]):
            columns = finite_columns(source, block, ("x", "y"))
            channels = np.asarray(block["channel"]).astype(str)
            spots = list(zip(channels.tolist(), columns["x"].tolist(), columns["y"].tolist(), strict=True))
            with located(source):
                rooms = np.array([max(database.room(*spot), 0.0) for spot in spots])
            yield {"channel": channels, **columns, "room": rooms}


def finite_columns(source: Source, block: Block, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of finite numbers; the error names file, column and row."""
    columns: dict[str, Any] = {}
    for name in names:
        with located(source, name):
            columns[name] = as_floats(block[name], 1, name)
            wrong = ~np.isfinite(columns[name])
            if wrong.any():
                raise RowError(name, int(np.argmax(wrong)), "is not a finite number", "correct it")
    return columns


def _queries(source: Source) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for block in source.blocks(["user", "channel", *NUMBERS]):
        columns = finite_columns(source, block, NUMBERS)
        users, channels = np.asarray(block["user"]).astype(str), np.asarray(block["channel"]).astype(str)
        if len(rows) + len(users) > MOST_QUERIES:
            raise DataError(source.name, f"more than {MOST_QUERIES} queries in a slot", "split it")
        rows += [
            {
                "user": str(users[row]),
                "channel": str(channels[row]),
                **{name: float(columns[name][row]) for name in NUMBERS},
            }
            for row in range(len(users))
        ]
    return rows
