"""The published way, done exactly: all real roots of a quartic in the interval, and its two ends."""

from __future__ import annotations

from fractions import Fraction

from mechdesign.core.method import Outcome
from mechdesign.exact.exponential import float_down
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary, infeasible, outcome
from mechdesign.solvers.polynomial import maximum


def best_mean(problem: SpectrumPrimary) -> tuple[float, Fraction]:
    """Return the best L for the mean widening, and a proven bound; of equal values the larger L."""
    room, s, c = problem.widened.room, problem.widened.privacy, problem.widened.factor
    far = room + s
    # c (a - L)(d - L)^2 with d = a + s
    polynomial = [c * room * far**2, -c * (far**2 + 2 * room * far), c * (room + 2 * far), -c]
    found = maximum(polynomial, Fraction(problem.privacy_cost), *problem.limits)
    return float_down(found.place), found.bound


def run(problem: SpectrumPrimary) -> Outcome:
    """Return the best of roots and ends."""
    nobody = infeasible(problem, "roots")
    if nobody is not None:
        return nobody
    level, bound = best_mean(problem)
    return outcome(
        problem, level, bound, "all real roots of a quartic, isolated in exact arithmetic", "roots"
    )


def why_not(problem: SpectrumPrimary) -> str | None:
    """Only for the utility as published."""
    return "the expected utility is not a polynomial with a pole" if problem.widening != "mean" else None
