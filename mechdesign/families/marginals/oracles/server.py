"""The server of a frequency oracle: counters of support, mergeable in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.cell_counts import CellCounts
from mechdesign.collect.frequency_estimate import FrequencyEstimate
from mechdesign.core.errors import DataError

if TYPE_CHECKING:
    from mechdesign.families.marginals.oracles.base import SupportOracle

Codes = NDArray[np.int64]


class SupportCounts(CellCounts["SupportOracle"]):
    """Counters of support: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(4, 1.0, size=2)
    >>> here, there = oracle.aggregator(), oracle.aggregator()
    >>> here.update(oracle.randomize([0, 1, 1], rng=1)); there.update(oracle.randomize([3], rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts.sum())
    (4, 8)
    """

    def __init__(self, mechanism: SupportOracle) -> None:
        super().__init__(mechanism, mechanism.counters)

    def _added(self, reports: Any) -> tuple[Codes, int]:
        read = self.mechanism.read(reports)
        return self.mechanism.count(read), len(read)

    def estimate(self, population: bool = False) -> FrequencyEstimate:
        """Return the estimate from all counted reports."""
        self.require_some()
        return self._asked(self.mechanism.estimate_from_counts(self.counts, self.users, population))

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        if max(counts) > users:
            raise DataError(
                "aggregator", "the counts are damaged: more support than reports", "count the reports again"
            )
        self.mechanism._require_counts(counts, users)
