"""``marginal-views`` without views: views of attributes that are encoded as bits."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.papers.marginals.marginal_views.rival_designs import SCOPE, refusal, runner
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

METHOD = Method(
    name="be",
    problem=MarginalViews,
    kind="heuristic",
    preference=75,
    summary="BE: users are split over the wanted marginals of attributes encoded as bits",
    run=runner("BE"),
    why_not=refusal("BE"),
    scope=SCOPE,
)
