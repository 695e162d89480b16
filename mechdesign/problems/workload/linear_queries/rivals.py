"""Other private reports for the same queries, each with its best unbiased linear estimate, for comparison."""

from __future__ import annotations

import itertools
import math

import numpy as np

from mechdesign.mechanisms.workload.value import Array, Sets
from mechdesign.problems.workload.linear_queries.problem import LinearQueries

MOST_SETS = 20_000


def subset_error(problem: LinearQueries, size: int) -> float:
    """Return the average error of subset selection with sets of ``size`` types.

    By symmetry M = 11' + m (I - 11'/n), so that the error follows from the trace of the centered Gram matrix
    and no set is written down. For equal shares.
    """
    types, power = problem.queries.size, math.exp(problem.epsilon)
    share = size / types
    spread = share * (1.0 - share) * (power - 1.0) ** 2 / (1.0 + (power - 1.0) * share) ** 2
    level = spread * types / (types - 1.0)
    trace = float(np.trace(problem.queries.centered(np.full(types, 1.0 / types))))
    return trace * types / level / types - trace / types if level else math.inf


def best_subset(problem: LinearQueries) -> tuple[int, float]:
    """Return the best size of subset selection and its error.

    Examples
    --------
    >>> size, error = best_subset(LinearQueries(workload={"name": "histogram", "size": 64}, epsilon=1.0))
    >>> size, round(error, 6)
    (17, 227.416592)
    """
    errors = {size: subset_error(problem, size) for size in range(1, problem.queries.size)}
    best = min(errors, key=lambda size: errors[size])
    return best, errors[best]


def subsets(types: int, size: int) -> Sets:
    """Return all sets of ``size`` types.

    Examples
    --------
    >>> subsets(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    found = np.zeros((math.comb(types, size), types), dtype=bool)
    for row, chosen in enumerate(itertools.combinations(range(types), size)):
        found[row, list(chosen)] = True
    return found


def subset_amount(types: int, size: int, power: float) -> float:
    """Return the probability of one set of ``size`` types for a type outside of it."""
    inside = math.comb(types - 1, size - 1)
    return 1.0 / (inside * power + math.comb(types - 1, size))


def trace_bound(centered: Array, epsilon: float) -> float:
    """Return the bound from the mean variance of a report's likelihood ratios, for equal shares.

    The trace of M over the types is at most 1 + max over k of r (1 - r)(E - 1)^2/(1 + (E - 1) r)^2, r = k/n.
    """
    size, power = len(centered), math.exp(epsilon)
    share = np.arange(1, size) / size
    most = float((share * (1 - share) * (power - 1) ** 2 / (1 + (power - 1) * share) ** 2).max())
    levels = np.maximum(np.linalg.eigvalsh(centered), 0.0)
    return float(np.sqrt(levels).sum()) ** 2 / (size * most) - float(levels.sum()) / size
