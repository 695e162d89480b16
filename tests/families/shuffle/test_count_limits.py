"""Limits of counts: the law against exact convolutions, and coverage by adding up all outcomes.

Nothing is drawn here: with the law from scipy's binomials the coverage of every true count is a sum.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mechdesign.audit.mass import binomial_mass
from mechdesign.families.shuffle.count_limits import (
    CountLimits,
    Group,
    NoiseLimits,
    Sum,
    TwoKinds,
    quantiles_of,
    two_kinds,
)
from mechdesign.families.shuffle.divergence import response_cumulants
from mechdesign.families.shuffle.sketch import LeastOfRows
from mechdesign.primitives.mean_limits import WorstLimits

LEVEL, TAIL = 0.95, 0.025


def convolved(count: int, own: float, users: int, other: float) -> np.ndarray:
    """The law of Bin(count, own) + Bin(users - count, other) on 0 .. users."""
    first = stats.binom.pmf(np.arange(count + 1), count, own)
    return np.convolve(first, stats.binom.pmf(np.arange(users - count + 1), users - count, other))


@pytest.mark.parametrize("own", [1.0, 0.999, 0.6])
@pytest.mark.parametrize("other", [1e-12, 0.004, 0.4])
@pytest.mark.parametrize("count", [0, 3, 250, 400])
def test_a_law_is_that_of_the_convolution(own, other, count):
    low, mass = Sum(two_kinds(400, own, other)(count)).law()
    expected = convolved(count, own, 400, other)
    places = low + np.arange(len(mass))
    inside = (places >= 0) & (places <= 400)
    assert mass[~inside].max(initial=0.0) < 1e-12
    assert np.abs(mass[inside] - expected[places[inside]]).max() < 1e-12
    assert mass.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_law_of_three_kinds_of_numbers():
    chances = (0.5, 0.0, 0.2, 0.3)
    low, mass = Sum((Group(3, chances), Group.bits(2, 0.25))).law()
    single = np.array(chances)
    expected = np.convolve(np.convolve(np.convolve(single, single), single), [0.5625, 0.375, 0.0625])
    assert mass[-low : -low + len(expected)] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("trials", "chance"), [(10**4, 0.45), (10**6, 0.004), (10**9, 5e-6)])
@pytest.mark.parametrize("tail", [0.05, 0.025, 1e-4])
def test_quantiles_by_cumulants_are_those_of_the_law(trials, chance, tail):
    """More than SHARP standard deviations: the two ways meet."""
    law = Sum((Group.bits(trials, chance),))
    assert law.deviation > 40.0
    assert law.quantiles(tail) == quantiles_of(*law.law(), tail)
    assert law.quantiles(tail)[0] == stats.binom.ppf(tail, trials, chance)


def exact_coverage(users: int, most: int, own: float, other: float) -> np.ndarray:
    """The chance that the interval contains c, for every c from 0 to most."""
    observed = np.arange(users + 1)
    value = (observed - users * other) / (own - other)
    down, up = CountLimits(observed, value, most, two_kinds(users, own, other)).distances(TAIL)
    low, high = value - down - 1e-9, value + up + 1e-9
    return np.array(
        [
            convolved(count, own, users, other)[(low <= count) & (count <= high)].sum()
            for count in range(most + 1)
        ]
    )


@pytest.mark.parametrize(
    ("users", "own", "other"),
    [(60, 0.98, 0.02), (60, 1.0, 0.01), (50, 0.9, 0.001), (40, 0.6, 0.4), (25, 0.5, 0.27), (3, 0.9, 0.1)],
)
def test_intervals_cover_every_count_with_what_they_state(users, own, other):
    coverage = exact_coverage(users, users, own, other)
    assert coverage.min() >= LEVEL - 1e-9
    assert coverage.min() < 1.0 - 1e-6 or own - other > 0.9  # not by being as wide as can be


@pytest.mark.parametrize(("users", "own", "other"), [(60, 0.98, 0.02), (40, 0.6, 0.4), (3, 0.9, 0.1)])
def test_a_count_is_reached_where_the_interval_contains_it(users, own, other):
    """Whole counts and others, without a search; of estimates below 0, too, and of one moved to 0."""
    observed = np.arange(users + 1)
    value = (observed - users * other) / (own - other)
    value[0] = max(0.0, value[0])
    limits = CountLimits(observed, value, users, two_kinds(users, own, other))
    down, up = limits.distances(TAIL)
    for count in np.linspace(0.0, users, 4 * users + 1):
        inside = (value - down - 1e-9 <= count) & (count <= value + up + 1e-9)
        assert (limits.reach(count - value, TAIL) == inside).all()
        alone = CountLimits.of(0, float(value[0]), users, two_kinds(users, own, other))
        assert bool(alone.reach(np.asarray(count - value[0]), TAIL)) == inside[0]


def test_intervals_of_many_users_are_not_wide():
    law = two_kinds(10**6, 0.75, 0.25)
    down, up = CountLimits(np.array([500_000]), np.array([500_000.0]), 10**6, law).distances(TAIL)
    ideal = 1.959964 * (10**6 * 3 / 16) ** 0.5 / 0.5
    assert down[0] == pytest.approx(ideal, rel=2e-3)
    assert up[0] == pytest.approx(ideal, rel=2e-3)


def test_an_estimate_that_cannot_be_true_is_within_its_interval():
    """More ones than any count explains: the end of the range, up to the estimate."""
    limits = CountLimits.of(100, 111.0, 90, two_kinds(100, 0.95, 0.05))
    down, up = limits.distances(TAIL)
    assert (111.0 - float(down), 111.0 + float(up)) == (90.0, 111.0)


def test_noise_limits_contain_a_number_that_was_moved():
    """A count taken for 0 although noise says at least 2: both ends are kept."""
    noise = Sum((Group.bits(20, 0.5),))
    down, up = NoiseLimits(noise, 20.0).distances(TAIL)
    assert float(down) == 0.0
    assert float(up) == 14.0


@pytest.mark.parametrize("collisions", [0.0, 0.01, 0.5])
def test_the_least_of_rows_stays_within_its_quantiles(collisions):
    """All users collide at once, which is the worst case of Markov's inequality; 20 000 draws, error 1e-6."""
    users, rows, rng = 100, 5, np.random.default_rng(4)
    noise = rng.binomial(400, 0.25, (20_000, rows))
    noise += users * (rng.random((20_000, rows)) < collisions / users)
    bottom, top = LeastOfRows(binomial_mass(400, Fraction(1, 4)), rows, users, collisions).quantiles(TAIL)
    inside = int(((bottom <= noise.min(axis=1)) & (noise.min(axis=1) <= top)).sum())
    assert inside >= stats.binom.ppf(1e-6, 20_000, LEVEL)


@pytest.mark.parametrize(("users", "other"), [(30, 0.001), (30, 0.1), (300, 0.01)])
@pytest.mark.parametrize("value", [0, 2, 4])
def test_sums_of_responses_stay_within_the_worst_limits(users, other, value):
    """Users who all hold one of five numbers, 4000 repetitions; coverage 0.93, error 1e-6."""
    rng, size = np.random.default_rng(5), 5
    drawn = np.where(
        rng.random((4000, users)) < size * other, rng.integers(0, size, (4000, users)), value
    ).sum(axis=1)
    gain = 1.0 - size * other
    found = (drawn - users * other * 10.0) / gain / 4.0
    limits = WorstLimits.of([(response_cumulants(users, size, other), 1.0 / gain / 4.0)], users, 4)
    down, up = limits.distances(TAIL)
    error = found - users * value / 4.0
    covered = int(((error <= down + 1e-9) & (-error <= up + 1e-9)).sum())
    assert covered >= stats.binom.ppf(1e-6, 4000, 0.93)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_decoded_linearly_is_unbiased_with_the_stated_variance(seed):
    """Reports of up to three units and fakes: mean and variance of the estimates, from the law of the sum."""
    rng = np.random.default_rng(seed)
    users, fakes, longest = int(rng.integers(1, 12)), int(rng.integers(0, 6)), int(rng.integers(1, 4))
    own, other = (
        [Fraction(int(part), int(parts.sum())) for part in parts]
        for parts in np.sort(rng.integers(1, 60, (2, longest + 1)), axis=1)
    )
    decoder = TwoKinds(users, own, other[::-1], fakes, Fraction(1, 3))
    for count in range(users + 1):
        low, mass = Sum(decoder(count)).law()
        numbers = decoder.value(low + np.arange(len(mass)))
        mean = float(mass @ numbers)
        assert mean == pytest.approx(count, abs=1e-8)
        assert float(mass @ (numbers - mean) ** 2) == pytest.approx(
            float(decoder.variance(np.array([float(count)]))[0]), rel=1e-6
        )
