"""Servers: they belong to one mechanism, count reports, merge in any order, and are saved as its own.

Counts that come from a file or another machine are integers, and not more than can be counted; contents that
are damaged raise an error of this package, whatever reading them raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Self, TypeVar

import numpy as np

from mechdesign.collect.about import HasSurvey, other_owner, owner_entries
from mechdesign.collect.reader import report_rule
from mechdesign.core.errors import CertificateError, DataError, MechDesignError, counted
from mechdesign.data.frames import FrameTable, is_partitioned, is_table, merge_partitions
from mechdesign.data.intake import Block, Source
from mechdesign.exact.numbers import plain, require_no_mask, text_of

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.collecting import Settings
    from mechdesign.collect.estimate import Estimated

MOST_USERS = 1 << 53
"""More reports than that are an error: all their counts are exact in 64 bits and as doubles."""


def whole_rows(rows: Any, width: int, count: int, signed: bool = False) -> list[list[int]]:
    """Return the lists of integers, each below 2**180 in size, or raise DataError.

    Examples
    --------
    >>> whole_rows([[1, 1.9]], 2, 1)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: 1.9 is not a count; ...
    """
    damaged = "aggregator: the counts are damaged"
    if not isinstance(rows, list) or len(rows) != count:
        raise DataError(damaged, f"not {counted(count, 'list')}", "count the reports again")
    if not all(isinstance(row, list) and len(row) == width for row in rows):
        raise DataError(damaged, f"not {counted(width, 'number')} in each list", "count the reports again")
    numbers = [[plain(value) for value in row] for row in rows]
    for row, read in zip(rows, numbers, strict=True):
        for entry, number in zip(row, read, strict=True):
            if not isinstance(number, int) or abs(number) >> 180 or (number < 0 and not signed):
                raise DataError(damaged, f"{text_of(entry)} is not a count", "count the reports again")
    return numbers  # type: ignore[return-value]


def require_users(count: int) -> None:
    """Raise DataError when there are more reports than counters hold without rounding."""
    if count > MOST_USERS:
        raise DataError(
            "aggregator", f"{count} reports are more than {MOST_USERS}", "count the reports again"
        )


def require_own(document: object, mechanism: HasSurvey, what: str = "counts") -> None:
    """Raise DataError unless these are what a server of this mechanism and survey wrote.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> require_own([], KaryResponse.of(3, 1.0))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: not a JSON object; count ...
    """
    if not isinstance(document, Mapping):
        raise DataError("aggregator", f"the {what} are damaged: not a JSON object", "count the reports again")
    if document.get("mechanism") != mechanism.survey_digest:
        owner = other_owner(mechanism, document.get("survey"), document.get("mechanism"))
        raise DataError("aggregator", f"the {what} belong to {owner}", "load the one they were made with")


class SavedCounts:
    """Saved counts of a server, in place of a table of reports; it has no rows.

    Parameters
    ----------
    name : str
        What errors call it: the path of a file.
    document : mapping
        What :meth:`~mechdesign.collect.server.Server.as_json` gave.
    question : str
        The column that was asked for, as far as it is known.

    Examples
    --------
    >>> SavedCounts("all.json", {}).columns
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: all.json: holds counts, and single reports are needed here; ...
    """

    def __init__(self, name: str, document: Mapping[str, Any], question: str = "") -> None:
        self.name, self.document, self.question = name, document, question

    @property
    def columns(self) -> tuple[str, ...]:
        """None: reports are counted, and single ones are gone."""
        raise self._no_rows()

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def row(self, number: int) -> int:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def _no_rows(self) -> DataError:
        return DataError(
            self.name, "holds counts, and single reports are needed here", "name files written by randomize"
        )


MechanismT = TypeVar("MechanismT", bound="Mechanism")
EstimatedT = TypeVar("EstimatedT", bound="Estimated")


class Server(ABC, Generic[MechanismT]):
    """Counts that a server keeps of a mechanism's reports; no report can be read from them.

    A subclass counts (``update``), estimates, and says how counts are added, written and read.

    Class attributes
    ----------------
    kept : str
        What it keeps, ``counts`` or ``sums``, for errors.
    unit : str
        What ``users`` counts, for its ``repr``.
    nothing : str
        What to give where there is nothing to estimate from.
    operation : str
        The operation of the mechanism that reads what it counts.
    """

    kept: ClassVar[str] = "counts"
    unit: ClassVar[str] = "reports"
    merged: ClassVar[str] = "counts of one"
    nothing: ClassVar[str] = "give at least one report"
    operation: ClassVar[str] = "estimate"
    users: Any
    """Number of users who reported: an attribute, or a property."""

    question: str = ""
    """The column that was asked for, as far as it is known; it stands in tables of the estimates."""

    def __init__(self, mechanism: MechanismT) -> None:
        self.mechanism = mechanism

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.users} {self.unit} of {self.mechanism!r})"

    def update(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible.

        Parameters
        ----------
        reports : array, data frame or series
            What ``randomize`` gave. Columns of a data frame are found by their names; those that carry the
            mark of another mechanism are refused. The partitions of a Dask data frame are counted where
            they are, and only counts come here.
        """
        from mechdesign.collect.collecting import Settings

        if is_partitioned(reports):
            document, question = merge_partitions(reports, _count_part, _merge_parts, self.mechanism)
            self.take(SavedCounts("data frame", document, question), Settings())
            return
        if not is_table(reports):
            require_no_mask(reports, "reports")
            return self._count(reports)
        source = FrameTable(reports, report_rule(self.mechanism))
        self.count_table(source, Settings({"unmarked": source.is_series}))

    @abstractmethod
    def _count(self, reports: Any) -> None:
        """Count an array of reports; nothing is counted when one of them is impossible."""

    def count_table(self, source: Source, settings: Settings) -> None:
        """Count the reports of a table, block by block."""
        from mechdesign.collect.collecting import collect, report_column, unmarked

        column = report_column(source, settings, self.mechanism)
        collect([source], lambda _: [column], self._count)
        self.question = unmarked(column)

    def receive(self, source: Source, settings: Settings) -> None:
        """Count a message: the rows of one whole report of one user; the server is empty."""
        self.count_table(source, settings)
        if self.users != 1:
            raise DataError(source.name, f"holds the reports of {self.users} users", "send one report")

    def take(self, source: Source, settings: Settings) -> None:
        """Count the reports of a table, or add the counts of a file."""
        if not isinstance(source, SavedCounts):
            self.count_table(source, settings)
            return
        try:
            self.merge(type(self).from_json(self.mechanism, source.document))
        except MechDesignError as error:
            raise error.within(source.name) from None
        self.question = source.question

    def _asked(self, estimate: EstimatedT) -> EstimatedT:
        """Return an estimate with the question that it answers, where that is known."""
        from dataclasses import replace  # not where a mechanism is only built

        columns = self.mechanism.data_columns
        question = columns[0] if len(columns) == 1 else self.question
        return replace(estimate, question=question) if question else estimate

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Add what another server of the same mechanism has counted."""

    @abstractmethod
    def _written(self) -> dict[str, Any]:
        """Return the counters as plain values."""

    @abstractmethod
    def _read(self, document: Mapping[str, Any]) -> None:
        """Take what :meth:`_written` gave, checked; the server is empty."""

    def merge(self, other: Self) -> None:
        """Add what another machine has counted; both must belong to the same mechanism and survey."""
        theirs = other.mechanism
        if theirs.survey_digest != self.mechanism.survey_digest:
            owner = other_owner(self.mechanism, owner_entries(theirs).get("survey"), theirs.fingerprint)
            raise DataError("aggregator", f"the other one belongs to {owner}", f"merge {self.merged} only")
        self._merge(other)

    def require_some(self) -> None:
        """Raise DataError when nothing was counted."""
        if self.users == 0:
            raise DataError("reports", "there are none", self.nothing)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values, with the digest of mechanism and survey."""
        return {**owner_entries(self.mechanism), **self._written()}

    @classmethod
    def from_json(cls, mechanism: MechanismT, document: Mapping[str, Any]) -> Self:
        """Restore what :meth:`as_json` gave, for the same mechanism."""
        require_own(document, mechanism, cls.kept)
        server = cls(mechanism)
        server._read(document)
        return server


def new_server(mechanism: Any) -> Any:
    """Return an empty server of a mechanism that collects, or the analyzer's counter of a protocol.

    Raises
    ------
    DataError
        For a mechanism without one.
    """
    make = getattr(mechanism, "aggregator", None) or getattr(mechanism, "counter", None)
    if make is None:
        raise DataError("mechanism", f"a {mechanism.type} has no server that counts", "use its operations")
    return make()


Part = tuple[dict[str, Any], str]
"""What comes of a partition: what its server wrote, and the column that was asked for."""


def _count_part(mechanism: Any, part: Any) -> Part:
    """Count the reports of a partition, on a worker."""
    server = new_server(mechanism)
    if len(part):
        server.update(part)
    return server.as_json(), server.question


def _merge_parts(mechanism: Any, *parts: Part) -> Part:
    """Merge the counts of partitions, on a worker."""
    from mechdesign.collect.collecting import Settings

    server = new_server(mechanism)
    for document, _ in parts:
        server.take(SavedCounts("data frame", document), Settings())
    return server.as_json(), next((question for _, question in parts if question), "")


Given = ParamSpec("Given")
Made = TypeVar("Made")

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What wrong types, missing keys and matrices that cannot be inverted raise."""


def damage_refused(read: Callable[Given, Made]) -> Callable[Given, Made]:
    """Return a reader of a content whose errors are all of this package.

    Examples
    --------
    >>> read = damage_refused(lambda content: 1 / content["parts"])
    >>> read({"parts": 0})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.CertificateError: content: is damaged (division by zero); rebuild it
    """

    @wraps(read)
    def checked(*value: Given.args, **named: Given.kwargs) -> Made:
        try:
            with np.errstate(all="ignore"):  # what overflows fails the checks of the content
                return read(*value, **named)
        except MechDesignError:
            raise
        except DAMAGE as error:
            reason = repr(error) if isinstance(error, LookupError) else str(error)
            raise CertificateError("content", f"is damaged ({reason})", "rebuild it") from None

    return checked
