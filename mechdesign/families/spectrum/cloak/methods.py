"""The methods of ``spectrum-cloak``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.spectrum.cloak import convex
from mechdesign.families.spectrum.cloak.problem import SpectrumCloakDesign, infeasible, outcome
from mechdesign.families.spectrum.cubic import positive_root
from mechdesign.solvers.bisection import sign_change


def closed_form(problem: SpectrumCloakDesign) -> Outcome:
    """Return the positive root of the cubic, cut to the limits, with its bound."""
    return infeasible(problem, "closed form") or outcome(
        problem, positive_root(*problem.coefficients), "closed form"
    )


def search(problem: SpectrumCloakDesign) -> Outcome:
    """Bracket the change of sign of the loss's slope by doubling, then halve."""
    low = high = problem.radius
    while problem.slope(low) >= 0:
        low /= 2.0
    while problem.slope(high) <= 0:
        high *= 2.0
    return infeasible(problem, "bisection") or outcome(
        problem, sign_change(problem.slope, low, high), "bisection"
    )


METHODS = (
    Method("closed-form", SpectrumCloakDesign, "analytic", "the positive root of a cubic", closed_form),
    Method("search", SpectrumCloakDesign, "numeric", "bisection of the slope", search),
    Method("convex", SpectrumCloakDesign, "numeric", "a convex program for a conic solver (cvxpy)",
           convex.run),
)  # fmt: skip
