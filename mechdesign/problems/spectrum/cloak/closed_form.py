"""The positive root of the cubic, cut to the limits."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.spectrum.cloak.problem import SpectrumCloakDesign, impossible, outcome
from mechdesign.problems.spectrum.cubic import positive_root


def run(problem: SpectrumCloakDesign) -> Outcome:
    """Return the root with its bound."""
    return impossible(problem, "closed form") or outcome(
        problem, positive_root(*problem.coefficients), "closed form"
    )


METHOD = Method(
    name="closed-form",
    problem=SpectrumCloakDesign,
    kind="analytic",
    preference=10,
    summary="the positive root of a cubic",
    run=run,
)
