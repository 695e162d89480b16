"""Picture of a choice of views: how many users report each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.collect.figures import axis_names
from mechdesign.core.solution import Solution
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars

MOST_VIEWS = 40


def figures(problem: MarginalViews, solution: Solution[Any]) -> list[Figure]:
    """Return the shares of users by view; nothing of many views, or of another way to collect."""
    if judging.is_otherwise(solution.variables):
        return []
    views, shares = solution.variables["views"], np.asarray(solution.variables["shares"], dtype=np.float64)
    if len(views) > MOST_VIEWS:
        return []
    names = axis_names([" x ".join(problem.shown_view(view)) for view in views])
    marks = [Bars(x=np.arange(len(shares)), y=shares, label="share of the users")]
    panel = Panel("view", "share of the users who report it", marks, x_names=names)
    return [Figure("Views, and the number of users of each", [panel])]
