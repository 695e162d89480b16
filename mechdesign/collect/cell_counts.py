"""Base of servers where one report may add to several counters; they also count the users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mechdesign.collect.counts import require_users, whole_rows
from mechdesign.collect.labels import Codes
from mechdesign.collect.server import MechanismT, Server
from mechdesign.core.errors import DataError
from mechdesign.exact.numbers import plain, shown


class CellCounts(Server[MechanismT]):
    """One counter per cell that reports can name, and the number of users; a subclass estimates."""

    def __init__(self, mechanism: MechanismT, counters: int) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(counters, dtype=np.int64)

    @abstractmethod
    def _added(self, reports: Any) -> tuple[Codes, int]:
        """Return the increments of the counters and the number of reports; refuse impossible reports."""

    @abstractmethod
    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError if this many reports cannot produce the counters."""

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        self._add(*self._added(reports))

    def _add(self, counts: Codes, users: int) -> None:
        require_users(self.users + users)
        self.counts = self.counts + counts
        self.users += users

    def _merge(self, other: Self) -> None:
        self._add(other.counts, other.users)

    def _written(self) -> dict[str, Any]:
        return {"users": self.users, "counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            given = shown(document.get("users"))
            raise DataError("aggregator", f"{given} is not a number of users", "count the reports again")
        require_users(users)
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        self._require_counts(counts, users)
        self.users, self.counts = users, np.array(counts, dtype=np.int64)
