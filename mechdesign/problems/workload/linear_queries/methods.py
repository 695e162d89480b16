"""The methods of ``linear-queries``, in the order in which they are tried."""

from mechdesign.core.method import Method
from mechdesign.problems.workload.linear_queries import (
    all_columns,
    columns,
    conic,
    few,
    sampled,
    subset,
    symmetric,
    worst,
)
from mechdesign.problems.workload.linear_queries.problem import LinearQueries

METHODS = (
    Method(
        name="closed-form",
        problem=LinearQueries,
        kind="analytic",
        summary="subset selection, which is optimal for a histogram",
        run=subset.run,
        why_not=subset.why_not_closed,
    ),
    Method(
        name="symmetric",
        problem=LinearQueries,
        kind="numeric",
        summary="base sets with all their translates, for a cycle or a cube of types",
        run=symmetric.run,
        why_not=symmetric.why_not,
    ),
    Method(
        name="all-columns",
        problem=LinearQueries,
        kind="numeric",
        summary="the best weights of all patterns, by an interior-point method",
        run=all_columns.run,
        why_not=all_columns.why_not,
    ),
    Method(
        name="columns",
        problem=LinearQueries,
        kind="numeric",
        summary="column generation: exact up to 20 types, to a proven gap beyond",
        run=columns.run,
        why_not=columns.why_not,
    ),
    Method(
        name="estimates",
        problem=LinearQueries,
        kind="numeric",
        summary="for one or two queries of many types: linear programs over estimates, exact pricing",
        run=few.run,
        why_not=few.why_not,
    ),
    Method(
        name="cvxpy",
        problem=LinearQueries,
        kind="numeric",
        summary="one conic program over all patterns, an independent check",
        run=conic.run,
        why_not=conic.why_not,
    ),
    Method(
        name="populations",
        problem=LinearQueries,
        kind="numeric",
        summary="for the worst type: the population whose best average error is largest",
        run=worst.run,
        why_not=worst.why_not,
    ),
    Method(
        name="field",
        problem=LinearQueries,
        kind="heuristic",
        summary="for 129 to 512 types: patterns of a Gaussian field, weighed nearly alike",
        run=sampled.run,
        why_not=sampled.why_not,
    ),
    Method(
        name="subset",
        problem=LinearQueries,
        kind="heuristic",
        summary="subset selection with its best size, made for the shares of the types",
        run=subset.run,
        why_not=subset.why_not,
    ),
)
