"""The server of a frequency oracle: counters of support, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.numbers import plain, shown
from mechdesign.mechanisms.counts import require_own, require_users, whole_rows
from mechdesign.mechanisms.frequencies import FrequencyEstimate

if TYPE_CHECKING:
    from mechdesign.mechanisms.oracles.base import SupportOracle

Codes = NDArray[np.int64]


class SupportCounts:
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
        self.mechanism = mechanism
        self.users = 0
        self.counts: Codes = np.zeros(mechanism.counters, dtype=np.int64)

    def __repr__(self) -> str:
        return f"SupportCounts({self.users} reports of {self.mechanism!r})"

    def update(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        read = self.mechanism.read(reports)
        require_users(self.users + len(read))
        self.counts = self.counts + self.mechanism.count(read)
        self.users += len(read)

    def merge(self, other: SupportCounts) -> None:
        """Add the counts of another machine; both must belong to the same mechanism."""
        if other.mechanism.fingerprint != self.mechanism.fingerprint:
            raise DataError(
                "aggregator: the other one belongs to a different mechanism; merge counts of one only"
            )
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts
        self.users += other.users

    def estimate(self, population: bool = False) -> FrequencyEstimate:
        """Return the estimate from all counted reports."""
        if self.users == 0:
            raise DataError("reports: there are none; give at least one report")
        return self.mechanism.estimate_from_counts(self.counts, self.users, population)

    def as_json(self) -> dict[str, Any]:
        """Return users and counts as plain values, with the mechanism's fingerprint."""
        return {
            "mechanism": self.mechanism.fingerprint,
            "users": self.users,
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, mechanism: SupportOracle, document: Mapping[str, Any]) -> Self:
        """Restore counts that :meth:`as_json` gave, for the same mechanism."""
        require_own(document, mechanism.fingerprint)
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            raise DataError(
                f"aggregator: {shown(document.get('users'))} is no number of users; count the reports again"
            )
        require_users(users)
        counter = cls(mechanism)
        (counts,) = whole_rows([document.get("counts")], mechanism.counters, 1)
        if max(counts) > users:
            raise DataError(
                "aggregator: the counts are damaged: more support than reports; count the reports again"
            )
        mechanism.require_counts(counts, users)
        counter.users, counter.counts = users, np.array(counts, dtype=np.int64)
        return counter
