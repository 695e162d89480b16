"""What theorem 6.4.6 prints about the slope of the utility: its formula, and how often it vanishes."""

from __future__ import annotations

import math
from fractions import Fraction

from mechdesign.families.spectrum.primary.problem import SpectrumPrimary
from mechdesign.solvers.polynomial import roots


def printed_slope(problem: SpectrumPrimary, level: float) -> float:
    """Return dE[U_p]/dL as printed, at a widening.

    Examples
    --------
    >>> problem = SpectrumPrimary(price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, distance=6.0)
    >>> step = 1e-6
    >>> slope = (problem.utility(1.0 + step) - problem.utility(1.0 - step)) / (2 * step)
    >>> abs(printed_slope(problem, 1.0) - slope) < 1e-6
    True
    """
    far, s = problem.distance, problem.location_privacy
    square = -3.0 * level**2 + (6.0 * far - 2.0 * s) * level - 3.0 * far**2 + 2.0 * s * far
    return problem.price * math.pi / problem.radius * square + problem.privacy_cost / level**2


def quartic(problem: SpectrumPrimary) -> list[Fraction]:
    """Return L^2 times the printed slope as a polynomial in L, the coefficient of L^0 first."""
    far, s, c = (Fraction(x) for x in (problem.distance, problem.location_privacy, problem.factor))
    return [
        Fraction(problem.privacy_cost),
        Fraction(0),
        c * (2 * s * far - 3 * far**2),
        c * (6 * far - 2 * s),
        -3 * c,
    ]


def stationary_points(problem: SpectrumPrimary) -> tuple[int, int]:
    """Return the number of different real roots of the quartic, and of those that problem 6.4.5 admits.

    Examples
    --------
    >>> one = {"price": 0.1, "privacy_cost": 2.0, "radius": 5.0, "location_privacy": 0.5}
    >>> near, far = (SpectrumPrimary(**one, distance=distance) for distance in (2.0, 4.0))
    >>> stationary_points(near), stationary_points(far)
    ((2, 0), (4, 2))
    """
    polynomial = quartic(problem)
    largest = Fraction(
        1 + math.ceil(max(abs(part / polynomial[-1]) for part in polynomial))
    )  # Cauchy's bound
    low, high = problem.limits
    inside = roots(polynomial, low, high) if low < high else []
    return len(roots(polynomial, -largest, largest)), len(inside)
