"""The methods of ``mean-interval``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.mean.interval import branch, closed_form, geometric
from mechdesign.families.mean.interval.problem import MeanInterval

METHODS = (
    Method("closed-form", MeanInterval, "analytic", "the best of three vertices", closed_form.run),
    Method("geometric", MeanInterval, "numeric",
           "geometric program through cvxpy, bound by the geometric dual", geometric.run, geometric.why_not),
    Method("branch-and-bound", MeanInterval, "numeric",
           "cut the border of the feasible set, bound by monotonicity", branch.run, branch.why_not),
)  # fmt: skip
