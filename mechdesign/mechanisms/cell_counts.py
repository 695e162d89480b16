"""What servers share whose counters a report may add to several of: they count the users as well."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.core.numbers import plain, shown
from mechdesign.mechanisms.counts import require_users, whole_rows
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.server import MechanismT, Server


class CellCounts(Server[MechanismT]):
    """Counters of the cells that reports name, and how many users reported; a subclass estimates."""

    def __init__(self, mechanism: MechanismT, counters: int) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(counters, dtype=np.int64)

    @abstractmethod
    def _added(self, reports: Any) -> tuple[Codes, int]:
        """Return what reports add to the counters, and how many there are; refuse impossible ones."""

    @abstractmethod
    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError for counters that so many reports cannot have left."""

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
