"""What servers share: they belong to one mechanism, merge in any order, and are saved as its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from mechdesign.core.errors import DataError
from mechdesign.mechanisms.counts import require_own


class Counted(Protocol):
    """A mechanism, as far as its server needs it."""

    @property
    def fingerprint(self) -> str:
        """The digest of its content."""


CountedT = TypeVar("CountedT", bound=Counted)


class Server(ABC, Generic[CountedT]):
    """What a server keeps of the reports of a mechanism; no report can be read from it.

    A subclass counts (``update``), estimates, and says how counts are added, written and read.

    Class attributes
    ----------------
    kept : str
        What it keeps, ``counts`` or ``sums``, for errors.
    unit : str
        What ``users`` counts, for its ``repr``.
    nothing : str
        What to give where there is nothing to estimate from.
    """

    kept: ClassVar[str] = "counts"
    unit: ClassVar[str] = "reports"
    merged: ClassVar[str] = "counts of one"
    nothing: ClassVar[str] = "give at least one report"
    users: Any
    """How many users reported: an attribute, or a property."""

    def __init__(self, mechanism: CountedT) -> None:
        self.mechanism = mechanism

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.users} {self.unit} of {self.mechanism!r})"

    @abstractmethod
    def update(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Add what another server of the same mechanism has counted."""

    @abstractmethod
    def _written(self) -> dict[str, Any]:
        """Return what is kept as plain values."""

    @abstractmethod
    def _read(self, document: Mapping[str, Any]) -> None:
        """Take what :meth:`_written` gave, checked; the server is empty."""

    def merge(self, other: Self) -> None:
        """Add what another machine has counted; both must belong to the same mechanism."""
        if other.mechanism.fingerprint != self.mechanism.fingerprint:
            raise DataError(
                "aggregator", "the other one belongs to a different mechanism", f"merge {self.merged} only"
            )
        self._merge(other)

    def require_some(self) -> None:
        """Raise DataError when nothing was counted."""
        if self.users == 0:
            raise DataError("reports", "there are none", self.nothing)

    def as_json(self) -> dict[str, Any]:
        """Return what is kept as plain values, with the mechanism's fingerprint."""
        return {"mechanism": self.mechanism.fingerprint, **self._written()}

    @classmethod
    def from_json(cls, mechanism: CountedT, document: Mapping[str, Any]) -> Self:
        """Restore what :meth:`as_json` gave, for the same mechanism."""
        require_own(document, mechanism.fingerprint, cls.kept)
        server = cls(mechanism)
        server._read(document)
        return server
