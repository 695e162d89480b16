"""Where the slope of the loss changes sign, by bisection."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.spectrum.cloak.problem import SpectrumCloakDesign, impossible, outcome
from mechdesign.solvers.bisection import sign_change


def run(problem: SpectrumCloakDesign) -> Outcome:
    """Bracket the change of sign by doubling, then halve."""
    low = high = problem.radius
    while problem.slope(low) >= 0:
        low /= 2.0
    while problem.slope(high) <= 0:
        high *= 2.0
    return impossible(problem, "bisection") or outcome(
        problem, sign_change(problem.slope, low, high), "bisection"
    )


METHOD = Method(
    name="search",
    problem=SpectrumCloakDesign,
    kind="numeric",
    preference=20,
    summary="bisection of the slope",
    run=run,
)
