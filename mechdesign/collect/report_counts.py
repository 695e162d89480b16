"""Mechanisms with finitely many reports, and their server: one counter per possible report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Generic, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.categories import CategoryMechanism
from mechdesign.collect.counts import require_users, whole_rows
from mechdesign.collect.labels import Codes
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError
from mechdesign.core.tables import Coded
from mechdesign.core.types import EstimateT_co


class ReportMechanism(CategoryMechanism[EstimateT_co]):
    """A mechanism with finitely many reports, which have numbers from 0."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """Number of counters that the server keeps: one a report."""

    @abstractmethod
    def possible_reports(self) -> NDArray[np.bool_]:
        """Return the reports that are possible."""

    @abstractmethod
    def read(self, reports: Any) -> Codes:
        """Return the numbers of reports; refuse a report that no answer can produce."""

    @abstractmethod
    def estimate_from_counts(self, counts: Codes, population: bool = False) -> EstimateT_co:
        """Return the estimate from the number of times each report was made."""

    def aggregator(self) -> Aggregator[EstimateT_co]:
        """Return an empty counter of reports; counters of many servers can be merged."""
        return Aggregator(self)


class Aggregator(Server[ReportMechanism[Any]], Generic[EstimateT_co]):
    """Counts of reports: add reports, merge with others, estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update([0, 1, 1]); there.update([0])
    >>> here.merge(there); here.counts
    array([2, 2])
    """

    def __init__(self, mechanism: ReportMechanism[EstimateT_co]) -> None:
        super().__init__(mechanism)
        self.counts: Codes = np.zeros(mechanism.counters, dtype=np.int64)

    @property
    def users(self) -> int:
        """Number of reports that were counted."""
        return int(self.counts.sum())

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        if isinstance(reports, Coded):
            with suppress(DataError):  # said again below, with the row
                distinct = self.mechanism.read(reports.values)
                counts = self.counts.copy()
                np.add.at(counts, distinct, reports.rows_of_each())
                self.counts = counts
                return
        read = self.mechanism.read(reports)
        self.counts = self.counts + np.bincount(read, minlength=len(self.counts)).astype(np.int64)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts

    def estimate(self, population: bool = False) -> EstimateT_co:
        """Return the estimates from all counted reports."""
        self.require_some()
        found: EstimateT_co = self._asked(self.mechanism.estimate_from_counts(self.counts, population))
        return found

    def _written(self) -> dict[str, Any]:
        return {"counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        require_users(sum(counts))
        self.counts = np.array(counts, dtype=np.int64)
        if (self.counts > 0)[~self.mechanism.possible_reports()].any():
            raise DataError(
                "aggregator", "counts of reports that no answer can cause", "count the reports again"
            )
