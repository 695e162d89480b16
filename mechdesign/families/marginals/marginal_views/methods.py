"""The methods of ``marginal-views``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.marginals.marginal_views import (
    allocation,
    convex_program,
    even,
    product_subset,
    rule,
    symmetric,
    worst_lp,
)
from mechdesign.families.marginals.marginal_views.problem import MarginalViews

METHODS = (
    Method("rule", MarginalViews, "analytic",
           "algorithm 3.1 corrected: the best size with a covering within the threshold", rule.run,
           rule.why_not),
    Method("symmetric", MarginalViews, "analytic",
           "closed form for attributes of equal size: all views of the best size, evenly", symmetric.run,
           symmetric.why_not),
    Method("allocation", MarginalViews, "numeric",
           "views and shares by a convex program over all views, with a proven gap", allocation.run,
           allocation.why_not),
    Method("worst-lp", MarginalViews, "numeric", "linear program for the worst error over all views",
           worst_lp.run, worst_lp.why_not),
    Method("cvxpy", MarginalViews, "numeric", "the same convex program declared in cvxpy, for few views",
           convex_program.run, convex_program.why_not),
    Method("product-subset", MarginalViews, "numeric",
           "sets of answers to several attributes at once, by dynamic programming and column generation",
           product_subset.run, product_subset.why_not, product_subset.SCOPE),
    Method("even", MarginalViews, "heuristic",
           "an even split among the given views, or among the requested marginals", even.run, even.why_not),
)  # fmt: skip
