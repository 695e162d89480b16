"""``marginal-views`` by product subsets: several attributes in one report, as a set that holds the answer.

No views: a report is a product of subsets of the attributes' values, d of k each, and says nothing about
those with d = k. Where single attributes are requested, users are split among several products, which result
from dynamic programming at the prices so far; where all are alike, enough matches may be better. Where tables
are requested, all users report one product of subsets of all attributes, or scattered cells of the whole
table, whichever is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.marginals.sets.products import best_products, match_share, product_shares
from mechdesign.families.marginals.view_candidates import NOTHING
from mechdesign.families.marginals.view_evaluation import mean_error
from mechdesign.solvers.descent import ErrorTerms, allocate

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views import MarginalViews

Array = NDArray[np.float64]

SOLVER = "dynamic programming"
SCOPE = "sets of answers to several attributes at once, which are not views"

ROUNDS, CLOSE, DROPPED = 60, 1e-8, 1e-7

MOST_ATTRIBUTES, MOST_TABLES, MOST_IN_TABLE = 16, 300, 6
"""Where tables are wanted: more attributes in one report, or more tables, have large errors."""

MOST_MATCHED = 300
"""Attributes whose matches are counted."""

MOST_CELLS = 1 << 12
"""Cells of the whole table, of which scattered ones are reported."""


def run(problem: MarginalViews) -> Outcome:
    """Return the products and shares, or the one set, with the least mean error that was found."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver=SOLVER, message=NOTHING)
    if only_singles(problem):
        sets, shares = _split(problem)
        alike = matches(problem)
        if alike and mean_error(problem, alike, np.ones(1)) < mean_error(problem, sets, shares):
            sets, shares = alike, np.ones(1)
    else:
        sets, shares = [one_set(problem)], np.ones(1)
    variables = {"sets": sets, "shares": shares, "count": len(sets)}
    return Outcome(status="feasible", variables=variables, solver=SOLVER)


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.criterion != "mean":
        return f"it is for criterion 'mean', not '{problem.criterion}'"
    if problem.views is not None:
        return "it takes no views, and some are given"
    if only_singles(problem):
        return None
    if len(problem.sizes) > MOST_ATTRIBUTES or len(problem.wanted) > MOST_TABLES:
        return f"it is for single attributes, or at most {MOST_TABLES} tables of {MOST_ATTRIBUTES} attributes"
    if max(map(len, problem.wanted)) > MOST_IN_TABLE:
        return f"it is for tables of at most {MOST_IN_TABLE} attributes"
    return None


def only_singles(problem: MarginalViews) -> bool:
    """Whether single attributes are wanted only."""
    return all(len(table) == 1 for table in problem.wanted)


# Single attributes: a split among products


def _split(problem: MarginalViews) -> tuple[list[dict[str, Any]], Array]:
    """Return products and the best shares of the users."""
    places = [table[0] for table in problem.wanted]
    sizes, epsilon = [problem.sizes[place] for place in places], problem.epsilon
    weights = np.array(list(problem.wanted.values()), dtype=np.float64)
    weights /= weights.sum()
    units = np.array([1.0 - 1.0 / size for size in sizes])
    columns = [best_products(sizes, epsilon, row)[0] for row in np.eye(len(sizes)).tolist()]
    table = _information(sizes, columns, epsilon) / units
    shares = _shares(weights, table)
    for _ in range(ROUNDS):
        information = shares @ table
        prices, value = weights / information**2, float((weights / information).sum())
        fresh = [each for each in best_products(sizes, epsilon, prices / units) if each not in columns]
        worth = _information(sizes, fresh, epsilon) / units @ prices if fresh else np.zeros(1)
        if float(worth.max()) <= value * (1.0 + CLOSE):
            break
        columns += fresh
        table = _information(sizes, columns, epsilon) / units
        shares = _shares(weights, table)
    used = np.flatnonzero(shares > DROPPED)
    order = used[np.argsort(-shares[used], kind="stable")]
    sets = [_of_all(problem, places, columns[place]) for place in order.tolist()]
    return sets, shares[order] / shares[order].sum()


def matches(problem: MarginalViews) -> list[dict[str, Any]]:
    """Return one match set of all attributes where these are alike and all wanted; none elsewhere."""
    count, size = len(problem.sizes), problem.sizes[0]
    if len(problem.wanted) < count or len(set(problem.sizes)) > 1 or len(set(problem.wanted.values())) > 1:
        return []
    if count > MOST_MATCHED:
        return []
    best = max(range(1, count + 1), key=lambda least: match_share(size, count, least, problem.epsilon))
    return [{"widths": [1] * count, "matches": best}]


def _information(sizes: Sequence[int], columns: Sequence[Sequence[int]], epsilon: float) -> Array:
    return np.array([product_shares(sizes, widths, epsilon) for widths in columns])


def _shares(weights: Array, table: Array) -> Array:
    from scipy.sparse import csr_array

    return allocate(ErrorTerms(weights, csr_array(table.T))).shares


def _of_all(problem: MarginalViews, places: Sequence[int], widths: Sequence[int]) -> dict[str, Any]:
    """Return the widths of all attributes; those that are not wanted are not asked."""
    all_widths = list(problem.sizes)
    for place, width in zip(places, widths, strict=True):
        all_widths[place] = width
    return {"widths": all_widths}


# Tables: one set for all


def one_set(problem: MarginalViews) -> dict[str, Any]:
    """Return the best scattered cells, or the best product by steps of one width at a time."""
    sets = [{"widths": _descended(problem, start)} for start in _starts(problem.sizes)]
    choices: list[dict[str, Any]] = [*sets]
    cells = math.prod(problem.sizes)
    if cells <= MOST_CELLS:
        middle = cells / (math.exp(problem.epsilon) + 1.0)
        choices += [
            {"cells": width}
            for width in sorted({1, math.floor(middle), math.ceil(middle)})
            if 1 <= width < cells
        ]
    return min(choices, key=lambda one: mean_error(problem, [one], np.ones(1)))


def _starts(sizes: Sequence[int]) -> list[list[int]]:
    return [[1] * len(sizes), [max(1, size // 2) for size in sizes]]


def _descended(problem: MarginalViews, widths: list[int]) -> list[int]:
    best = mean_error(problem, [{"widths": widths}], np.ones(1))
    moving = True
    while moving:
        moving = False
        for place, size in enumerate(problem.sizes):
            for width in (widths[place] - 1, widths[place] + 1):
                if not 1 <= width < size:
                    continue
                tried = [*widths[:place], width, *widths[place + 1 :]]
                value = mean_error(problem, [{"widths": tried}], np.ones(1))
                if value < best * (1.0 - CLOSE):
                    widths, best, moving = tried, value, True
    return widths
