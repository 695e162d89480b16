"""Exact limits of a binomial count, so that a test states how often a correct program would fail it."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from mechdesign.mechanisms.intervals import NormalLimits, tail_of

SLIGHTLY = 1e-6


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


def reaches(estimate: Any, truth: Any, level: float) -> np.ndarray:
    """Return where the intervals of a level hold the truth, without searching for their ends."""
    return limits_of(estimate).reach(np.asarray(truth - estimate.value), tail_of(level))


def ends_are_where_the_reach_ends(estimate: Any, level: float) -> bool:
    """Return whether truths just inside of the interval are reached and those just outside are not."""
    held = []
    for end in estimate.interval(level):
        difference = np.asarray(end - estimate.value)
        inside, outside = (difference * (1.0 + part) for part in (-SLIGHTLY, SLIGHTLY))
        limits, tail = limits_of(estimate), tail_of(level)
        held.append(limits.reach(inside, tail) & ~limits.reach(outside, tail))
    return bool(np.all(held))


def limits_of(estimate: Any) -> Any:
    """Return what an estimate makes its intervals from."""
    return getattr(estimate, "limits", None) or NormalLimits(estimate.standard_error)
