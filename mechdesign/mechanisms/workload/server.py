"""The server of a workload: counts of reports, mergeable in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechdesign.mechanisms.report_counts import ReportCounts
from mechdesign.mechanisms.workload.estimate import QueryEstimate

if TYPE_CHECKING:
    from mechdesign.mechanisms.workload.release import WorkloadRelease


class QueryCounts(ReportCounts["WorkloadRelease"]):
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

    mechanism: WorkloadRelease

    def estimate(self, population: bool = False) -> QueryEstimate:
        """Return the estimates from all counted reports."""
        self.require_some()
        return self._asked(self.mechanism.estimate_from_counts(self.counts, population))
