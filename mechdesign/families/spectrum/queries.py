"""Queries of one slot and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    UnknownNameError,
    suggestion,
)
from mechdesign.core.text import counted, table
from mechdesign.families.spectrum.numbers import coordinate, positive

STATUSES = ("served", "not served", "covered", "budget spent")
"""What can become of a query: ``not served``: others pay more; ``covered``: no room outside the owner's tiles
and protection; ``budget spent``: the user's epsilon."""

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
