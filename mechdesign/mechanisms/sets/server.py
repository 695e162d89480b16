"""The server of reported sets: how many hold each cell of the counted tables, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.core.numbers import plain, shown
from mechdesign.mechanisms.counts import require_users, whole_rows
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.server import Server
from mechdesign.mechanisms.sets.estimates import SetEstimate

if TYPE_CHECKING:
    from mechdesign.mechanisms.sets.response import SetResponse


class SetCounts(Server["SetResponse"]):
    """Counters of reported sets: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.mechanisms.sets import ProductSet, SetResponse
    >>> mechanism = SetResponse.of([2, 3], 2.0, ProductSet([1, 1]))
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2]] * 30, rng=1))
    >>> there.update(mechanism.randomize([[1, 0]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts[:2].sum())
    (50, 50)
    """

    def __init__(self, mechanism: SetResponse) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(mechanism.layout.counters, dtype=np.int64)

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        read = self.mechanism.read(reports)
        require_users(self.users + len(read))
        self.counts = self.counts + self.mechanism.layout.count(read)
        self.users += len(read)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts
        self.users += other.users

    def estimate(self, population: bool = False) -> SetEstimate:
        """Return the estimates from all counted reports."""
        self.require_some()
        return SetEstimate(self.mechanism, self.counts, self.users, population)

    def _written(self) -> dict[str, Any]:
        return {"users": self.users, "counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            given = shown(document.get("users"))
            raise DataError("aggregator", f"{given} is not a number of users", "count the reports again")
        require_users(users)
        layout = self.mechanism.layout
        (counts,) = whole_rows([document.get("counts")], layout.counters, 1)
        damaged = max(counts) > users or any(
            sum(counts[layout.places[part]]) != users * layout.held(part) for part in layout.parts
        )
        if damaged:
            raise DataError(
                "aggregator", "the counts are damaged: no reports can sum to them", "count the reports again"
            )
        self.users, self.counts = users, np.array(counts, dtype=np.int64)
