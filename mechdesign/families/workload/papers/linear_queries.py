"""What the sources state of ``linear-queries``: bounds, the worst type, and other private reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.simple_reports import (
    best_subset,
    tree_matrix,
    tree_shares,
    wavelet_levels,
    why_not_halves,
)


def quantities(problem: LinearQueries, solution: Solution[Any]) -> dict[str, Any]:
    """Return further numbers that claims may name.

    ``bound`` is proven for every unbiased protocol; ``left`` the part by which the value exceeds it;
    ``worst`` the error of the worst type and ``worst_over_average`` its ratio to the value; ``subset`` the
    error of subset selection with its best size and ``users_saved`` 1 less the value over it; ``trace`` the
    trace bound. For cumulative shares and ranges of 2^h types ``tree`` is the error of a binary tree with the
    best probabilities of its levels. ``value_over_bound``, ``tree_over_bound`` and
    ``subset_over_bound`` are these errors as parts of the bound.
    """
    mechanism = solution.mechanism()
    numbers: dict[str, Any] = {
        "worst": mechanism.worst_error,
        "worst_over_average": mechanism.worst_error / solution.value,
        "reports": mechanism.weights.reports,
    }
    if solution.bound is not None:
        left = solution.value / solution.bound - 1.0 if solution.bound else math.inf
        numbers |= {"bound": solution.bound, "left": left}
    if isinstance(problem.population, str) and problem.population == "uniform":
        subset = best_subset(problem)[1]
        numbers |= {
            "subset": subset,
            "users_saved": 1.0 - solution.value / subset,
            "trace": trace_bound(problem.centered, problem.epsilon),
        }
        if why_not_halves(problem) is None:
            numbers["tree"] = tree_error(problem)
    if solution.bound:
        numbers["value_over_bound"] = solution.value / solution.bound
        for name in ("tree", "subset"):
            if name in numbers:
                numbers[f"{name}_over_bound"] = numbers[name] / solution.bound
    return numbers


def tree_error(problem: LinearQueries) -> float:
    """Return the average error of a binary tree with the best probabilities of its levels.

    Examples
    --------
    >>> round(tree_error(LinearQueries(workload={"name": "prefix", "size": 64}, epsilon=1.0)), 3)
    785.549
    """
    centered = problem.queries.centered(np.full(problem.queries.size, 1.0 / problem.queries.size))
    moments = tree_shares(centered, problem.epsilon) @ tree_matrix(len(centered), problem.epsilon)
    parts = wavelet_levels(centered)
    return float((parts / moments).sum() - parts.sum() / len(centered))


def trace_bound(centered: Array, epsilon: float) -> float:
    """Return the bound from the mean variance of a report's likelihood ratios, for equal shares.

    The trace of M over the types is at most 1 + max over k of r (1 - r)(E - 1)^2/(1 + (E - 1) r)^2, r = k/n.
    """
    size, power = len(centered), math.exp(epsilon)
    share = np.arange(1, size) / size
    most = float((share * (1 - share) * (power - 1) ** 2 / (1 + (power - 1) * share) ** 2).max())
    levels = np.maximum(np.linalg.eigvalsh(centered), 0.0)
    return max(0.0, float(np.sqrt(levels).sum()) ** 2 / (size * most) - float(levels.sum()) / size)
