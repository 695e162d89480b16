"""``marginal-views`` by one convex program over all views: the least mean error, with a proven gap.

Choosing views and splitting the users is one problem: a view that nobody should report has the share 0.
"""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.candidates import candidates
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.splits import impossible, outcome, price_left_out
from mechdesign.solvers.reciprocals import allocate

SOLVER = "multiplicative and Newton steps"


def run(problem: MarginalViews) -> Outcome:
    """Split the users among all views that may be of use."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver=SOLVER, message=reason)
    found = candidates(problem)
    terms = judging.terms(problem, found.views)
    result = allocate(terms)
    other = price_left_out(problem, found, terms, result.shares)
    bound = min(result.bound, result.value * (result.value / other)) if other else result.bound
    source = "the prices of all views: f^2 / max p"
    return outcome(problem, found.views, result.shares, bound / problem.users, source, SOLVER)


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for the mean error), or None."""
    return None if problem.criterion == "mean" else f"it is for criterion 'mean', not '{problem.criterion}'"
