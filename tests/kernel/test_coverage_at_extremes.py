"""Coverage of 95 % intervals where a normal interval fails: everybody at one end, few reports, rare flips.

Every test repeats the estimate with a fixed seed and asks for as many hits as a binomial count with chance
0.93 has at least, with error 1e-6: a program that keeps the promise of 0.93 fails less often than that.
"""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    Harmony,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.primitives import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget
from tests.support.statistics import binomial_limits, reaches, surveys

PROMISE, ERROR = 0.93, 1e-6


def enough(hits: int, repetitions: int) -> bool:
    return hits >= binomial_limits(repetitions, PROMISE, 2 * ERROR)[0]


def estimates(mechanism, values, repetitions, seed, population=False):
    """Yield estimates from new reports of the same users, or of new ones like them."""
    rng = np.random.default_rng(seed)
    users = rng.choice(values, (repetitions, len(values))) if population else [values] * repetitions
    for reports in surveys(mechanism, users, rng):
        yield mechanism.estimate(reports, population)


def hits(found, truth) -> int:
    return sum(low - 1e-12 <= truth <= high + 1e-12 for low, high in (item.interval() for item in found))


def test_the_limits_leave_no_room_for_doubt():
    assert binomial_limits(400, PROMISE, 2 * ERROR)[0] in range(340, 348)


@pytest.mark.parametrize(("epsilon", "users"), [(4.0, 3000), (8.0, 3000), (6.0, 300), (8.0, 30)])
def test_the_error_of_a_grid_with_everybody_at_an_end_is_the_true_one(epsilon, users):
    """The hypothesis of the estimate leaves no doubt about the variance; half of it was claimed before."""
    mechanism = DiscretePiecewise(epsilon)
    truth = np.sqrt(mechanism.variance(-1.0) / users)
    found = list(estimates(mechanism, np.full(users, -1.0), 100, 1))
    errors = np.array([estimate.standard_error for estimate in found])
    assert errors.min() > 0.8 * truth
    assert errors.max() < 1.6 * truth
    assert enough(hits(found, -1.0), 100)


@pytest.mark.parametrize(
    ("mechanism", "users"),
    [
        (
            AttributeSampling.of(CensoringInterval.symmetric, 6.0, 10, estimator="scaled", low=0.0, high=1.0),
            300,
        ),
        (
            AttributeSampling.of(CensoringInterval.symmetric, 6.0, 10, estimator="scaled", low=0.0, high=1.0),
            3000,
        ),
        (Harmony(6.0, 1, 0.0, 1.0), 300),
        (Harmony(6.0, 10, 0.0, 1.0), 300),
        (AttributeSampling.of(DiscretePiecewise, 8.0, 10, estimator="scaled", low=0.0, high=1.0), 300),
    ],
)
def test_scaled_estimates_of_people_who_are_all_at_the_low_end(mechanism, users):
    """One column is looked at; the others are independent of it. Ends are searched for in every fifth run."""
    values = np.zeros((users, mechanism.size))
    rng, covered = np.random.default_rng(2), 0
    for repetition, reports in enumerate(surveys(mechanism, [values] * 100, rng)):
        found = mechanism.estimate(reports)
        assert found.standard_error.min() > 0
        held = reaches(found, np.zeros(mechanism.size), 0.95)
        covered += bool(held[0])
        if repetition % 5 == 0:
            low, high = found.interval()
            assert (low <= found.value).all()
            assert (found.value < high).all()
            assert (held == (low <= 0.0) & (high >= 0.0)).all()
    assert enough(covered, 100)


@pytest.mark.parametrize("kind", [DiscretePiecewise, Piecewise, Duchi])
def test_a_part_of_the_users_says_less_than_all_of_them(kind):
    """Self-normalized, values at both ends, little noise: which users drew the attribute matters."""
    mechanism = AttributeSampling.of(kind, 8.0, 4)
    values = np.zeros((200, 4))
    values[:100], values[100:] = -1.0, 1.0
    rng, covered = np.random.default_rng(3), 0
    for repetition, reports in enumerate(surveys(mechanism, [values] * 80, rng)):
        found = mechanism.estimate(reports)
        held = bool(reaches(found, np.zeros(4), 0.95)[0])
        covered += held
        if repetition % 8 == 0:
            low, high = found.interval()
            assert held == (low[0] <= 0.0 <= high[0])
    assert enough(covered, 80)


@pytest.mark.parametrize(
    "mechanism",
    [
        FiniteChannel.from_floats(np.asarray(KaryChannel(2, np.arange(2), 8.0)), PrivacyTarget(8.0)),
        KaryResponse.from_channel(KaryChannel(3, np.arange(3), 8.0)),
        KaryResponse.from_channel(KaryChannel(3, np.arange(2), 8.0, 0.05)),
    ],
    ids=["finite", "k-ary", "k-ary, delta"],
)
@pytest.mark.parametrize("answers", [(300, 0), (0, 300), (150, 150)])
@pytest.mark.parametrize("population", [False, True])
def test_frequencies_when_flips_are_rare(mechanism, answers, population):
    """Equal counts have equal intervals, so that 1000 repetitions are quick."""
    channel = mechanism.channel
    users = np.zeros(len(channel), dtype=int)
    users[[0, -1]] = answers
    truth, rng = users / 300, np.random.default_rng(4)
    if population:
        counts = rng.multinomial(300, truth @ channel, size=300)
    else:
        counts = np.sum(
            [rng.multinomial(n, row, size=300) for n, row in zip(users, channel, strict=True)], axis=0
        )
    kinds, place = np.unique(counts, axis=0, return_inverse=True)
    covered = np.empty(kinds.shape, dtype=bool)
    for number, row in enumerate(kinds):
        estimate = mechanism.estimate_from_counts(row, population)
        covered[number] = reaches(estimate, truth, 0.95)
        if number % 20 == 0:
            low, high = estimate.interval()
            assert (covered[number] == (low <= truth + 1e-12) & (truth - 1e-12 <= high)).all()
    for column in covered[place.ravel()].sum(axis=0).tolist():
        assert enough(column, 300)


@pytest.mark.parametrize("kind", [Laplace, Duchi, Piecewise, Hybrid, SquareWave, DiscretePiecewise])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_intervals_are_not_wide_in_ordinary_cases(kind, epsilon):
    """10 000 users in the middle of the range: at most 6 % wider than a normal one with the true variance."""
    mechanism = kind(epsilon)
    truth = np.sqrt(mechanism.variance(0.0) / 10_000)
    widths = [
        np.subtract(*estimate.interval()[::-1]) for estimate in estimates(mechanism, np.zeros(10_000), 5, 6)
    ]
    assert np.mean(widths) < 1.06 * 2 * 1.959964 * truth
    assert np.mean(widths) > 0.97 * 2 * 1.959964 * truth


def test_estimates_say_where_coverage_is_not_promised():
    mechanism = Piecewise(1.0)
    few = mechanism.estimate(mechanism.randomize([0.5] * 29, rng=1))
    many = mechanism.estimate(mechanism.randomize([0.5] * 30, rng=1))
    assert many.notes == ()
    assert "fewer than 30 reports" in few.notes[0]
    assert "note: fewer than 30" in str(few)
    assert few.as_json()["notes"] == list(few.notes)
    assert Duchi(1.0).estimate([0, 1]).notes == ()  # exact limits hold for any number
    sampled = AttributeSampling.of(Laplace, 1.0, ["a", "b"], estimator="scaled")
    found = sampled.estimate(sampled.randomize(np.zeros((40, 2)), rng=1))
    assert found.notes[0].startswith("fewer than 30 reports of 'a', 'b'")
    response = KaryResponse.from_channel(KaryChannel(3, np.arange(3), 1.0))
    assert "fewer than 30 users" in str(response.estimate([0, 1, 2]))
    assert response.estimate([0, 1, 2] * 10).notes == ()


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_what_is_printed_and_saved_is_the_interval(epsilon):
    mechanism = DiscretePiecewise(epsilon)
    estimate = mechanism.estimate(mechanism.randomize([-1.0] * 50, rng=1))
    low, high = estimate.interval()
    document = estimate.as_json()
    assert (document["low"], document["high"]) == (low, high)
    assert f"95% [{low:.6g}, {high:.6g}]" in str(estimate)
    assert estimate.value - low != pytest.approx(high - estimate.value, rel=1e-3)  # no normal interval
