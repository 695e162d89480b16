"""The laws behind confidence limits, against enumeration and against what they are made of."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, stats

from mechdesign.collect.intervals import (
    NormalLimits,
    bisected,
    law_of_average,
    score_distances,
    tail_chance,
    tail_of,
)
from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.means import BinomialLimits, binomial_limits
from mechdesign.primitives import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget
from mechdesign.primitives.mean_limits import Curves, ReportSums, ScoreLimits, lower_envelope


@pytest.mark.parametrize("trials", [1, 7, 40])
def test_binomial_limits_are_where_a_tail_has_the_stated_chance(trials):
    counts = np.arange(trials + 1)
    low, high = binomial_limits(counts, trials, 0.025)
    assert low[0] == 0.0
    assert high[-1] == 1.0
    assert stats.binom.sf(counts[1:] - 1, trials, low[1:]) == pytest.approx(np.full(trials, 0.025))
    assert stats.binom.cdf(counts[:-1], trials, high[:-1]) == pytest.approx(np.full(trials, 0.025))


def test_binomial_limits_cover_when_chances_differ_from_user_to_user():
    """Hoeffding 1956: the law of the count is enumerated for users with chances of their own."""
    rng = np.random.default_rng(4)
    low, high = binomial_limits(np.arange(9), 8, 0.025)
    for _ in range(200):
        chances = rng.beta(0.3, 0.3, 8)
        law = np.array([1.0])
        for chance in chances:
            law = np.convolve(law, [1.0 - chance, chance])
        inside = (low <= chances.mean()) & (chances.mean() <= high)
        assert law[inside].sum() >= 0.95


def test_pearson_tails_are_those_of_scipy_and_go_over_into_the_normal_law():
    distance = np.array([0.0, 0.5, 1.96, 3.3])
    for skewness in (-2.0, -0.3, 0.3, 2.0, 6.0):
        expected = stats.pearson3.sf(distance, skewness)
        assert tail_chance(distance, np.full(4, skewness)) == pytest.approx(expected, rel=1e-9)
    for side in (-1.0, 1.0):
        below, above = (tail_chance(distance, np.full(4, side * size)) for size in (0.99e-4, 1.01e-4))
        assert below == pytest.approx(above, rel=1e-4)


def test_distances_are_normal_for_a_normal_law_and_wider_for_every_addition():
    def distances(**changes):
        parts = {"third": 0.0, "fourth": 0.0, "step": 0.0, "freedom": np.inf} | changes
        law = law_of_average(100, np.array(4.0), *(np.array(part) for part in parts.values()))
        return score_distances(lambda distance, side: law, np.array(0.1), 0.025)

    plain = NormalLimits(0.2).distances(0.025)
    assert np.array(distances()) == pytest.approx(np.array(plain), rel=1e-8)
    for change in ({"third": 30.0}, {"fourth": 800.0}, {"step": 4.0}, {"freedom": 30.0}):
        assert distances(**change)[0] > plain[0]
    assert np.array(distances(step=4.0)) == pytest.approx(np.array(plain) + 0.02, rel=1e-8)
    student = stats.t.ppf(0.975, 30) * 0.2
    assert np.array(distances(freedom=30.0)) == pytest.approx(np.full(2, student), rel=2e-3)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_halvings_together_are_those_one_after_the_other_to_the_last_bit(shape, levels):
    """Also where what is accepted has gaps, so that a halving may find several ends."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        inside, pitch = rng.random(shape), rng.uniform(0.01, 0.5, shape)
        outside = inside + rng.random(shape)
        low, high = inside, outside
        for _ in range(levels):
            middle = (low + high) / 2.0
            kept = middle // pitch % 2 == 0
            low, high = np.where(kept, middle, low), np.where(kept, high, middle)
        found = bisected(lambda places, pitch=pitch: places // pitch % 2 == 0, inside, outside, levels)
        assert (found[0] == low).all()
        assert (found[1] == high).all()


def test_nothing_random_leaves_no_distance():
    law = law_of_average(10, np.zeros(1), np.zeros(1), np.zeros(1), 0.0)
    down, up = score_distances(lambda distance, side: law, np.zeros(1), 0.025)
    assert max(down[0], up[0]) < 1e-300


def test_a_binomial_share_has_a_standard_error_even_if_all_agree():
    limits = BinomialLimits(np.array([0, 5, 10]), 10, 2.0)
    expected = 2.0 * np.sqrt(np.array([1 / 11 * 10 / 11, 0.25, 1 / 11 * 10 / 11]) / 10)
    assert limits.standard_error() == pytest.approx(expected)


def pieces(mechanism, x):
    """Places where the density of a report is not smooth, for values in [-1, 1]."""
    if isinstance(mechanism, SquareWave):
        b = 2.0 * mechanism.halfwidth
        return [-1.0 - b, x - b, x + b, 1.0 + b]
    start = mechanism._least + (x + 1.0) / 2.0 * mechanism._travel
    return [-mechanism.reach, start, start + mechanism._window, mechanism.reach]


@pytest.mark.parametrize("kind", [Piecewise, SquareWave])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
def test_moments_of_densities_by_integration(kind, epsilon):
    mechanism = kind(epsilon)
    curves, slope = mechanism.curves, float(mechanism.slope)
    unit = 2.0 if kind is SquareWave else 1.0  # its density is that on a range of length 1
    for x in (-1.0, -0.4, 0.0, 1.0):
        edges = pieces(mechanism, x)
        for power, curve in ((2, curves.second), (3, curves.third), (4, curves.fourth)):
            parts = (
                math.exp(mechanism.log_density(np.array([x]), np.array([(a + b) / 2]))[0])
                / unit
                * integrate.quad(lambda y, power=power: (slope * y) ** power, a, b)[0]
                for a, b in pairwise(edges)
                if b - a > 1e-9
            )
            # the curves are linear between their places
            found = np.interp(x, curves.places, curve)
            assert found == pytest.approx(sum(parts), rel=1e-4, abs=1e-4 * curve.max())


def test_moments_of_laplace_and_of_the_hybrid():
    laplace = Laplace(2.0).curves  # scale 1
    assert laplace.fourth[len(laplace.fourth) // 2] == pytest.approx(24.0)
    assert laplace.third[-1] == pytest.approx(1.0 + 3.0 * 2.0)
    hybrid, piecewise, duchi = Hybrid(2.0), Piecewise(2.0).curves, Duchi(2.0).curves
    for name in ("second", "third", "fourth"):
        mixed = hybrid.mixing * getattr(piecewise, name)[-1]
        mixed += (1.0 - hybrid.mixing) * getattr(duchi, name)[-1]
        assert getattr(hybrid.curves, name)[-1] == pytest.approx(mixed)


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0])
def test_moments_of_a_grid_by_enumeration_between_two_knots(epsilon):
    mechanism = DiscretePiecewise(epsilon, 0.0, 3.0)
    x = float(0.3 * mechanism.knots[1] + 0.7 * mechanism.knots[2])
    chances = mechanism.channel.channel
    row = 0.3 * chances[1] + 0.7 * chances[2]
    centred = (mechanism.outputs - 0.5) * 3.0
    curves = mechanism.curves
    for power, curve in ((2, curves.second), (3, curves.third), (4, curves.fourth)):
        found = np.interp((x - 0.5) * 3.0, curves.places, curve)
        assert found == pytest.approx(float(row @ centred**power), rel=1e-9)


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 6.0, 8.0])
def test_what_the_reports_tell_about_the_values_is_true_of_all_values(epsilon):
    """For any values: S is unchanged, and the bound of avg(c^2) is below it, and near for one value."""
    curves = DiscretePiecewise(epsilon).curves
    rng = np.random.default_rng(2)
    for _ in range(200):
        values = rng.uniform(-1, 1, rng.integers(1, 5)) ** rng.choice([1, 3])
        second, mean = np.interp(values, curves.places, curves.second).mean(), values.mean()
        assert curves.second_at(mean, second) == pytest.approx(second, rel=1e-12)
        assert curves.least_square(mean, second) <= (values**2).mean() + 1e-12
    for end in (-1.0, 1.0):
        for observed in (0.0, curves.second.max(), 1e6):
            assert curves.second_at(end, observed) == pytest.approx(curves.second[-1])
            assert curves.least_square(end, curves.second_at(end, observed)) == pytest.approx(1.0, abs=1e-4)


def test_a_curve_that_changes_by_rounding_only_tells_nothing():
    places = np.linspace(-0.5, 0.5, 9)
    second = 1.0 + 1e-16 * np.arange(9)
    curves = Curves(places, second, places, second)
    assert curves.least_square(np.array(0.1), np.array(1.0)) == pytest.approx(0.01)


def test_the_lower_envelope_is_the_largest_convex_function_below():
    rng = np.random.default_rng(1)
    places, values = np.sort(rng.uniform(0, 1, 30)), rng.normal(size=30)
    knots, envelope = lower_envelope(places, values)
    for (left, low), (right, high), place in product(*[list(zip(places, values, strict=True))] * 2, places):
        if left < place < right:
            chord = low + (high - low) * (place - left) / (right - left)
            assert np.interp(place, knots, envelope) <= chord + 1e-12
    assert (np.diff(np.diff(envelope) / np.diff(knots)) > 0).all()


@pytest.mark.parametrize("kind", [Laplace, Piecewise, Hybrid, SquareWave, DiscretePiecewise])
@pytest.mark.parametrize("population", [False, True])
def test_arrays_of_sums_give_what_single_estimates_give(kind, population):
    mechanism = kind(4.0, 0.0, 2.0)
    rng = np.random.default_rng(3)
    moments = []
    for size in (30, 100, 400):
        sums = mechanism.aggregator()
        sums.update(mechanism.randomize(rng.uniform(0, 2, size), rng=rng))
        moments.append(sums.tally.moments())
    slope, share = mechanism.slope, 0.0 if population else 1.0
    table = [(m.count, float(slope * m.mean), float(slope**2 * m.mean_square), share) for m in moments]
    limits = mechanism.limits(ReportSums(*np.array(table).T), float(abs(slope) * moments[0].rounding))
    assert isinstance(limits, ScoreLimits)
    down, up = limits.distances(0.05)
    for place, single in enumerate(moments):
        estimate = mechanism._estimate_from_moments(single, population)
        low, high = estimate.interval(0.9)
        assert estimate.value - low == pytest.approx(down[place], rel=1e-7)
        assert high - estimate.value == pytest.approx(up[place], rel=1e-7)
        assert estimate.standard_error == pytest.approx(limits.standard_error()[place], rel=1e-12)


@pytest.mark.parametrize("kind", [Piecewise, Hybrid, SquareWave, Laplace, DiscretePiecewise])
@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("high", [0, 1, 15])
def test_thirty_users_and_little_noise(kind, population, high):
    """2000 repetitions of users at the two ends: coverage 0.93, fixed seed, error 1e-6."""
    repetitions, users = 2000, 30
    mechanism = kind(8.0, 0.0, 1.0)
    rng = np.random.default_rng(5)
    values = np.tile(np.arange(users) < high, (repetitions, 1)).astype(float)
    if population:
        values = rng.permuted(values, axis=1)[
            np.arange(repetitions)[:, None], rng.integers(30, size=(repetitions, 30))
        ]
    reports = mechanism.randomize(values.ravel(), rng=rng)
    if kind is DiscretePiecewise:
        reports = mechanism.values(reports)
    centred = (reports - 0.5).reshape(values.shape)
    centred *= 1.0 if kind is DiscretePiecewise else float(mechanism.slope)
    sums = ReportSums(users, centred.mean(axis=1), (centred**2).mean(axis=1), 0.0 if population else 1.0)
    down, up = mechanism.limits(sums).distances(0.025)
    error = sums.mean - (high / users - 0.5)
    covered = int(((error <= down) & (-error <= up)).sum())
    assert covered >= stats.binom.ppf(1e-6, repetitions, 0.93)


@pytest.mark.parametrize("kind", [Piecewise, SquareWave, DiscretePiecewise])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_an_interval_reaches_what_lies_within_its_distances(kind, share):
    """The acceptance region of the test is an interval, for many sums and truths."""
    mechanism = kind(6.0)
    rng = np.random.default_rng(8)
    mean = rng.uniform(-1.0, 1.0, 300)
    square = mean**2 + rng.uniform(0.0, 1.0, 300) * float(mechanism.worst_variance())
    limits = mechanism.limits(ReportSums(rng.integers(5, 500, 300), mean, square, share))
    down, up = limits.distances(0.025)
    for factor in (0.1, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 5.0):
        assert (limits.reach(-factor * down, 0.025) == (factor < 1.0)).all()
        assert (limits.reach(factor * up, 0.025) == (factor < 1.0)).all()


@pytest.mark.parametrize("value", [-0.2, 0.0, 0.02, 0.4, 1.0, 1.1])
@pytest.mark.parametrize("population", [False, True])
def test_an_interval_of_a_frequency_reaches_what_lies_within_its_distances(value, population):
    channel = FiniteChannel.from_floats(
        np.array([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.02, 0.02, 0.96]]), PrivacyTarget(5.0)
    )
    values = np.array([value, 0.3, 0.7 - value])
    limits = channel.scores.limits(values, 200, population)
    down, up = limits.distances(0.025)
    several = channel.scores.limits(np.stack([values, values[::-1]]), 200, population)
    assert several.distances(0.025)[0][0] == pytest.approx(down)
    assert several.distances(0.025)[1][0] == pytest.approx(up)
    for factor in (0.1, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 5.0):
        assert (limits.reach(-factor * down, 0.025) == (factor < 1.0)).all()
        assert (limits.reach(factor * up, 0.025) == (factor < 1.0)).all()


@pytest.mark.parametrize("estimator", ["self-normalized", "scaled"])
@pytest.mark.parametrize("kind", [Duchi, CensoringInterval.symmetric, DiscretePiecewise, Laplace])
def test_columns_are_the_limits_of_their_sums(estimator, kind):
    """The sums a benchmark forms in doubles are those that the server forms exactly."""
    mechanism = AttributeSampling.of(kind, 3.0, 4, estimator=estimator, low=0.0, high=1.0)
    rng = np.random.default_rng(9)
    inner, slope = mechanism.inner, float(mechanism.inner.slope)
    sums = mechanism.aggregator()
    sums.update(mechanism.randomize(rng.uniform(0, 1, (80, 4)), rng=rng))
    found = sums.estimate()
    low, high = found.interval()
    for column in range(4):
        moments = sums.tally.moments(column)
        total, square, reports = slope * float(moments.total), slope**2 * float(moments.square), moments.count
        times, count = (4.0, 80) if estimator == "scaled" else (1.0, reports)
        share = 1.0 if estimator == "scaled" else reports / 80
        parts = ReportSums(count, times * total / count, times**2 * square / count, share)
        factor = 1.0 / inner.domain.width
        down, up = inner.limits(parts, 0.0, times).distances(0.025)
        assert found.value[column] - low[column] == pytest.approx(float(down) * factor, rel=1e-6)
        assert high[column] - found.value[column] == pytest.approx(float(up) * factor, rel=1e-6)


@pytest.mark.parametrize("users", [20, 300, 20_000])
@pytest.mark.parametrize("population", [False, True])
def test_errors_are_told_by_the_intervals_where_these_are_much_wider(users, population):
    """The bound of the widths, which saves most searches, changes nothing: against the definition."""
    replaced = []
    for epsilon in (0.5, 2.0, 4.0, 8.0):
        mechanism = KaryResponse.from_channel(KaryChannel(4, np.arange(4), epsilon))
        for seed in range(5):
            answers = np.random.default_rng(seed).choice(4, users, p=[0.97, 0.02, 0.01, 0.0])
            found = mechanism.estimate(mechanism.randomize(answers, rng=seed), population)
            down, up = found.limits.distances(tail_of(0.95))
            assert (down + up <= found.limits.widest(tail_of(0.95))).all()
            told, plain = (down + up) / (2 * 1.959964), found.limits.limits.standard_error()
            plain = plain[found.limits.index]
            wider = told > 1.5 * plain
            replaced.append(bool(wider.any()))
            assert found.standard_error == pytest.approx(np.where(wider, told, plain), rel=1e-6)
            assert ("wider than 0 to 1" in str(found)) == bool((down + up > 1.0).any())
    assert users > 300 or any(replaced)


@pytest.mark.parametrize("low", [1e16, -1e16 - 2, 1e15])
def test_ends_that_doubles_cannot_tell_apart_are_rounded_outwards(low):
    """The doubles from 1e16 are 2 apart: an interval of one double would miss the mean between two."""
    mechanism = Duchi(1.0, low, low + 2.0)
    values = np.repeat([low, low + 2.0], 5000)
    down, up = mechanism.estimate(mechanism.randomize(values, rng=1)).interval()
    assert Fraction(down) <= Fraction(low) + 1 <= Fraction(up)
    assert up - down <= 8.0
