"""What servers share: they belong to one mechanism, merge in any order, and are saved as its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from mechdesign.collect.about import other_owner, owner_entries
from mechdesign.collect.counts import require_own
from mechdesign.collect.door import in_python
from mechdesign.collect.report_gaps import report_rule
from mechdesign.collect.saved_counts import SavedCounts
from mechdesign.core.columns import require_no_mask
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.core.partitions import is_partitioned, merge_partitions
from mechdesign.core.tables import Source
from mechdesign.data.frames import FrameTable, is_table

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.estimate import Estimated
    from mechdesign.collect.operations import Settings

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
        from mechdesign.collect.operations import Settings, operation_of

        if is_partitioned(reports):
            document, question = merge_partitions(reports, _count_part, _merge_parts, self.mechanism)
            self.take(SavedCounts("data frame", document, question), Settings())
            return
        if not is_table(reports):
            require_no_mask(reports, "reports")
            return self._count(reports)
        mechanism = self.mechanism
        with in_python(operation_of(mechanism.operations(), self.operation, mechanism.type)):
            source = FrameTable(reports, report_rule(mechanism))
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
    from mechdesign.collect.operations import Settings

    server = new_server(mechanism)
    for document, _ in parts:
        server.take(SavedCounts("data frame", document), Settings())
    return server.as_json(), next((question for _, question in parts if question), "")
