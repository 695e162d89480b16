"""Binomial windows and expected excesses: never on the wrong side of exact rational sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.audit.binomials import Excess, binomial_window

CASES = [
    (1, 1.0),
    (2, 1.0),
    (7, 1.0),
    (8, 1.0),
    (999, 1.0),
    (40, 0.25),
    (40, 3.0),
    (300, 0.015625),
    (1000, 1.0),
    (1000, 8.0),
]


def exact(trials: int, odds: float) -> list[Fraction]:
    chance = Fraction(odds) / (1 + Fraction(odds))
    return [math.comb(trials, j) * chance**j * (1 - chance) ** (trials - j) for j in range(trials + 1)]


@pytest.mark.parametrize(("trials", "odds"), CASES)
@pytest.mark.parametrize("tail", [1e-3, 1e-12, 1e-200])
def test_windows_bound_the_probabilities_and_what_they_leave_out(trials, odds, tail):
    window, true = binomial_window(trials, odds, tail), exact(trials, odds)
    for j, found in enumerate(window.probability.tolist(), start=window.first):
        assert Fraction(found) * Fraction(window.lower) <= true[j] <= Fraction(found) * Fraction(window.upper)
    assert sum(true[: window.first], Fraction(0)) <= Fraction(window.below)
    assert sum(true[window.last + 1 :], Fraction(0)) <= Fraction(window.above)
    beyond = sum((j - window.last) * true[j] for j in range(window.last + 1, trials + 1))
    assert beyond <= Fraction(window.above_mean)


@pytest.mark.parametrize(("trials", "odds"), CASES)
@pytest.mark.parametrize("from_mean", [False, True])
def test_the_excess_is_bounded_from_both_sides_over_every_threshold(trials, odds, from_mean):
    true = exact(trials, odds)
    thresholds = np.array(
        [-1.5, 0.0, 0.25 * trials, 0.5 * trials + 0.125, 0.9 * trials, trials, trials + 2.5]
    )
    above = Excess(trials, odds, 1e-9, upper=True, from_mean=from_mean)
    below = Excess(trials, odds, 1e-9, upper=False, from_mean=from_mean)
    for t, high, low in zip(thresholds, above.bound(thresholds), below.bound(thresholds), strict=True):
        excess = sum(max(j - Fraction(t), Fraction(0)) * chance for j, chance in enumerate(true))
        assert Fraction(low) * Fraction(below.factor) <= excess <= Fraction(high) * Fraction(above.factor)
        if above.first <= t <= trials:  # and they are close
            assert float(high) * above.factor <= float(excess) * (1.0 + 1e-10) + 1e-8


def test_a_window_of_many_trials_is_normalised_to_the_last_digits():
    """A window that lost mass, or a mode out of place, would not have these moments."""
    window = binomial_window(10**8, 1.0, 1e-15)
    mean = float((window.values * window.probability).sum())
    variance = float(((window.values - mean) ** 2 * window.probability).sum())
    assert mean == pytest.approx(5e7, rel=1e-11)
    assert variance == pytest.approx(2.5e7, rel=1e-9)
    assert window.above < 1e-15
