"""The expected utility rises, then falls: its only turning point is where H(L) = kp.

U'(L) = (kp - H(L)) / L^2 with H rising from 0 to A, the integral of the revenue over all widenings. With kp <
A there is one turning point, and it is the optimum; else U rises towards 0 for ever.
"""

from __future__ import annotations

from fractions import Fraction

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary, infeasible, outcome
from mechdesign.solvers.bisection import sign_change

FARTHEST = 2.0**60
"""A best L beyond this many times the distance is not looked for."""


def run(problem: SpectrumPrimary) -> Outcome:
    """Bracket the change of sign and halve it to the last bit."""
    nobody = infeasible(problem, "bisection")
    if nobody is not None:
        return nobody
    cost = Fraction(problem.privacy_cost)

    def slope(level: float) -> float:
        low, high = problem.widened.marginal(Fraction(level))
        return float(cost - (low + high) / 2)

    low = high = float(problem.widened.room)
    largest = FARTHEST * high
    while slope(low) <= 0:
        low /= 2.0
    while slope(high) >= 0:
        high *= 2.0
        if high > largest:
            text = f"the best widening is beyond {largest:.3g}; keep the channel closed"
            return Outcome(status="infeasible", solver="bisection", message=text)
    level = sign_change(slope, low, high)
    below, above = level * (1 - 2.0**-50), level * (1 + 2.0**-50)
    while slope(below) <= 0:
        below -= level * 2.0**-50
    while slope(above) >= 0:
        above += level * 2.0**-50
    bound = problem.widened.expected(Fraction(below))[1] - cost / Fraction(above)
    return outcome(
        problem, level, bound, "revenue falls and privacy rises with L, around the turning point", "bisection"
    )


def why_not(problem: SpectrumPrimary) -> str | None:
    """Only for the expected utility."""
    return "the utility at the mean widening can turn several times" if problem.widening == "mean" else None
