"""``marginal-views`` without views: users are split over all tables of the order."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.papers.marginals.marginal_views.rival_designs import SCOPE, refusal, runner
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

METHOD = Method(
    name="am",
    problem=MarginalViews,
    kind="heuristic",
    preference=72,
    summary="AM: users are split over all tables of the order",
    run=runner("AM"),
    why_not=refusal("AM"),
    scope=SCOPE,
)
