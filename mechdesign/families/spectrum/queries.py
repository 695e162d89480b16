"""Queries of one slot and their answers.

What a spectrum database remembers from slot to slot, saved whole or not at all.

A state belongs to the content of one database and is refused by another. It is on the disk before any answer
that it accounts for: what a crash can cost is an answer, never the budget's truth.

Tables of a spectrum database: the queries of a slot in, answers out, the state kept in a file.
"""

from __future__ import annotations

import json
import math
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.collect.base import Mechanism, digest
from mechdesign.collect.collecting import (
    Column,
    Operation,
    Option,
    Settings,
    located,
    number_column,
    require_columns,
)
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    UnknownNameError,
    counted,
    named_option,
    suggestion,
    unread,
)
from mechdesign.data.intake import Block, Source
from mechdesign.exact.numbers import plain_int
from mechdesign.families.spectrum.geometry import coordinate, positive
from mechdesign.families.spectrum.registration import COLUMNS, Registered, read_registered, registration_rows
from mechdesign.families.spectrum.tiling import Tiling
from mechdesign.show.tables import table
from mechdesign.work.files import one_at_a_time, parse_json, read_text, whole_file

SPENT, ABOVE = "budget spent", "above the budget"

STATUSES = ("served", "not served", "covered", SPENT, ABOVE)
"""What can become of a query: ``not served``: others pay more; ``covered``: no room outside the owner's tiles
and protection; ``budget spent``: the user's epsilon, with earlier reports; ``above the budget``: this report
alone needs more epsilon than a user may spend in all."""

Levels = float | tuple[float, ...] | None
"""The least level, or all levels that are accepted; None: any."""


@dataclass(frozen=True)
class Query:
    """One user asks for one channel.

    Attributes
    ----------
    user, channel : str
    x, y : float
        The reported position.
    radius, privacy : float
        Wanted radius, and the radius within which the true position lies (with the wanted probability).
    epsilon : float
        The geo-indistinguishability level of the report, per unit of distance.
    """

    user: str
    channel: str
    x: float
    y: float
    radius: float
    privacy: float
    epsilon: float

    @classmethod
    def of(cls, entry: Mapping[str, Any], channels: Sequence[str]) -> Query:
        """Check one query.

        Raises
        ------
        MechDesignError
            Naming the entry, what is wrong and the remedy.
        """
        names = [item.name for item in fields(cls)]
        for key in entry:
            if key not in names:
                raise UnknownNameError(f"no entry '{key}'", remedy=suggestion(str(key), names))
        for key in names:
            if key not in entry:
                raise DataError(f"'{key}' is missing", remedy="give it a value")
        user, channel = str(entry["user"]), str(entry["channel"])
        if not user:
            raise DataError("user", "is empty", "give a name")
        if channel not in channels:
            raise UnknownNameError("channel", f"no '{channel}'", suggestion(channel, channels))
        return cls(
            user,
            channel,
            coordinate("x", entry["x"]),
            coordinate("y", entry["y"]),
            *(positive(key, entry[key]) for key in ("radius", "privacy", "epsilon")),
        )


def levels_of(levels: Any) -> Levels:
    """Read the levels that a database accepts.

    Examples
    --------
    >>> levels_of(0.1), levels_of([0.5, 0.1, 0.5]), levels_of(None)
    (0.1, (0.1, 0.5), None)
    """
    if levels is None:
        return None
    if isinstance(levels, (list, tuple)):
        if not levels:
            raise ParameterError("levels", "is an empty list", "give at least one level, or omit it")
        return tuple(sorted({positive("levels", level) for level in levels}))
    return positive("levels", levels)


def _accepted(query: Query, levels: Levels) -> None:
    """Refuse a report whose level the database does not take."""
    if isinstance(levels, tuple):
        if query.epsilon not in levels:
            known = ", ".join(f"{level:.17g}" for level in levels)
            raise DataError("epsilon", f"{query.epsilon:.17g} is not accepted", f"report with one of {known}")
    elif levels is not None and query.epsilon < levels:
        what = f"{query.epsilon:.17g} is below {levels:.17g}, the least that is accepted"
        raise DataError("epsilon", what, "report again")


def checked_queries(
    queries: Iterable[Query | Mapping[str, Any]], channels: Sequence[str], levels: Levels = None
) -> list[Query]:
    """Check the queries of a slot; errors name the row.

    A user may ask for several channels, with one and the same report.
    """
    result: list[Query] = []
    pairs: set[tuple[str, str]] = set()
    reports: dict[str, tuple[float, float, float]] = {}
    for row, item in enumerate(queries):
        entries = vars(item) if isinstance(item, Query) else item
        try:
            query = Query.of(entries, channels)
            _accepted(query, levels)
        except MechDesignError as error:
            raise RowError("queries", row, error.located, error.remedy) from None
        if (query.user, query.channel) in pairs:
            what = f"'{query.user}' asks twice for '{query.channel}'"
            raise RowError("queries", row, what, "ask once in a slot")
        pairs.add((query.user, query.channel))
        report = (query.x, query.y, query.epsilon)
        if reports.setdefault(query.user, report) != report:
            what = f"'{query.user}' sends two reports in one slot"
            raise RowError("queries", row, what, "send one, for all channels")
        result.append(query)
    return result


@dataclass(frozen=True)
class Answer:
    """Result of a query.

    Attributes
    ----------
    user, channel : str
    status : str
        One of ``STATUSES``.
    radius, power : float
        What is granted; 0 where nothing is.
    spent : float
        Epsilon that the user has spent in all.
    """

    user: str
    channel: str
    status: str
    radius: float
    power: float
    spent: float


@dataclass(frozen=True)
class Answers:
    """The answers of one slot.

    Attributes
    ----------
    answers : tuple of Answer
        In the order of the queries.
    certificates : tuple of Certificate
        The budget, the cloak and no interference (all exact), and optimality of each channel's allocation.
    repeated : bool
        Whether the very same queries were answered before: then nothing is spent.
    """

    answers: tuple[Answer, ...]
    certificates: tuple[Certificate, ...]
    repeated: bool = False

    def __iter__(self) -> Any:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> Answer:
        return self.answers[place]

    def __str__(self) -> str:
        rows = [
            [
                answer.user,
                answer.channel,
                answer.status,
                f"{answer.radius:.6g}",
                f"{answer.power:.6g}",
                f"{answer.spent:.6g}",
            ]
            for answer in self.answers
        ]
        lines = [table(["user", "channel", "status", "radius", "power", "spent"], rows)]
        lines += [f"  {certificate}" for certificate in self.certificates]
        return "\n".join(lines)

    def __repr__(self) -> str:
        served = sum(answer.status == "served" for answer in self.answers)
        return f"Answers({counted(len(self.answers), 'query')}, {served} served)"


FORMAT = "mechdesign-spectrum-state"
VERSION = 2
"""Version 1 held widenings drawn around owners' places."""

LARGEST_FILE = 1 << 28


@dataclass
class State:
    """Slots answered, what users have spent, registrations since the database was built, the last slot.

    Attributes
    ----------
    slots : int
    spent : dict
        Epsilon per unit of distance by user, exact.
    reports : dict
        Digests of all reports of each user: sending one again tells nothing new, and is free.
    registered : dict
        For each channel whose registration changed since the database was built: the tiles now registered, or
        None where it is idle now.
    last : dict
        The digest of the last slot's queries, and its answers.
    """

    slots: int = 0
    spent: dict[str, Fraction] = field(default_factory=dict)
    reports: dict[str, set[str]] = field(default_factory=dict)
    registered: dict[str, Registered | None] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; fractions as texts."""
        return {
            "slots": self.slots,
            "spent": {user: str(amount) for user, amount in sorted(self.spent.items())},
            "reports": {user: sorted(reports) for user, reports in sorted(self.reports.items())},
            "registered": {
                name: None if item is None else item.as_json()
                for name, item in sorted(self.registered.items())
            },
            "last": self.last,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> State:
        """Read plain values.

        Examples
        --------
        >>> state = State(3, {"ann": Fraction(1, 2)}, {"ann": {"5f2b"}}, {"tv": None})
        >>> State.from_json(state.as_json()) == state
        True
        """
        return cls(
            slots=plain_int("slots", document["slots"]),
            spent={str(user): _amount(amount) for user, amount in document["spent"].items()},
            reports={str(user): set(map(str, reports)) for user, reports in document["reports"].items()},
            registered={
                str(name): None if item is None else Registered.of("registered", item)
                for name, item in document["registered"].items()
            },
            last=_last(document["last"]),
        )

    def copy(self) -> State:
        """Return a copy that can be changed."""
        reports = {user: set(sent) for user, sent in self.reports.items()}
        return State(self.slots, dict(self.spent), reports, dict(self.registered), dict(self.last))


def _amount(value: Any) -> Fraction:
    amount = Fraction(value)
    if amount < 0:
        raise ValueError("an amount spent is below 0")
    return amount


def _last(value: Any) -> dict[str, Any]:
    """Return the last slot: nothing, or a digest and complete answers."""
    last = dict(value)
    if not last:
        return last
    if set(last) != {"queries", "answers"} or not isinstance(last["queries"], str):
        raise ValueError("the last slot is not a digest and answers")
    if not isinstance(last["answers"], list):
        raise ValueError("the last answers are not a list")
    for row in last["answers"]:
        if not isinstance(row, list) or len(row) != len(fields(Answer)):
            raise ValueError("an answer of the last slot is incomplete")
        if not all(isinstance(text, str) for text in row[:3]) or row[2] not in STATUSES:
            raise ValueError("an answer of the last slot has no user, channel or status")
        for number in row[3:]:
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < math.inf:
                raise ValueError("an answer of the last slot has a number that is none")
    return last


def save_state(path: str | os.PathLike[str], state: State, fingerprint: str) -> None:
    """Write a state of the database with this fingerprint; on the disk, whole, when this returns.

    Nobody but its owner may read it: it holds what users have spent.
    """
    content = state.as_json()
    document = {"format": FORMAT, "version": VERSION, "database": fingerprint, "state": content}
    document["sha256"] = digest(fingerprint, content)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    with whole_file(path, DataError, durable=True, private=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def load_state(path: str | os.PathLike[str], fingerprint: str) -> State:
    """Return the state in a file, or an empty one where there is no file yet.

    Raises
    ------
    DataError
        When the file is not a state, was changed, or belongs to another database.
    """
    if not Path(path).exists():
        return State()
    advice = "name the state file of this database, or another path to start again"
    try:
        document = parse_json(read_text(path, LARGEST_FILE, DataError))
    except OSError as error:
        raise DataError(path, unread(error), advice) from None
    except (ValueError, RecursionError):
        raise DataError(path, "is not JSON", advice) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(path, "is not a state of a spectrum database", advice)
    if document.get("version") != VERSION:
        raise DataError(
            path,
            "is a state of an earlier release, which held draws around owners' places",
            "delete it and name another path to begin a new state",
        )
    if document.get("database") != fingerprint:
        raise DataError(path, "belongs to another database", advice)
    try:
        if document.get("sha256") != digest(fingerprint, document["state"]):
            raise DataError(path, "was changed after it was saved (sha256 differs)", advice)
        return State.from_json(document["state"])
    except DataError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(path, f"is damaged ({error!r})", advice) from None


NUMBERS = ("x", "y", "radius", "privacy", "epsilon")
MOST_QUERIES = 10_000
TABLES = (".csv", ".parquet", ".pq")
"""Endings that a state file does not have, so that no table of answers takes its place."""

GIVEN = ("user", "channel", "status", "radius", "power", "spent")
STATE = Option("state", "text", "the file that remembers budgets and registrations from slot to slot; needed")
SLOT = Option("slot", "whole number", "of a table with a column slot: register the rows of this slot")
ROOMS = ("channel", "x", "y", "room")
ASKED = (
    Column("user", "the asking user"),
    Column("channel", "for which channel"),
    Column("x", "reported position"),
    Column("y", "reported position"),
    Column("radius", "requested radius"),
    Column("privacy", "privacy radius around the report"),
    Column("epsilon", "level of the report, per unit of distance"),
)
"""Queries as a user's device gives and the database takes them."""


class AnsweredQueries(Mechanism):
    """What the tables use of a database."""

    tiling: Tiling
    budget: Fraction

    @abstractmethod
    def registered(self) -> dict[str, Registered | None]:
        """Return the tiles registered for each channel; None where it is idle."""

    @abstractmethod
    def register(self, owners: Mapping[str, Registered | None]) -> None:
        """Replace the registrations of some channels; None: the channel is idle from now on."""

    @abstractmethod
    def room(self, channel: str, x: float, y: float) -> float:
        """Return the radius that the owner leaves to a user at a location; infinite if it is idle."""

    @abstractmethod
    def answer(self, queries: Iterable[Query | Mapping[str, Any]]) -> Answers:
        """Answer the queries of one slot, and account for them."""

    @abstractmethod
    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Save what is remembered between slots."""

    @abstractmethod
    def restore_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from a saved state; refuse that of another database."""


def database_operations(database: AnsweredQueries) -> tuple[Operation, ...]:
    """Return ``answer``, one table is one slot; ``register`` for owners and ``room`` for users' devices."""
    gives = (
        *ASKED[:2],
        Column("status", "served, not served, covered, budget spent or above the budget"),
        Column("radius", "granted, 0 where nothing is"),
        Column("power", "maximum transmission power, that of radius 1 being 1"),
        Column("spent", "epsilon that the user has spent in all"),
    )
    summary = "answer the queries of one slot: users served, radius and power"
    return (
        Operation(
            "answer",
            summary,
            ASKED,
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


def _answered(database: AnsweredQueries, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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
    least = max((query["epsilon"] for query in queries), default=0.0)
    more = f" ({least:.4g} > {float(database.budget):g}; build the database with a budget of at least that)"
    for status in sorted({answer.status for answer in answers}):
        said = status + more if status == ABOVE else status
        settings.count(said, sum(answer.status == status for answer in answers))
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


def _registered(database: AnsweredQueries, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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


def _rooms(database: AnsweredQueries, sources: Sequence[Source]) -> Iterator[Block]:
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
    return {name: number_column(source, block, name) for name in names}


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
