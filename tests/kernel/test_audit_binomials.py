"""Binomial windows and expected excesses: never on the wrong side of exact rational sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.audit.mass import binomial_window
from mechdesign.families.shuffle.sum_divergence import CELLS, Excess, window_table

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


@pytest.mark.parametrize(("trials", "odds"), [*CASES, (0, 1.0), (5, 0.0), (10**6, 1e-3), (10**6, 50.0)])
@pytest.mark.parametrize("tail", [0.0, 1e-3, 1e-12, 1e-200])
def test_one_window_is_the_line_of_a_table_to_the_last_bit(trials, odds, tail):
    window, table = binomial_window(trials, odds, tail), window_table([trials], odds, [tail])
    weights = np.concatenate([table.falling[0, ::-1], np.ones(1), table.rising[0]])
    assert window.probability.tolist() == (weights[weights > 0.0] / table.total[0]).tolist()
    sides = (window.first, window.below, window.above, window.above_mean, window.error)
    line = (table.first, table.below, table.above, table.above_mean, table.error)
    assert sides == tuple(part[0] for part in line)


ODDS = sorted({odds for _, odds in CASES} | {0.0})
COUNTS = [0, *sorted({trials for trials, _ in CASES})]


def exact_excess(true: list[Fraction], threshold: Fraction) -> Fraction:
    above = range(max(0, math.ceil(threshold)), len(true))
    whole = math.lcm(*(true[j].denominator for j in (0, -1)))
    weights = [true[j].numerator * (whole // true[j].denominator) for j in above]
    part = sum(j * weight for j, weight in zip(above, weights, strict=True)) - threshold * sum(weights)
    return part / whole


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("tail", [1e-3, 1e-9])
def test_the_excess_is_bounded_from_both_sides_over_every_threshold(odds, tail):
    """Of binomials of all lengths in one table."""
    sides = [Excess(COUNTS, odds, [tail] * len(COUNTS), upper) for upper in (False, True)]
    true = [exact(trials, odds) for trials in COUNTS]
    for part in (-0.5, 0.0, 0.3, 0.5, 0.51, 0.8, 1.0, 1.2):
        thresholds = np.array(COUNTS) * part + 0.125
        found = [side.bound(thresholds).tolist() for side in sides]
        for place, t in enumerate(thresholds.tolist()):
            excess = exact_excess(true[place], Fraction(t))
            low, high = (
                Fraction(bounds[place]) * Fraction(side.factor[place])
                for bounds, side in zip(found, sides, strict=True)
            )
            assert low <= excess <= high
            if t >= sides[True].first[place]:  # and they are close
                assert float(high - low) <= 4.0 * tail * COUNTS[place] + 1e-10 * float(excess)


def test_tables_in_parts_say_the_same():
    """So many binomials that they do not fit into one table."""
    counts = np.linspace(5e5, 1e6, 60).astype(int).tolist()
    tails = np.geomspace(1e-3, 1e-30, 60).tolist()
    together = Excess(counts, 0.5, tails, upper=True)
    assert len(together.tails) > 2 * CELLS
    thresholds = np.array(counts) / 3.0 + 700.0
    alone = [Excess([count], 0.5, [tail], True) for count, tail in zip(counts, tails, strict=True)]
    single = [float(item.bound(np.array([t]))[0]) for item, t in zip(alone, thresholds, strict=True)]
    assert together.bound(thresholds) == pytest.approx(single, rel=1e-12)


def test_a_window_of_many_trials_is_normalised_to_the_last_digits():
    """A window that lost mass, or a mode out of place, would not have these moments."""
    window = binomial_window(10**8, 1.0, 1e-15)
    mean = float((window.values * window.probability).sum())
    variance = float(((window.values - mean) ** 2 * window.probability).sum())
    assert mean == pytest.approx(5e7, rel=1e-11)
    assert variance == pytest.approx(2.5e7, rel=1e-9)
    assert window.above < 1e-15
