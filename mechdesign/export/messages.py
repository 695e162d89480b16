"""Messages of clients: one reader decides what is one, for servers that receive them and for files of them.

A table may hold 3 as "3" or 3.0, and a set in capitals, as other programs have written it. A message comes
from a client, which has one way to write a report, so that equal ones are counted together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mechdesign.collect.about import other_owner
from mechdesign.collect.collecting import Settings
from mechdesign.collect.server import new_server
from mechdesign.core.errors import DataError, MechDesignError, MethodError, counted
from mechdesign.data.intake import MESSAGE_FORMAT, ROWS, Block, plain_column
from mechdesign.exact.numbers import text_of

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.kernel import Recipe

VERSION = 1

Rows = list[dict[str, Any]]


class MemoryTable:
    """A source made of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> table = MemoryTable({"age": np.array([31, 47])})
    >>> table.columns, [len(block["age"]) for block in table.blocks(["age"])], table.row(1)
    (('age',), [2], 2)
    """

    def __init__(self, table: Block, name: str = "table") -> None:
        self.table, self.name = dict(table), name
        self._start = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all its columns."""
        return tuple(self.table)

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time."""
        size = len(next(iter(self.table.values()), ()))
        for start in range(0, size, ROWS):
            self._start = start
            yield {name: self.table[name][start : start + ROWS] for name in columns}

    def row(self, number: int) -> int:
        """Return the row, counted from 1, of a row of the latest block, counted from 0."""
        return self._start + number + 1


class MessageReader:
    """Reads messages of the clients of a mechanism and its survey.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(3, 1.0)
    >>> reader = MessageReader(mechanism)
    >>> head = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    >>> (column,) = mechanism.recipe().columns
    >>> reader.rows({**head, "rows": [{column: 2}]}) == [{column: 2}]
    True
    >>> reader.rows({**head, "rows": [{column: "2"}]})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: message: '2' is not a report of this mechanism (not a value that a ...
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the mechanism, computed once for all messages."""
        return self.mechanism.fingerprint

    @cached_property
    def recipe(self) -> Recipe | None:
        """How clients draw a report; None where none is exported, so that rows are those of any table."""
        with suppress(MethodError):
            return self.mechanism.recipe()
        return None

    def rows(self, message: Any) -> Rows:
        """Return the rows of a message that is one report of this mechanism; else DataError is raised."""
        rows = self.written_rows(message)
        self._require_counted(rows)
        return rows

    def rows_in_file(self, message: Any) -> Rows:
        """Return the rows of a message in a file, whose reports are counted later, many at once.

        Taken is what :meth:`rows` takes, once the rows are counted.
        """
        rows = self.written_rows(message)
        if self.recipe is not None and self.recipe.steps["step"] != "messages":
            if self.recipe.several:
                self._require_counted(rows)
            elif len(rows) > 1:
                raise self._refused(rows, f"holds {counted(len(rows), 'report')}")
        return rows

    def written_rows(self, message: Any) -> Rows:
        """Return the rows of a message of this survey that are written as its clients write them."""
        self._require_own(message)
        rows = message.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError("message", "its rows are not a list of rows", "use the exported client")
        if self.recipe is None:
            return rows
        columns = set(self.recipe.columns)
        if not all(set(row) == columns for row in rows):
            raise DataError("message", "has other columns than the reports of this mechanism", "export again")
        if not rows or not all(self._is_plain(value) for row in rows for value in row.values()):
            raise self._refused(rows, "not a value that a client sends")
        return rows

    def _require_own(self, message: Any) -> None:
        """Raise DataError unless a value is a message of a client of this mechanism, whatever its rows."""
        if (
            not isinstance(message, dict)
            or message.get("format") != MESSAGE_FORMAT
            or type(message.get("version")) is not int
            or message["version"] != VERSION
        ):
            raise DataError(
                "message", f"is not a {MESSAGE_FORMAT} of version {VERSION}", "use the exported client"
            )
        if message.get("fingerprint") != self.fingerprint:
            raise DataError("message", "is of another mechanism", "reload the page of this survey")
        if message.get("survey", "") != self.mechanism.about.id:
            owner = other_owner(self.mechanism, message.get("survey"), self.fingerprint)
            raise DataError("message", f"is of {owner}", "reload the page of this survey")

    def _require_counted(self, rows: Rows) -> None:
        """Raise DataError unless a server counts the rows as one report."""
        assert self.recipe is not None
        columns = {name: plain_column([row[name] for row in rows]) for name in self.recipe.columns}
        try:
            new_server(self.mechanism).receive(MemoryTable(columns, "message"), Settings())
        except MechDesignError as error:
            raise self._refused(rows, error.what) from None

    def _is_plain(self, value: Any) -> bool:
        """Whether a value is written as clients write it: an integer, or a text that is not a number."""
        assert self.recipe is not None
        if self.recipe.steps.get("labels") is not None:
            return type(value) is str
        if type(value) is not str:
            return type(value) is int
        return not _spells_a_number(value) and (value[:1] != "x" or value == value.lower())

    def _refused(self, rows: Sequence[dict[str, Any]], why: str) -> DataError:
        assert self.recipe is not None
        last = self.recipe.columns[-1]
        report = text_of(rows[0][last]) if len(rows) == 1 else f"a list of {counted(len(rows), 'row')}"
        return DataError(
            "message", f"{report} is not a report of this mechanism ({why:.200})", "export again"
        )


def _spells_a_number(text: str) -> bool:
    """Whether a text would be read as a number.

    Examples
    --------
    >>> _spells_a_number("03"), _spells_a_number("0:3"), _spells_a_number("x03")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
