"""``marginal-views`` without views: everybody reports every attribute, each with a part of epsilon."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.papers.marginals.marginal_views.rival_designs import SCOPE, refusal, runner
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

METHOD = Method(
    name="em",
    problem=MarginalViews,
    kind="heuristic",
    preference=74,
    summary="EM: everybody reports every attribute, each with a part of epsilon",
    run=runner("EM"),
    why_not=refusal("EM"),
    scope=SCOPE,
)
