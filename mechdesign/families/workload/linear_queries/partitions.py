"""Reports about coarse answers, for comparison: trees, Haar wavelets, and sampling of marginals.

A user draws one of several partitions of the types and reports the own cell by subset selection of the best
size, or a level of Haar wavelets and one sign by randomized response. Every report is a pattern, so that the
value of such a mechanism is exact, with its best estimator.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.workload.linear_queries.designs import cell_sets
from mechdesign.families.workload.linear_queries.outcomes import infeasible, outcome
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.simple_reports import tree_shares, wavelet_levels
from mechdesign.families.workload.value import Array, Sets

Labels = NDArray[np.int64]


def tree_depth(problem: LinearQueries) -> int | None:
    """Return h for 2^h types whose queries are about an order; None for others."""
    named, size = problem.queries.named, problem.queries.size
    ordered = named is not None and problem.queries.given["name"] in ("prefix", "likert", "ranges")
    return size.bit_length() - 1 if ordered and size & (size - 1) == 0 else None


def cell_reports(labels: Labels, share: float, power: float) -> tuple[Sets, Array]:
    """Return subset selection of the cells of a partition, or nearly so, made with this probability.

    Parameters
    ----------
    labels : (n,) array of int
        The cell of each type, 0 .. K - 1.
    share, power : float

    Examples
    --------
    >>> sets, amounts = cell_reports(np.array([0, 0, 1]), 1.0, 3.0)
    >>> sets.astype(int).tolist(), amounts.tolist()
    ([[1, 1, 0], [0, 0, 1]], [0.25, 0.25])
    """
    sets, amounts = cell_sets(int(labels.max()) + 1, power)
    return sets[:, labels], share * amounts


def _outcome(problem: LinearQueries, parts: list[tuple[Sets, Array]]) -> Outcome:
    sets = np.vstack([sets for sets, _ in parts])
    amounts = np.concatenate([amounts for _, amounts in parts])
    return outcome(problem, sets, amounts, None, "formula", False, {"patterns": len(sets)}, weighed=False)


def run_tree(problem: LinearQueries) -> Outcome:
    """Return a binary tree of ranges: a random level, and subset selection of its nodes."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    types, power = np.arange(problem.queries.size), math.exp(problem.epsilon)
    shares = tree_shares(problem.centered, problem.epsilon)
    levels = range(1, len(shares) + 1)
    parts = [
        cell_reports(types >> (len(shares) - level), share, power)
        for level, share in zip(levels, shares, strict=True)
    ]
    return _outcome(problem, parts)


def run_haar(problem: LinearQueries) -> Outcome:
    """Return Haar wavelets: a random level, and one Hadamard coefficient of its signs."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    size, power = problem.queries.size, math.exp(problem.epsilon)
    levels = size.bit_length() - 1
    types = np.arange(size)
    roots = np.sqrt(wavelet_levels(problem.centered) * 2.0 ** np.arange(levels))
    parts = []
    for level, share in enumerate((roots / roots.sum()).tolist()):
        node, right = types >> (levels - level), types >> (levels - level - 1) & 1
        kinds = np.arange(1 << level)
        signs = np.array([[int(a & b).bit_count() & 1 for b in node] for a in kinds]) ^ right
        sets = np.vstack([signs == 0, signs == 1])
        parts.append((sets, np.full(len(sets), share / (1.0 + power) / len(kinds))))
    return _outcome(problem, parts)


def run_sampling(problem: LinearQueries) -> Outcome:
    """Return one of the marginals at random, and subset selection of its cells."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    power, tables = math.exp(problem.epsilon), _tables(problem)
    return _outcome(problem, [cell_reports(labels, 1.0 / len(tables), power) for labels in tables])


def _tables(problem: LinearQueries) -> list[Labels]:
    sizes = tuple(problem.queries.given["sizes"])
    cells = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    chosen = itertools.combinations(range(len(sizes)), int(problem.queries.given["order"]))
    return [
        np.ravel_multi_index([cells[place] for place in part], [sizes[place] for place in part])
        for part in chosen
    ]


def _why_not(problem: LinearQueries) -> str | None:
    return None if isinstance(problem.population, str) else "its shares are for equally frequent types"


def why_not_halves(problem: LinearQueries) -> str | None:
    """Return why a binary tree and its wavelets do not apply, or None."""
    if tree_depth(problem) is None or problem.weights is not None:
        return "it is for cumulative shares or ranges of 2, 4, 8, ... types"
    return _why_not(problem)


def why_not_sampling(problem: LinearQueries) -> str | None:
    """Return why sampling of marginals does not apply, or None."""
    named = problem.queries.named
    if named is None or problem.queries.given["name"] != "marginals" or problem.weights is not None:
        return "it is for the workload 'marginals'"
    return _why_not(problem)
