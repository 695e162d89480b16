"""A solved workload next to its bound, its worst type, and other private reports for the same queries."""

from __future__ import annotations

from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.workload.linear_queries.partitions import why_not_haar
from mechdesign.problems.workload.linear_queries.problem import LinearQueries
from mechdesign.problems.workload.linear_queries.rivals import best_subset, trace_bound, tree_error


def quantities(problem: LinearQueries, solution: Candidate) -> dict[str, Any]:
    """Return further numbers that claims may name.

    ``bound`` is proven for every unbiased protocol; ``left`` the part by which the value exceeds it;
    ``worst`` the error of the worst type and ``worst_over_average`` its ratio to the value; ``subset`` the
    error of subset selection with its best size and ``users_saved`` 1 less the value over it; ``trace`` the
    trace bound. For cumulative shares and ranges of 2^h types ``tree`` is the error of a binary tree with the
    best probabilities of its levels. ``value_over_bound``, ``tree_over_bound`` and
    ``subset_over_bound`` are these errors as parts of the bound.
    """
    mechanism = solution.mechanism()
    found: dict[str, Any] = {
        "worst": mechanism.worst_error,
        "worst_over_average": mechanism.worst_error / solution.value,
        "reports": mechanism.weights.reports,
    }
    if solution.bound is not None:
        found |= {"bound": solution.bound, "left": solution.value / solution.bound - 1.0}
    if isinstance(problem.population, str) and problem.population == "uniform":
        subset = best_subset(problem)[1]
        found |= {
            "subset": subset,
            "users_saved": 1.0 - solution.value / subset,
            "trace": trace_bound(problem.centered, problem.epsilon),
        }
        if why_not_haar(problem) is None:
            found["tree"] = tree_error(problem)
    if solution.bound:
        found["value_over_bound"] = solution.value / solution.bound
        for name in ("tree", "subset"):
            if name in found:
                found[f"{name}_over_bound"] = found[name] / solution.bound
    return found
