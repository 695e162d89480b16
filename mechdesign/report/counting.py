"""Count the reports of many files: one data set, checked before its first row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Operation, Settings, mark_in, operation_of, unmarked
from mechdesign.collect.server import SavedCounts, new_server
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.core.tables import Block, Source
from mechdesign.data.intake import MissingRule
from mechdesign.data.reading import Copies, CountedFile

COUNTING = ("analyze", "estimate")
"""The operations that read reports: of protocols, and of mechanisms that collect."""


def counting_operation(mechanism: Mechanism, owner: str) -> Operation:
    """Return the operation that estimates from reports; UnknownNameError where there is none."""
    known = [operation.name for operation in mechanism.operations()]
    return operation_of(mechanism.operations(), COUNTING[COUNTING[0] not in known], owner)


def server_of(mechanism: Mechanism, owner: str) -> Any:
    """Return an empty server of a mechanism, which counts its reports."""
    counting_operation(mechanism, owner)
    try:
        return new_server(mechanism)
    except DataError as error:
        raise error.changed(where=owner) from None


class Header:
    """A table without its rows: it notes which columns are asked for.

    Examples
    --------
    >>> from mechdesign.core.tables import MemoryTable
    >>> header = Header(MemoryTable({"age": [31]}))
    >>> list(header.blocks(["age"])), header.asked
    ([], ['age'])
    """

    def __init__(self, table: Source) -> None:
        self.table, self.name, self.columns = table, table.name, table.columns
        self.asked: list[str] = []

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Note the columns; there are no rows."""
        self.asked = list(columns)
        return iter(())

    def row(self, number: int) -> int:
        """Return the number itself: there are no rows."""
        return number


def require_one_set(tables: Iterable[Source], run: Callable[[Header], Any]) -> list[str]:
    """Return the columns of files; DataError when one has others, or belongs to another mechanism.

    Parameters
    ----------
    tables : iterable of Source
        Headers are looked at, no rows.
    run : callable
        Does to a table what is to be done to all; it raises for reports of another mechanism.
    """
    first: Header | None = None
    for table in tables:
        header = Header(table)
        run(header)
        if first is None:
            first = header
        elif [name.casefold() for name in header.asked] != [name.casefold() for name in first.asked]:
            columns, others = (", ".join(map(repr, one.asked)) for one in (header, first))
            remedy = "name the column with --column" if _one_each(header, first) else "give files of one kind"
            raise DataError(table.name, f"has the column {columns}, {first.name} has {others}", remedy)
    return [] if first is None else first.asked


def require_one_question(counts: Sequence[SavedCounts], columns: Sequence[str] = ()) -> None:
    """Raise DataError when counts are about columns of other names, or others than those of reports."""
    for other in counts[1:]:
        first = counts[0]
        if other.question.casefold() != first.question.casefold():
            what = f"counts the column '{other.question}', {first.name} counts '{first.question}'"
            raise DataError(other.name, what, "estimate them apart")
    if counts and len(columns) == 1 and counts[0].question:
        first, column = counts[0], unmarked(columns[0])
        if first.question.casefold() != column.casefold():
            what = f"counts the column '{first.question}', and the reports are of '{column}'"
            raise DataError(first.name, what, "estimate them apart")


def _one_each(one: Header, other: Header) -> bool:
    return len(one.asked) == len(other.asked) == 1 and not any(map(mark_in, one.asked + other.asked))


@dataclass
class Counting:
    """A server, the files that it counted, and what happened to their rows.

    Attributes
    ----------
    server : Server
    files : list of CountedFile
    missing : MissingRule
        With the number of rows that lacked a value.
    """

    server: Any
    missing: MissingRule
    files: list[CountedFile] = field(default_factory=list)


def count_one(server: Any, table: Any, settings: Settings, copies: Copies) -> None:
    """Count the reports in a file with a server; errors name the file."""
    table.copies = copies
    try:
        server.count_table(table, settings)
    except MechDesignError as error:
        raise (error if error.is_about(table.name) else error.within(table.name)) from None
