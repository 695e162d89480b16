"""``marginal-views`` as it is usually done: a view for every requested marginal, users split evenly."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.text import counted
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.splits import impossible, outcome


def run(problem: MarginalViews) -> Outcome:
    """Split the users evenly among the given views, or else among the requested marginals."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="none", message=reason)
    views = list(problem.wanted) if problem.views is None else [tuple(view) for view in problem.views]
    return outcome(problem, views, np.full(len(views), 1.0 / len(views)), solver="none")


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (the thesis's rule, or too few users), or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    views = len(problem.wanted if problem.views is None else problem.views)
    if views > problem.users:
        return f"{views} views are more than the {counted(problem.users, 'user')}"
    return None
