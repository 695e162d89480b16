"""Exact limits of a binomial count, so that a test states how often a correct program would fail it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np

from mechdesign.collect.intervals import NormalLimits, tail_of

SLIGHTLY = 1e-6


@cache
def binomial_limits(trials: int, chance: float, error: float) -> tuple[int, int]:
    """Return (low, high) with Pr[count < low] and Pr[count > high] each at most error / 2, exactly."""
    hit, bottom = Fraction(chance).as_integer_ratio()
    top, whole = (Fraction(error) / 2).as_integer_ratio()
    limit = top * bottom**trials // whole
    low = _first_above(trials, hit, bottom - hit, limit)
    return low, trials - _first_above(trials, bottom - hit, hit, limit)


def _first_above(trials: int, hit: int, miss: int, limit: int) -> int:
    """Return the least count at which the weights of 0, 1, ... together are above a limit."""
    running, count = 0, 0
    while True:
        running += comb(trials, count) * hit**count * miss ** (trials - count)
        if running > limit:
            return count
        count += 1


def surveys(mechanism: Any, users: Sequence[Any], rng: Any) -> list[Any]:
    """Return the reports of several surveys of as many users each, all drawn in one call."""
    return np.split(mechanism.randomize(np.concatenate(users), rng=rng), len(users))


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
