"""The methods of ``marginal-views``: the first one that applies is the default.

*Allocation*: one convex program over all views, the least mean error with a proven gap. Choosing views and
splitting the users is one problem: a view that nobody should report has the share 0. *Worst-lp* does it for
the worst error: a linear program, since 1 / error is linear in the shares. *Cvxpy* declares the convex
program for few views, the independent second way.

*Even*: as it is usually done, a view for every requested marginal, users split evenly.

Methods with views of one size stand in :mod:`.view_candidates`.

*Product-subset*: several attributes in one report, as a set that holds the answer. No views: a report is a
product of subsets of the attributes' values, d of k each, and says nothing about those with d = k. Where
single attributes are requested, users are split among several products, which result from dynamic programming
at the prices so far; where all are alike, enough matches may be better. Where tables are requested, all users
report one product of subsets of all attributes, or scattered cells of the whole table, whichever is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import counted
from mechdesign.core.problem import Method, Outcome
from mechdesign.families.marginals import view_evaluation
from mechdesign.families.marginals.marginal_views import MarginalViews
from mechdesign.families.marginals.sets.products import best_products, match_share, product_shares
from mechdesign.families.marginals.view_candidates import (
    NOTHING,
    candidates,
    impossible,
    outcome,
    price_left_out,
    run_rule,
    run_symmetric,
    why_no_symmetric_views,
    why_not_rule,
)
from mechdesign.families.marginals.view_errors import View
from mechdesign.families.marginals.view_evaluation import mean_error
from mechdesign.solvers.descent import ErrorTerms, allocate
from mechdesign.solvers.statement import statement_method

Array = NDArray[np.float64]

SOLVER = "dynamic programming"
SCOPE = "sets of answers to several attributes at once, which are not views"

ROUNDS, CLOSE, DROPPED = 60, 1e-8, 1e-7

MOST_ATTRIBUTES, MOST_TABLES, MOST_IN_TABLE = 16, 300, 6
"""Where tables are requested: more attributes in one report, or more tables, have large errors."""

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
    if len(problem.sizes) > MOST_ATTRIBUTES or len(problem.targets) > MOST_TABLES:
        return f"it is for single attributes, or at most {MOST_TABLES} tables of {MOST_ATTRIBUTES} attributes"
    if max(map(len, problem.targets)) > MOST_IN_TABLE:
        return f"it is for tables of at most {MOST_IN_TABLE} attributes"
    return None


def only_singles(problem: MarginalViews) -> bool:
    """Whether single attributes are requested only."""
    return all(len(table) == 1 for table in problem.targets)


# Single attributes: a split among products


def _split(problem: MarginalViews) -> tuple[list[dict[str, Any]], Array]:
    """Return products and the best shares of the users."""
    places = [table[0] for table in problem.targets]
    sizes, epsilon = [problem.sizes[place] for place in places], problem.epsilon
    weights = np.array(list(problem.targets.values()), dtype=np.float64)
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
    """Return one match set of all attributes where these are alike and all requested; none elsewhere."""
    count, size = len(problem.sizes), problem.sizes[0]
    if len(problem.targets) < count or len(set(problem.sizes)) > 1 or len(set(problem.targets.values())) > 1:
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
    """Return the widths of all attributes; those without a request are not asked."""
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


def run_even(problem: MarginalViews) -> Outcome:
    """Split the users evenly among the given views, or else among the requested marginals."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="none", message=reason)
    views = list(problem.targets) if problem.views is None else [tuple(view) for view in problem.views]
    return outcome(problem, views, np.full(len(views), 1.0 / len(views)), solver="none")


def why_not_even(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (the thesis's rule, or too few users), or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    views = len(problem.targets if problem.views is None else problem.views)
    if views > problem.users:
        return f"{views} views are more than the {counted(problem.users, 'user')}"
    return None


CONVEX_SOLVER = "multiplicative and Newton steps"


def run_allocation(problem: MarginalViews) -> Outcome:
    """Split the users among all views that may be of use."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver=CONVEX_SOLVER, message=reason)
    pool = candidates(problem)
    terms = view_evaluation.terms(problem, pool.views)
    result = allocate(terms)
    other = price_left_out(problem, pool, terms, result.shares)
    bound = min(result.bound, result.value * (result.value / other)) if other else result.bound
    source = "the prices of all views: f^2 / max p"
    return outcome(problem, pool.views, result.shares, bound / problem.users, source, CONVEX_SOLVER)


def why_not_allocation(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for the mean error), or None."""
    return None if problem.criterion == "mean" else f"it is for criterion 'mean', not '{problem.criterion}'"


def run_worst_lp(problem: MarginalViews) -> Outcome:
    """Maximise t subject to (information of A) >= t (weight of A) for every requested A: worst error 1/t.

    The bound is weak duality's; it is given where no view that may be of use was left out.
    """
    from scipy.sparse import csr_array, diags_array, hstack

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="HiGHS simplex", message=reason)
    pool = candidates(problem)
    terms = view_evaluation.terms(problem, pool.views)
    relative = terms.weights * len(terms.weights)
    scaled = diags_array(1.0 / relative) @ terms.information
    size = scaled.shape[1]
    unit = float(scaled.max())  # t is at most the largest entry
    rows = csr_array(hstack([-scaled / unit, csr_array(np.ones((len(relative), 1)))]))
    program = LinearProgram(
        objective=np.append(np.zeros(size), 1.0),
        upper_rows=rows,
        upper_limits=np.zeros(len(relative)),
        equal_rows=csr_array(np.append(np.ones(size), 0.0)[None, :]),
        equal_limits=np.ones(1),
        low=np.zeros(size + 1),
        high=np.ones(size + 1),
    )
    result = solve_linear(program)
    if result.status != "optimal" or result.bound is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    shares = np.maximum(result.variables[:-1], 0.0)
    bound = None if pool.left_out else 1.0 / (result.bound * unit) / problem.users
    return outcome(problem, pool.views, shares, bound, "weak duality of the linear program", result.solver)


def why_not_worst_lp(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for the worst error), or None."""
    return None if problem.criterion == "worst" else f"it is for criterion 'worst', not '{problem.criterion}'"


def listed_views(problem: MarginalViews) -> tuple[list[View], str | None]:
    """Return all views of the statement, or why they are not listed."""
    reason = impossible(problem)
    if reason is not None:
        return [], reason
    pool = candidates(problem)
    text = "its views are too many to be listed: the program would be over some of them"
    return list(pool.views), text if pool.left_out else None


def from_statement(problem: MarginalViews, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the views with a share worth having."""
    shares = np.maximum(values["shares"], 0.0)
    return dict(outcome(problem, listed_views(problem)[0], shares).variables)


METHODS = (
    Method("rule", MarginalViews, "analytic",
           "algorithm 3.1 corrected: the best size with a covering within the threshold", run_rule,
           why_not_rule),
    Method("symmetric", MarginalViews, "analytic",
           "closed form for attributes of equal size: all views of the best size, evenly", run_symmetric,
           why_no_symmetric_views),
    Method("allocation", MarginalViews, "numeric",
           "views and shares by a convex program over all views, with a proven gap", run_allocation,
           why_not_allocation),
    Method("worst-lp", MarginalViews, "numeric", "linear program for the worst error over all views",
           run_worst_lp, why_not_worst_lp),
    Method("product-subset", MarginalViews, "numeric",
           "sets of answers to several attributes at once, by dynamic programming and column generation",
           run, why_not, SCOPE),
    Method("even", MarginalViews, "heuristic",
           "an even split among the given views, or among the requested marginals", run_even, why_not_even),
    statement_method(MarginalViews, most=20_000, former_names=("cvxpy",)),
)  # fmt: skip
