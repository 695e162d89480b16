"""The methods of ``marginal-views``: the first one that applies is the default.

*Allocation*: one convex program over all views, the least mean error with a proven gap. Choosing views and
splitting the users is one problem: a view that nobody should report has the share 0. *Worst-lp* does it for
the worst error: a linear program, since 1 / error is linear in the shares. *Cvxpy* declares the convex
program for few views, the independent second way.

*Even*: as it is usually done, a view for every requested marginal, users split evenly.

Views of one size and product subsets have modules of their own.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.text import counted
from mechdesign.families.marginals import product_subset, view_evaluation
from mechdesign.families.marginals.marginal_views import MarginalViews
from mechdesign.families.marginals.view_candidates import (
    candidates,
    impossible,
    outcome,
    price_left_out,
)
from mechdesign.families.marginals.views_of_one_size import (
    run_rule,
    run_symmetric,
    why_no_symmetric_views,
    why_not_rule,
)
from mechdesign.solvers.descent import allocate


def run_even(problem: MarginalViews) -> Outcome:
    """Split the users evenly among the given views, or else among the requested marginals."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="none", message=reason)
    views = list(problem.wanted) if problem.views is None else [tuple(view) for view in problem.views]
    return outcome(problem, views, np.full(len(views), 1.0 / len(views)), solver="none")


def why_not_even(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (the thesis's rule, or too few users), or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    views = len(problem.wanted if problem.views is None else problem.views)
    if views > problem.users:
        return f"{views} views are more than the {counted(problem.users, 'user')}"
    return None


SOLVER = "multiplicative and Newton steps"


def run_allocation(problem: MarginalViews) -> Outcome:
    """Split the users among all views that may be of use."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver=SOLVER, message=reason)
    pool = candidates(problem)
    terms = view_evaluation.terms(problem, pool.views)
    result = allocate(terms)
    other = price_left_out(problem, pool, terms, result.shares)
    bound = min(result.bound, result.value * (result.value / other)) if other else result.bound
    source = "the prices of all views: f^2 / max p"
    return outcome(problem, pool.views, result.shares, bound / problem.users, source, SOLVER)


def why_not_allocation(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for the mean error), or None."""
    return None if problem.criterion == "mean" else f"it is for criterion 'mean', not '{problem.criterion}'"


def run_worst_lp(problem: MarginalViews) -> Outcome:
    """Maximise t subject to (information of A) >= t (weight of A) for every wanted A; the worst error is 1/t.

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


MOST_ENTRIES = 20_000
"""Pairs of a marginal and a view that contains it; more take the general solver too long."""


def run_convex(problem: MarginalViews) -> Outcome:
    """Minimise the sum of c_A / I_A, or the largest, over shares >= 0 that add up to 1."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="cvxpy", message=reason)
    pool = candidates(problem)
    terms = view_evaluation.terms(problem, pool.views)
    even = terms.errors(np.full(len(pool.views), 1.0 / len(pool.views)))
    scale = float(np.median(even))
    shares = cvxpy.Variable(len(pool.views), nonneg=True)
    errors = cvxpy.inv_pos((terms.information * scale) @ shares)
    if problem.criterion == "mean":
        objective = terms.weights @ errors
    else:
        objective = cvxpy.max(cvxpy.multiply(terms.weights * len(terms.weights), errors))
    result = solve_convex(cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(shares) == 1]))
    if shares.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    return outcome(problem, pool.views, np.maximum(shares.value, 0.0), solver=result.solver)


def why_not_convex(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for few views, not for the thesis's rule), or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    if impossible(problem) is None:
        entries = view_evaluation.terms(problem, candidates(problem).views).information.nnz
        if entries > MOST_ENTRIES:
            return f"{entries} pairs of a marginal and its view are more than {MOST_ENTRIES}"
    return None


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
    Method("cvxpy", MarginalViews, "numeric", "the same convex program declared in cvxpy, for few views",
           run_convex, why_not_convex),
    Method("product-subset", MarginalViews, "numeric",
           "sets of answers to several attributes at once, by dynamic programming and column generation",
           product_subset.run, product_subset.why_not, product_subset.SCOPE),
    Method("even", MarginalViews, "heuristic",
           "an even split among the given views, or among the requested marginals", run_even, why_not_even),
)  # fmt: skip
