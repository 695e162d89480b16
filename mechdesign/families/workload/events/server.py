"""The server of event counts, which writes only the reports that were made: most never are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechdesign.collect.counts import require_users, whole_rows
from mechdesign.collect.report_counts import Aggregator
from mechdesign.core.errors import DataError
from mechdesign.families.workload.events.estimate import EventEstimate


class EventTally(Aggregator[EventEstimate]):
    """Counts of the reports: add reports, merge with others, estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.EventCounts(slots=3, most=1, prior=[0.5, 0.5], epsilon=2.0)
    >>> mechanism = md.solve(problem).mechanism()
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize(["none", "2"], rng=1))
    >>> there.update(mechanism.randomize(["1"], rng=2))
    >>> here.merge(there)
    >>> here.users
    3
    """

    def _written(self) -> dict[str, Any]:
        made = np.flatnonzero(self.counts)
        return {"made": made.tolist(), "counts": self.counts[made].tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        made, counts = document["made"], document["counts"]
        (places,) = whole_rows([made], len(made), 1)
        (numbers,) = whole_rows([counts], len(made), 1)
        require_users(sum(numbers))
        if len(set(places)) < len(places):
            raise DataError("made", "names a report twice", "count the reports again")
        found = np.zeros(len(self.counts), dtype=np.int64)
        found[self.mechanism.read(np.array(places, dtype=np.int64))] = np.array(numbers, dtype=np.int64)
        self.counts = found
