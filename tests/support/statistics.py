"""Exact limits of a binomial count, so that a test states how often a correct program would fail it."""

from __future__ import annotations

from fractions import Fraction
from math import comb


def binomial_limits(trials: int, chance: float, error: float) -> tuple[int, int]:
    """Return (low, high) with Pr[count < low] and Pr[count > high] each at most error / 2, exactly."""
    exact, half = Fraction(chance), Fraction(error) / 2
    masses = [
        comb(trials, count) * exact**count * (1 - exact) ** (trials - count) for count in range(trials + 1)
    ]
    return _first_above(masses, half), trials - _first_above(masses[::-1], half)


def _first_above(masses: list[Fraction], limit: Fraction) -> int:
    running, count = Fraction(0), 0
    while running + masses[count] <= limit:
        running += masses[count]
        count += 1
    return count
