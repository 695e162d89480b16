"""Tables of a spectrum database: the queries of a slot in, answers out, the state kept in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.core.files import one_at_a_time
from mechdesign.core.randomness import Rng
from mechdesign.core.tables import Block, Source
from mechdesign.mechanisms.collecting import Owner, located, require_columns
from mechdesign.mechanisms.mean.values import as_floats
from mechdesign.mechanisms.operations import SEED, Column, Operation, Option, Settings
from mechdesign.mechanisms.spectrum.queries import Answers

NUMBERS = ("x", "y", "radius", "privacy", "epsilon")
MOST_QUERIES = 10_000
TABLES = (".csv", ".parquet", ".pq")
"""Endings that a state file does not have, so that no table of answers takes its place."""

GIVEN = ("user", "channel", "status", "radius", "power", "spent")
STATE = Option("state", "text", "the file that remembers budgets and draws from slot to slot; needed")


class Database(Owner, Protocol):
    """What tables need of a database."""

    def answer(self, queries: Any, rng: Rng = None) -> Answers:
        """Answer the queries of one slot."""

    def save_state(self, path: str) -> None:
        """Save what is remembered."""

    def restore_state(self, path: str) -> None:
        """Continue from a saved state."""


def database_operations(database: Database) -> tuple[Operation, ...]:
    """Return ``answer``: one table is one slot."""
    takes = (
        Column("user", "who asks"),
        Column("channel", "for which channel"),
        Column("x", "reported position"),
        Column("y", "reported position"),
        Column("radius", "wanted radius"),
        Column("privacy", "privacy radius around the report"),
        Column("epsilon", "level of the report, per unit of distance"),
    )
    gives = (
        Column("user", "who asked"),
        Column("channel", "for which channel"),
        Column("status", "served, not served, covered, budget spent or draws spent"),
        Column("radius", "granted, 0 where nothing is"),
        Column("power", "maximum transmission power, that of radius 1 being 1"),
        Column("spent", "epsilon that the user has spent in all"),
    )
    summary = "answer the queries of one slot: who is served, how far, with which power"
    return (
        Operation(
            "answer",
            summary,
            takes,
            gives,
            lambda sources, settings: _answered(database, sources, settings),
            (STATE, SEED),
        ),
    )


def _answered(database: Database, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    if not settings["state"]:
        raise ParameterError("--state: is missing; name the file that remembers budgets between slots")
    if str(settings["state"]).lower().endswith(TABLES):
        raise ParameterError(f"--state: {settings['state']} is named like a table; give it another name")
    require_columns(source, ["user", "channel", *NUMBERS])
    queries = _queries(source)
    if not queries:
        raise DataError(f"{source.name}: there is no query; give at least one row")
    with one_at_a_time(settings["state"], DataError):
        if not Path(settings["state"]).exists():
            settings.count("state begun: nothing spent before", 1)
        database.restore_state(settings["state"])
        with located(source):
            answers = database.answer(queries, settings["seed"])
        database.save_state(settings["state"])  # before anybody sees an answer
    for status in sorted({answer.status for answer in answers}):
        settings.count(status, sum(answer.status == status for answer in answers))
    failed = [found.property for found in answers.certificates if not found.holds]
    for name in sorted(set(failed)):
        settings.count(f"{name} not proven", failed.count(name))
    if answers.repeated:
        settings.count("slot answered before, as it was", 1)
    yield {name: np.array([getattr(answer, name) for answer in answers]) for name in GIVEN}


def _queries(source: Source) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in source.blocks(["user", "channel", *NUMBERS]):
        columns = {}
        for name in NUMBERS:
            with located(source, name):
                columns[name] = as_floats(block[name], 1, name)
                wrong = ~np.isfinite(columns[name])
                if wrong.any():
                    raise RowError(name, int(np.argmax(wrong)), ": is no finite number; correct it")
        users, channels = np.asarray(block["user"]).astype(str), np.asarray(block["channel"]).astype(str)
        if len(found) + len(users) > MOST_QUERIES:
            raise DataError(f"{source.name}: more than {MOST_QUERIES} queries in a slot; split it")
        found += [
            {
                "user": str(users[row]),
                "channel": str(channels[row]),
                **{name: float(columns[name][row]) for name in NUMBERS},
            }
            for row in range(len(users))
        ]
    return found
