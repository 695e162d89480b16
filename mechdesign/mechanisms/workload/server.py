"""The server of a workload: counts of reports, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mechdesign.mechanisms.counts import require_users, whole_rows
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.server import Server
from mechdesign.mechanisms.workload.estimate import QueryEstimate

if TYPE_CHECKING:
    from mechdesign.mechanisms.workload.release import WorkloadRelease


class QueryCounts(Server["WorkloadRelease"]):
    """Counts of the reports: add reports, merge with others, estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.LinearQueries(workload={"name": "likert", "size": 3}, epsilon=2.0)
    >>> mechanism = md.solve(problem).mechanism()
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([0, 1, 2], rng=1)); there.update(mechanism.randomize([1], rng=2))
    >>> here.merge(there)
    >>> here.users
    4
    """

    def __init__(self, mechanism: WorkloadRelease) -> None:
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

    def estimate(self, population: bool = False) -> QueryEstimate:
        """Return the estimates from all counted reports."""
        self.require_some()
        return self._asked(self.mechanism.estimate_from_counts(self.counts, population))

    def _written(self) -> dict[str, Any]:
        return {"counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        require_users(sum(counts))
        self.counts = np.array(counts, dtype=np.int64)
