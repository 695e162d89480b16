"""The server of reported sets: how many hold each cell of the counted tables, mergeable in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mechdesign.collect.cell_counts import CellCounts
from mechdesign.collect.labels import Codes
from mechdesign.core.errors import DataError
from mechdesign.families.marginals.sets.estimates import SetEstimate

if TYPE_CHECKING:
    from mechdesign.families.marginals.sets.response import SetResponse


class SetCounts(CellCounts["SetResponse"]):
    """Counters of reported sets: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals.sets import ProductSet, SetResponse
    >>> mechanism = SetResponse.of([2, 3], 2.0, ProductSet([1, 1]))
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2]] * 30, rng=1))
    >>> there.update(mechanism.randomize([[1, 0]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts[:2].sum())
    (50, 50)
    """

    def __init__(self, mechanism: SetResponse) -> None:
        super().__init__(mechanism, mechanism.layout.counters)

    def _added(self, reports: Any) -> tuple[Codes, int]:
        read = self.mechanism.read(reports)
        return self.mechanism.layout.count(read), len(read)

    def estimate(self, population: bool = False) -> SetEstimate:
        """Return the estimates from all counted reports."""
        self.require_some()
        return SetEstimate(self.mechanism, self.counts, self.users, population)

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        layout = self.mechanism.layout
        damaged = max(counts) > users or any(
            sum(counts[layout.places[part]]) != users * layout.held(part) for part in layout.parts
        )
        if damaged:
            raise DataError(
                "aggregator", "the counts are damaged: no reports can sum to them", "count the reports again"
            )
