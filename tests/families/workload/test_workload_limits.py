"""Intervals of linear queries, their quantiles and events: the score test, and not a multiple of an error."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from benchmarks.coverage_workload import drawn_counts
from mechdesign.collect.intervals import quantile_ends, rare_step, tail_of
from mechdesign.families.workload.event_release import ClassCurves
from mechdesign.families.workload.weights import FEW

QUANTILE = 1.959964


def queries(size, epsilon):
    return md.solve(md.LinearQueries(workload={"name": "prefix", "size": size}, epsilon=epsilon)).mechanism()


@pytest.fixture(scope="module")
def fine():
    return queries(8, 1.5)


@pytest.fixture(scope="module")
def events():
    problem = md.EventCounts(slots=4, most=2, prior=[0.6, 0.3, 0.1], epsilon=3.0)
    return md.solve(problem, "kary").mechanism()


def test_ordinary_intervals_are_hardly_wider_than_normal_ones(fine):
    """At 10 000 users: within 1 %, for users at hand and for a population."""
    counts = np.bincount(fine.draw(np.arange(10_000) % 8, fine.source(1)), minlength=fine.counters)
    for population in (False, True):
        estimate = fine.estimate_from_counts(counts, population)
        low, high = estimate.interval()
        assert (high - low) / (2 * QUANTILE * estimate.standard_error) == pytest.approx(1.0, abs=0.01)


def test_the_law_of_an_answer_has_the_moments_of_its_score(fine):
    """Under the likely shares the cumulants are those of the channel, report by report."""
    shares = np.arange(1.0, 9.0) / 36.0
    channel = np.stack([fine.weights.row(code) / 2.0**62 for code in range(8)])
    scores = fine.workload.rows @ fine.value.solver
    for population in (False, True):
        limits = fine._scores.limits(fine.workload.rows @ shares, shares, 10**9, population)
        second, third, fourth = limits._cumulants(limits.value)
        laws = [shares @ channel] if population else channel
        weights = [1.0] if population else shares
        expected = np.zeros((3, 7))
        for weight, law in zip(weights, laws, strict=True):
            central = scores - (scores @ law)[:, None]
            two, three, four = (central**power @ law for power in (2, 3, 4))
            expected += weight * np.stack([two, three, four - 3.0 * two**2])
        for found, right in zip((second, third, fourth), expected, strict=True):
            assert found == pytest.approx(right, rel=1e-5, abs=1e-9)


def test_queries_with_any_numbers_have_limits_within_their_range(fine):
    """A mean of the types' numbers: users who all have the largest one, and those who have the least."""
    numbers = np.arange(8.0)
    scores = type(fine._scores)(numbers[None], fine.value.query_moments)
    for code in (0, 7):
        held = np.zeros(8, dtype=np.int64)
        held[code] = 40
        hits, trials = 0, 0
        for counts, times in drawn_counts(fine, held, False, 300, np.random.default_rng(2)):
            shares = fine.value.shares_from(counts)
            value = np.array([numbers @ shares])
            inside = scores.limits(value, shares, 40, False).reach(code - value, 0.025)
            hits, trials = hits + times * bool(inside[0]), trials + times
        assert hits / trials > 0.93 - 3 * (0.93 * 0.07 / trials) ** 0.5


@pytest.mark.parametrize("population", [False, True])
def test_a_query_with_one_answer_for_all_types_is_known(population):
    """The range of all types: rounding errors are no noise, whatever the counts."""
    mechanism = md.solve(md.LinearQueries(workload={"name": "ranges", "size": 4}, epsilon=1.0)).mechanism()
    whole = int(np.flatnonzero(mechanism.workload.rows.min(axis=1) == 1.0)[0])
    rng = np.random.default_rng(9)
    for _ in range(20):
        counts = rng.multinomial(500, rng.dirichlet(np.ones(mechanism.counters)))
        estimate = mechanism.estimate_from_counts(counts, population)
        low, high = (end[whole] for end in estimate.interval())
        assert (low, high) == (pytest.approx(1.0, abs=1e-6), pytest.approx(1.0, abs=1e-6))


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_quantiles_cover_as_often_as_stated_and_not_more_than_is_needed(fine, share):
    """Even types: the cumulative share is ``share`` at a type, where both ends of the test are in use."""
    held = np.full(8, 100)
    first = int(np.argmax(np.cumsum(held) >= share * 800))
    sides = np.zeros(2)
    widths = []
    for counts, _ in drawn_counts(fine, held, False, 300, np.random.default_rng(3)):
        found = fine.estimate_from_counts(counts).quantile(share)
        low, high = (fine.labels.shown().index(end) for end in (found.low, found.high))
        sides += [low <= first, first <= high]
        widths.append(high - low)
    assert (sides >= 300 * 0.95).all()
    assert np.mean(widths) > 1.0


def test_the_interval_of_a_quantile_is_made_of_the_types_that_are_not_rejected(fine):
    """Against the intervals of the cumulative shares, which are the queries of this workload."""
    counts = np.bincount(fine.draw(np.arange(600) % 8, fine.source(4)), minlength=fine.counters)
    estimate = fine.estimate_from_counts(counts)
    low, high = estimate.interval(0.9)
    for share in (0.1, 0.37, 0.5, 0.8):
        possible = [
            code
            for code in range(8)
            if (code == 0 or low[code - 1] <= share) and (code == 7 or share <= high[code])
        ]
        found = estimate.quantile(share, 0.9)
        shown = fine.labels.shown()
        assert (found.low, found.high) == (shown[min(possible)], shown[max(possible)])
        ends = quantile_ends(estimate.value, estimate.limits, share, tail_of(0.9))
        assert ends == (min(possible), max(possible))


def test_an_integer_at_the_end_of_a_report_belongs_to_the_next_one(fine):
    """Many users and few, next to an exact sum: one of 2**62 integers more would break the row."""
    weights = fine.weights
    for code in (0, 3):
        ends = np.cumsum(weights.row(code).astype(object))
        drawn = [int(end) + step for end in ends[:-1] for step in (-1, 0) if 0 <= int(end) + step < 2**62]
        right = [sum(1 for end in ends if end <= number) for number in drawn]
        repeated = drawn * (FEW // len(drawn) + 2)
        assert len(repeated) > FEW
        codes = np.full(len(repeated), code)
        found = weights.draw(codes, np.array(repeated, dtype=np.int64))
        assert found[: len(drawn)].tolist() == right
        alone = weights.draw(codes[: min(FEW, len(drawn))], np.array(drawn[:FEW], dtype=np.int64))
        assert alone.tolist() == right[:FEW]


def test_rare_reports_of_both_signs_have_a_step():
    assert rare_step(0.0, np.array([0.02]), np.array([0.02])) == pytest.approx(1.0)
    assert rare_step(0.5, np.array([0.25]), np.array([-0.1])) == pytest.approx(0.5)


@pytest.mark.parametrize("population", [False, True])
def test_errors_of_events_are_those_of_their_truth(events, population):
    """Half of the users have an event: its spread of 1/4 counts for a population, and not for the users."""
    held = np.zeros(events.labels.size, dtype=np.int64)
    held[events.labels.encode(["none", "0"])] = 2000
    found = [
        (estimate.value[0], estimate.standard_error[0])
        for counts, _ in drawn_counts(events, held, population, 400, np.random.default_rng(5))
        for estimate in [events.estimate_from_counts(counts, population)]
    ]
    values, errors = np.array(found).T
    assert errors.mean() == pytest.approx(values.std(), rel=0.12)
    rows = events.weights.channel
    pairs = {pair: place for place, pair in enumerate(events.states.pairs)}
    noise = [rows.variances[pairs[pair]] for pair in ((0, 0), (1, 1))]
    expected = np.mean(noise) + (0.25 if population else 0.0)
    assert errors.mean() == pytest.approx(np.sqrt(expected / 4000), rel=0.03)


def test_reports_without_any_event_leave_the_error_that_they_can_have(events):
    """All reports blank, or all alike: an empirical spread is 0, that of no users with these reports is."""
    counts = np.zeros(events.counters, dtype=np.int64)
    counts[0] = 200
    estimate = events.estimate_from_counts(counts)
    least = float(events.weights.channel.variances.min())
    assert (estimate.standard_error >= np.sqrt(least / 200) * (1 - 1e-9)).all()
    low, high = estimate.interval()
    assert (high - low > 2 * np.sqrt(least / 200)).all()
    channel, held = events.weights.channel, events.states.events
    quiet, busy = (float(channel.variances[held == count].min()) for count in (0, 1))
    for mean in (0.05, 0.2):  # of users with such a mean, however blank the reports are
        law = estimate.limits.law(mean - estimate.value, 1.0)
        assert (200 * law.deviation**2 >= (1 - mean) * quiet + mean * busy - 1e-9).all()


def test_bounds_of_events_hold_for_any_users(events):
    """Random users of all kinds: the averages of the moments lie between the envelopes."""
    channel, rng = events.weights.channel, np.random.default_rng(6)
    moments = np.stack([channel.moment(order) for order in (2, 3, 4)])
    curves = ClassCurves.of(events.states.events, moments)
    for _ in range(50):
        shares = rng.dirichlet(np.full(len(events.states.pairs), 0.2))
        mean, square = shares @ events.states.events, shares @ moments[0]
        assert curves.second_at(np.array([mean]), np.array([square]))[0] == pytest.approx(square)
        squares = shares @ events.states.events**2
        assert curves.least_square(np.array([mean]), np.array([square]))[0] <= squares + 1e-9
        third, fourth = curves.cumulants(np.array([mean]))
        c, (two, three, four) = events.states.events, moments
        spread = two - c**2
        exact = shares @ (three - 3.0 * c * two + 2.0 * c**3)
        assert third[0, 0] - 1e-9 <= exact <= third[1, 0] + 1e-9
        exact = shares @ (four - 4.0 * c * three + 6.0 * c**2 * two - 3.0 * c**4 - 3.0 * spread**2)
        assert exact <= fourth[1, 0] + 1e-9
