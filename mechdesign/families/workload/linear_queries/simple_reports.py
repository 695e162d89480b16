"""Other private reports for the same queries, each with its best unbiased linear estimate, for comparison."""

from __future__ import annotations

import itertools
import math

import numpy as np

from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.value import Array, Sets
from mechdesign.solvers.interior import Weighing, minimised

MOST_SETS = 20_000


def best_subset_size(types: int, power: float) -> int:
    """Return the size of subset selection with the least error for the shares of the types.

    Examples
    --------
    >>> best_subset_size(64, np.e)
    17
    """
    return max(range(1, types), key=lambda size: spread_of(types, size, power))


def spread_of(types: int, size: float, power: float) -> float:
    """Return the mean square by which the likelihood ratios of sets of ``size`` types differ from 1."""
    share = size / types
    return share * (1.0 - share) * (power - 1.0) ** 2 / (1.0 + (power - 1.0) * share) ** 2


def tree_matrix(types: int, epsilon: float) -> Array:
    """Return the eigenvalues of M on Haar wavelets for each level of a tree alone, shape (h, h).

    Row l - 1 is subset selection of the 2^l nodes of level l; it tells wavelets of the levels 0 .. l - 1.
    """
    levels, power = types.bit_length() - 1, math.exp(epsilon)
    found = np.zeros((levels, levels))
    for level in range(1, levels + 1):
        nodes = 1 << level
        spread = spread_of(nodes, best_subset_size(nodes, power), power) * nodes / (nodes - 1.0)
        found[level - 1, :level] = spread * types / nodes
    return found


def tree_shares(centered: Array, epsilon: float) -> Array:
    """Return the probabilities of the levels of a binary tree with the least error, for equal shares."""
    seen = tree_matrix(len(centered), epsilon)
    weighing = Weighing(seen, wavelet_levels(centered))
    weights = minimised(weighing, len(seen), 1e-12).weights
    found: Array = weights / weights.sum()
    return found


def wavelet_levels(centered: Array) -> Array:
    """Return the part of the trace of a Gram matrix of 2^h types in each level of Haar wavelets, (h,).

    Examples
    --------
    >>> wavelet_levels(np.eye(4) - 0.25).tolist()
    [1.0, 2.0]
    """
    size = len(centered)
    sums = []
    for level in range(size.bit_length()):
        width = size >> level
        blocks = centered.reshape(size // width, width, size // width, width).sum(axis=(1, 3))
        sums.append(float(np.trace(blocks)) / width)
    found: Array = np.diff(np.array(sums))
    return found


def subset_error(problem: LinearQueries, size: int) -> float:
    """Return the average error of subset selection with sets of ``size`` types.

    By symmetry M = 11' + m (I - 11'/n), so that the error follows from the trace of the centered Gram matrix
    and no set is written down. For equal shares.
    """
    types, power = problem.queries.size, math.exp(problem.epsilon)
    level = spread_of(types, size, power) * types / (types - 1.0)
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


def all_subsets(types: int, size: int) -> Sets:
    """Return all sets of ``size`` types.

    Examples
    --------
    >>> all_subsets(3, 2).astype(int).tolist()
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
