"""``marginal-views`` without views: users are split over Fourier coefficients, each reports a sign."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.papers.marginals.marginal_views.rival_designs import SCOPE, refusal, runner
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

METHOD = Method(
    name="ft",
    problem=MarginalViews,
    kind="heuristic",
    preference=73,
    summary="FT: users are split over the Fourier coefficients that are needed",
    run=runner("FT"),
    why_not=refusal("FT"),
    scope=SCOPE,
)
