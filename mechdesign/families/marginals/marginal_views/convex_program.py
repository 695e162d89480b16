"""``marginal-views`` declared in cvxpy, for few views: the independent second way."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.candidates import candidates
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.splits import impossible, outcome

MOST_ENTRIES = 20_000
"""Pairs of a marginal and a view that contains it; more take the general solver too long."""


def run(problem: MarginalViews) -> Outcome:
    """Minimise the sum of c_A / I_A, or the largest, over shares >= 0 that add up to 1."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="cvxpy", message=reason)
    found = candidates(problem)
    terms = judging.terms(problem, found.views)
    even = terms.errors(np.full(len(found.views), 1.0 / len(found.views)))
    scale = float(np.median(even))
    shares = cvxpy.Variable(len(found.views), nonneg=True)
    errors = cvxpy.inv_pos((terms.information * scale) @ shares)
    if problem.criterion == "mean":
        objective = terms.weights @ errors
    else:
        objective = cvxpy.max(cvxpy.multiply(terms.weights * len(terms.weights), errors))
    result = solve_convex(cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(shares) == 1]))
    if shares.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    return outcome(problem, found.views, np.maximum(shares.value, 0.0), solver=result.solver)


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for few views, not for the thesis's rule), or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    if impossible(problem) is None:
        entries = judging.terms(problem, candidates(problem).views).information.nnz
        if entries > MOST_ENTRIES:
            return f"{entries} pairs of a marginal and its view are more than {MOST_ENTRIES}"
    return None
