"""A server that keeps one counter per possible report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.mechanisms.counts import require_users, whole_rows
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.server import Counted, Server


class Reporting(Counted, Protocol):
    """A mechanism with finitely many reports."""

    @property
    def counters(self) -> int:
        """Number of possible reports."""

    def read(self, reports: Any) -> NDArray[np.int64]:
        """Return reports as numbers; refuse impossible ones."""


ReportingT = TypeVar("ReportingT", bound=Reporting)


class ReportCounts(Server[ReportingT]):
    """Counts of reports, one counter each; a subclass estimates."""

    def __init__(self, mechanism: ReportingT) -> None:
        super().__init__(mechanism)
        self.counts: Codes = np.zeros(mechanism.counters, dtype=np.int64)

    @property
    def users(self) -> int:
        """Number of reports that were counted."""
        return int(self.counts.sum())

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        read = self.mechanism.read(reports)
        self.counts = self.counts + np.bincount(read, minlength=len(self.counts)).astype(np.int64)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts

    @abstractmethod
    def estimate(self, population: bool = False) -> Any:
        """Return the estimates from all counted reports."""

    def _written(self) -> dict[str, Any]:
        return {"counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        require_users(sum(counts))
        self.counts = np.array(counts, dtype=np.int64)
