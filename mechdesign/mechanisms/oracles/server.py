"""The server of a frequency oracle: counters of support, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.numbers import plain, shown
from mechdesign.mechanisms.counts import require_users, whole_rows
from mechdesign.mechanisms.frequencies import FrequencyEstimate
from mechdesign.mechanisms.server import Server

if TYPE_CHECKING:
    from mechdesign.mechanisms.oracles.base import SupportOracle

Codes = NDArray[np.int64]


class SupportCounts(Server["SupportOracle"]):
    """Counters of support: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.mechanisms.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(4, 1.0, size=2)
    >>> here, there = oracle.aggregator(), oracle.aggregator()
    >>> here.update(oracle.randomize([0, 1, 1], rng=1)); there.update(oracle.randomize([3], rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts.sum())
    (4, 8)
    """

    def __init__(self, mechanism: SupportOracle) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(mechanism.counters, dtype=np.int64)

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        read = self.mechanism.read(reports)
        require_users(self.users + len(read))
        self.counts = self.counts + self.mechanism.count(read)
        self.users += len(read)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts
        self.users += other.users

    def estimate(self, population: bool = False) -> FrequencyEstimate:
        """Return the estimate from all counted reports."""
        self.require_some()
        return self._asked(self.mechanism.estimate_from_counts(self.counts, self.users, population))

    def _written(self) -> dict[str, Any]:
        return {
            "users": self.users,
            "counts": self.counts.tolist(),
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            raise DataError(
                "aggregator",
                f"{shown(document.get('users'))} is not a number of users",
                "count the reports again",
            )
        require_users(users)
        (counts,) = whole_rows([document.get("counts")], self.mechanism.counters, 1)
        if max(counts) > users:
            raise DataError(
                "aggregator", "the counts are damaged: more support than reports", "count the reports again"
            )
        self.mechanism.require_counts(counts, users)
        self.users, self.counts = users, np.array(counts, dtype=np.int64)
