"""``marginal-views`` without views: everybody reports the cell of the table of all attributes."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.papers.marginals.marginal_views.rival_designs import SCOPE, refusal, runner
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

METHOD = Method(
    name="fc",
    problem=MarginalViews,
    kind="heuristic",
    preference=71,
    summary="FC: everybody reports the cell of the table of all attributes",
    run=runner("FC"),
    why_not=refusal("FC"),
    scope=SCOPE,
)
