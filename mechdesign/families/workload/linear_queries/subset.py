"""``linear-queries`` by subset selection: the best report for the shares of the types, used for the queries.

For a histogram it is optimal, and the trace bound proves that; so it is the closed form there.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.workload.linear_queries.outcomes import infeasible, outcome, trace_bound
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.simple_reports import (
    MOST_SETS,
    all_subsets,
    best_subset,
    subset_amount,
)


def is_histogram(problem: LinearQueries) -> bool:
    """Whether the queries weigh all types equally: any two shares have the same part in the error."""
    gram = problem.queries.centered(np.full(problem.queries.size, 1.0 / problem.queries.size))
    level = float(np.trace(gram)) / (len(gram) - 1)
    even = level * (np.eye(len(gram)) - 1.0 / len(gram))
    return bool(np.abs(gram - even).max() <= 1e-12 * level)


def subset_selection(problem: LinearQueries) -> Outcome:
    """Return subset selection with its best size; with the trace bound where it is the optimum."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    size, _ = best_subset(problem)
    sets = all_subsets(problem.queries.size, size)
    amounts = np.full(len(sets), subset_amount(problem.queries.size, size, math.exp(problem.epsilon)))
    bound = trace_bound(problem) if is_histogram(problem) else None
    best, notes = bound is not None, {"subset_size": size}
    return outcome(problem, sets, amounts, bound, "formula", best, notes, weighed=best)


def why_not_subset(problem: LinearQueries) -> str | None:
    """Return why the sets do not apply or are too many, or None."""
    types = problem.queries.size
    if problem.epsilon == 0.0:
        return None
    if not isinstance(problem.population, str):
        return "it treats all types equally; it is for equal shares"
    size, _ = best_subset(problem)
    if math.comb(types, size) > MOST_SETS:
        return f"there are {math.comb(types, size)} sets of {size} types; its error is the quantity 'subset'"
    return None


def why_not_closed_form(problem: LinearQueries) -> str | None:
    """Return why subset selection is not the optimum, or None."""
    return (
        why_not_subset(problem)
        if is_histogram(problem)
        else "its theorem is for a histogram with equal types"
    )
