"""The worst of many types: the report for the average of all types, or a simple one, whichever is better.

The worst type has at least the average error, so the bound of the average is one for the worst type. How
evenly the report treats the types is not optimized.
"""

from __future__ import annotations

from collections.abc import Callable

from mechdesign.core.method import Outcome
from mechdesign.core.values import changed
from mechdesign.families.workload.audit.workload_bound import MOST_ENUMERATED
from mechdesign.families.workload.linear_queries.columns import column_generation, why_not_columns
from mechdesign.families.workload.linear_queries.few import few_queries, why_not_few_queries
from mechdesign.families.workload.linear_queries.mixture import best_mixture, why_not_mixture
from mechdesign.families.workload.linear_queries.outcomes import infeasible
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.simple import or_simple
from mechdesign.families.workload.linear_queries.symmetric import symmetric_reports, why_not_symmetric

DESIGNS: dict[str, tuple[Callable[[LinearQueries], Outcome], Callable[[LinearQueries], str | None]]] = {
    "symmetric": (symmetric_reports, why_not_symmetric),
    "columns": (column_generation, why_not_columns),
    "estimates": (few_queries, why_not_few_queries),
    "mixture": (best_mixture, why_not_mixture),
}


def equal_shares(problem: LinearQueries) -> Outcome:
    """Return the report for equal shares of all types, or a simple report whose worst type is better."""
    if problem.epsilon == 0.0:
        return infeasible("equal shares")
    averaged = _averaged(problem)
    name = _design(problem)
    assert name is not None, "one applies"
    found = DESIGNS[name][0](averaged)
    value = problem.objective(found.variables)
    proven = found.bound is not None and value - found.bound <= problem.optimal_within * value
    worst = changed(
        found,
        status="optimal" if proven else "feasible",
        notes={**found.notes, "design": name},
        prices=None,
    )
    return or_simple(problem, worst)


def _averaged(problem: LinearQueries) -> LinearQueries:
    """Return the problem of the average error at equal shares."""
    return LinearQueries(workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights)


def _design(problem: LinearQueries) -> str | None:
    """Return the name of the first method that applies to equal shares."""
    averaged = _averaged(problem)
    return next((name for name, (_, why) in DESIGNS.items() if why(averaged) is None), None)


def why_not_equal_shares(problem: LinearQueries) -> str | None:
    """Return why the average is not designed for, or None."""
    if not problem.is_worst:
        return "it is for the worst type; the problem is about an average"
    if problem.queries.size <= MOST_ENUMERATED:
        return f"up to {MOST_ENUMERATED} types there is a search; use populations"
    if _design(problem) is None:
        return f"{problem.queries.size} types are too many for what designs for equal shares"
    return None
