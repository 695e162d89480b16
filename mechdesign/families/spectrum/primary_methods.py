"""The methods of ``spectrum-primary``: the first one that applies is the default.

*The mean widening* is the published way, done exactly: all real roots of a quartic in the interval, and its
two ends.

*The expected utility* rises, then falls: U'(L) = (kp - H(L)) / L^2 with H rising from 0 to A, the integral of
the revenue over all widenings. With kp < A there is one turning point, where H(L) = kp, and it is the
optimum; else U rises towards 0 for ever.

*Global search by intervals*, for both widenings: on [l, u] the utility is at most the revenue at l less
kp / u, for revenue and the loss of privacy fall with L. Intervals whose bound does not exceed the best value
are dropped, the others halved. The expectation is a quadrature here, so nothing is shared with the exact
methods.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.exact.exponential import float_down
from mechdesign.families.spectrum.primary import SpectrumPrimary, best_mean, infeasible, outcome
from mechdesign.solvers.roots import sign_change


def widening_from_quartic(problem: SpectrumPrimary) -> Outcome:
    """Return the best of roots and ends."""
    nobody = infeasible(problem, "roots")
    if nobody is not None:
        return nobody
    level, bound = best_mean(problem)
    return outcome(
        problem, level, bound, "all real roots of a quartic, isolated in exact arithmetic", "roots"
    )


def why_no_quartic(problem: SpectrumPrimary) -> str | None:
    """Only for the utility as published."""
    return "the expected utility is not a polynomial with a pole" if problem.widening != "mean" else None


Array = NDArray[np.float64]

GAP = 1e-9
"""The gap that is aimed at, as a part of the utility's terms."""

MOST_INTERVALS = 200_000

NODES, PANELS, TAIL = 24, 6, 45.0
"""Gauss's rule on panels of at most 7.5 means: its error is below 1e-13 of the result; e^-45 is left out."""


def _revenue(problem: SpectrumPrimary, levels: Array) -> Array:
    """Return the revenue, or its expectation, at many L."""
    a, s, r0, c = (
        float(v) for v in (problem.widened.room, problem.location_privacy, problem.radius, problem.factor)
    )
    if problem.widening == "mean":
        radii = np.clip(a - levels, 0.0, r0)
        return np.asarray(c * radii * (s + radii) ** 2)
    most = min(a, r0)
    reach = np.minimum(most, TAIL * levels)
    points, weights = np.polynomial.legendre.leggauss(NODES)
    total = np.zeros_like(levels)
    for panel in range(PANELS):
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
            step = reach * ((panel + (point + 1.0) / 2.0) / PANELS)  # t = rho - y
            radii = most - step
            slope = c * (s + radii) * (s + 3.0 * radii)
            total += weight / 2.0 * slope * np.exp(-(a - most + step) / levels)
    return np.asarray(c * most * (s + most) ** 2 - total * reach / PANELS)


def widening_by_intervals(problem: SpectrumPrimary) -> Outcome:
    """Halve intervals until the bound is near the value."""
    nobody = infeasible(problem, "intervals")
    if nobody is not None:
        return nobody
    low, high = _bracket(problem)
    ends = np.linspace(low, high, 257)
    lows, highs = ends[:-1], ends[1:]
    level, value, scale = high, problem.utility(high), problem.objective_scale()
    while True:
        earned = _revenue(problem, lows)
        utilities = earned - problem.privacy_cost / lows
        best = int(np.argmax(utilities))
        if utilities[best] > value:
            level, value = float(lows[best]), float(utilities[best])
        bounds = earned - problem.privacy_cost / highs
        bound = max(float(bounds.max()), value)
        if bound - value <= GAP * scale or 2 * len(lows) > MOST_INTERVALS:
            break
        keep = bounds > value
        lows, highs = lows[keep], highs[keep]
        middles = (lows + highs) / 2.0
        lows, highs = np.concatenate([lows, middles]), np.concatenate([middles, highs])
    return outcome(
        problem, level, bound + 1e-12 * scale, "revenue falls and privacy rises with L", "intervals"
    )


def _bracket(problem: SpectrumPrimary) -> tuple[float, float]:
    """Return an interval outside of which no L is better than one inside."""
    low, high = map(float_down, problem.limits)
    some = problem.utility(high)
    if problem.widening == "exponential":
        # U < (A - kp) / L, so beyond (A - kp) / value nothing is better, once a value is positive
        while some <= 0:
            high *= 2.0
            some = problem.utility(high)
        high = max(high, (float(problem.widened.worth) - problem.privacy_cost) / some)
        low = 0.0
    # kp / L is at most all revenue less the value
    least = problem.privacy_cost / (problem.objective_scale() - some)
    return min(max(low, least * (1.0 - 2.0**-40)), math.nextafter(high, 0.0)), high


FARTHEST = 2.0**60
"""A best L beyond this many times the distance is not looked for."""


def widening_at_turning_point(problem: SpectrumPrimary) -> Outcome:
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


def why_no_turning_point(problem: SpectrumPrimary) -> str | None:
    """Only for the expected utility."""
    return "the utility at the mean widening can turn several times" if problem.widening == "mean" else None


METHODS = (
    Method("quartic", SpectrumPrimary, "analytic",
           "best of the real roots of a quartic and the ends of the interval",
           widening_from_quartic, why_no_quartic),
    Method("turning-point", SpectrumPrimary, "analytic",
           "the only turning point of the expected utility, in rational numbers",
           widening_at_turning_point, why_no_turning_point),
    Method("search", SpectrumPrimary, "numeric", "global search by intervals", widening_by_intervals),
)  # fmt: skip
