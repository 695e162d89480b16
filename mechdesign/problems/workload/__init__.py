"""Workloads of linear queries under local privacy: cumulative distributions, ranges, marginals, means."""

from mechdesign.problems.workload.linear_queries.problem import LinearQueries

PROBLEMS = (LinearQueries,)

__all__ = ["PROBLEMS", "LinearQueries"]
