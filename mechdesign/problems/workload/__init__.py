"""Workloads of linear queries under local privacy: cumulative distributions, ranges, marginals, means."""

from mechdesign.problems.workload.event_counts.problem import EventCounts
from mechdesign.problems.workload.linear_queries.problem import LinearQueries

PROBLEMS = (LinearQueries, EventCounts)

__all__ = ["PROBLEMS", "EventCounts", "LinearQueries"]
