"""``linear-queries`` over all patterns: exact for few types."""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.workload.audit.workload_bound import patterns_from
from mechdesign.families.workload.linear_queries.outcomes import infeasible, lifted_bound, outcome
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.master import Basis, Master, Weighted
from mechdesign.families.workload.value import Array, Sets, columns_of

MOST_TYPES = 10


def all_sets(size: int) -> Sets:
    """Return every set of types but the empty one and the whole one, whose reports say nothing.

    Examples
    --------
    >>> all_sets(2).astype(int).tolist()
    [[1, 0], [0, 1]]
    """
    return patterns_from(1, (1 << size) - 1, size)


def one_of_each_pair(sets: Sets) -> Sets:
    """Return one set of each pair of mirror images."""
    packed = np.packbits(sets, axis=1)
    mirrored = np.packbits(sets[:, ::-1], axis=1)
    differs = packed != mirrored
    first = np.argmax(differs, axis=1)
    rows = np.arange(len(sets))
    found: Sets = sets[~differs.any(axis=1) | (packed[rows, first] < mirrored[rows, first])]
    return found


def with_mirror_images(sets: Sets, weights: Array) -> tuple[Sets, Array]:
    """Return the sets and their mirror images, each with half of the weight; once where they are the same."""
    alone = (sets == sets[:, ::-1]).all(axis=1)
    halves = np.where(alone, weights, weights / 2.0)
    return np.vstack([sets, sets[~alone][:, ::-1]]), np.concatenate([halves, halves[~alone]])


def weighted(problem: LinearQueries, sets: Sets, accuracy: float = 1e-12) -> tuple[Sets, Array, Weighted]:
    """Return the best weights c of these sets (and of their mirror images where that is a symmetry)."""
    shares, centered = problem.shares, problem.design_gram
    basis = Basis.of(centered, shares)
    if basis.is_mirrored:
        sets = one_of_each_pair(sets)
    columns = columns_of(sets, math.exp(problem.epsilon))
    found = Master(columns / (columns @ shares)[:, None], centered, shares, basis).solve(accuracy)
    weights = found.weights
    if basis.is_mirrored:
        sets, weights = with_mirror_images(sets, weights)
    amounts = weights / (columns_of(sets, math.exp(problem.epsilon)) @ shares)
    return sets, amounts, found


def all_columns(problem: LinearQueries) -> Outcome:
    """Return the optimum over all patterns, with the dual checked for all of them."""
    if problem.epsilon == 0.0:
        return infeasible("interior point")
    sets, amounts, found = weighted(problem, all_sets(problem.queries.size))
    kept = amounts > 1e-9 * float(amounts.max())
    notes = {"patterns": int(kept.sum()), "steps": found.steps}
    bound = lifted_bound(problem, found)
    return outcome(problem, sets[kept], amounts[kept], bound, "interior point", notes=notes)


def why_not_all_columns(problem: LinearQueries) -> str | None:
    """Return why not all patterns can be used, or None."""
    if problem.is_worst:
        return "it minimizes an average; for the worst type use cvxpy or populations"
    if problem.queries.size > MOST_TYPES:
        return f"2^{problem.queries.size} patterns are too many; use columns"
    return None
