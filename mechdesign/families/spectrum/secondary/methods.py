"""The methods of ``spectrum-secondary``: the first one that applies is the default."""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.families.spectrum.cubic import positive_root
from mechdesign.families.spectrum.secondary import convex
from mechdesign.families.spectrum.secondary.problem import SpectrumSecondary, outcome
from mechdesign.solvers.bisection import sign_change


def closed_form(problem: SpectrumSecondary) -> Outcome:
    """Return the positive root of 2 k1 pi L^3 + 2 k1 pi r0 L^2 = ks, with its bound."""
    unit = 2.0 * math.pi * problem.price / problem.privacy_cost
    return outcome(problem, positive_root(unit, unit * problem.radius, 1.0), "closed form")


def search(problem: SpectrumSecondary) -> Outcome:
    """Bracket the change of sign of the utility's slope by doubling, then halve."""
    low = high = problem.radius
    while problem.slope(low) <= 0:
        low /= 2.0
    while problem.slope(high) >= 0:
        high *= 2.0
    return outcome(problem, sign_change(problem.slope, low, high), "bisection")


METHODS = (
    Method("closed-form", SpectrumSecondary, "analytic", "the positive root of a cubic", closed_form),
    Method("search", SpectrumSecondary, "numeric", "bisection of the slope", search),
    Method("convex", SpectrumSecondary, "numeric", "a concave program for a conic solver (cvxpy)",
           convex.run),
)  # fmt: skip
