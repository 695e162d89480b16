"""Estimates: unbiased exactly, covariance by enumeration, refusals where nothing can be known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import FrequencyEstimate
from mechdesign.core.errors import DataError, EstimationError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget
from mechdesign.primitives.kary import KaryWeights
from tests.support.channels import dense_weights

SIXTEENTHS = {  # rows in sixteenths, so that every expected count is an exact double
    "square": [[8, 4, 4], [4, 8, 4], [4, 4, 8]],
    "skewed": [[10, 4, 2], [4, 8, 4], [3, 3, 10]],
    "more reports": [[6, 4, 4, 2], [4, 6, 2, 4], [2, 4, 4, 6]],
}


def finite(rows: list[list[int]]) -> FiniteChannel:
    return FiniteChannel(np.array(rows, dtype=np.int64) * (TOTAL // 16), PrivacyTarget(2.0))


def structured(kept: list[int], size: int = 4) -> KaryResponse:
    """A k-ary response with own 1/4 and the rest on the kept answers, in exact eighths."""
    high, low = {2: (4, 2), 3: (4, 1), 4: (3, 1)}[len(kept)]
    weights = KaryWeights(size, len(kept), TOTAL // 4, high * (TOTAL // 8), low * (TOTAL // 8))
    return KaryResponse(weights, np.array(kept), 2.0, 0.25)


MECHANISMS = {name: finite(rows) for name, rows in SIXTEENTHS.items()}
MECHANISMS |= {
    "structured, two kept": structured([2, 0]),
    "structured, all but one kept": structured([1, 3, 0], 4),
    "structured, all kept": KaryResponse(
        KaryWeights(3, 3, TOTAL // 4, TOTAL // 2, TOTAL // 8), np.array([1, 2, 0]), 2.0, 0.25
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("population", [False, True])
def test_the_estimate_of_the_expected_counts_is_the_truth(name, population):
    """The estimate is linear in the counts, so this is unbiasedness, up to rounding."""
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(1)
    for _ in range(20):
        answers = rng.integers(0, 50, mechanism.labels.size) * 16
        answers[0] += 16
        expected = answers @ mechanism.channel
        estimate = mechanism.estimate_from_counts(expected, population)
        assert estimate.value == pytest.approx(answers / answers.sum(), abs=1e-13)
        assert estimate.users == answers.sum()


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("answers", [(0, 0, 1), (0, 1, 2), (2, 2, 2)])
def test_mean_and_covariance_by_enumeration_of_all_reports(name, answers):
    """Every outcome of three users with its probability: mean equals truth, covariance the formula's."""
    mechanism = MECHANISMS[name]
    channel = mechanism.channel
    size, reports = channel.shape
    mean, second = np.zeros(size), np.zeros((size, size))
    for outcome in product(range(reports), repeat=3):
        chance = np.prod([channel[answer, report] for answer, report in zip(answers, outcome, strict=True)])
        if chance == 0:
            continue
        value = mechanism.estimate_from_counts(np.bincount(outcome, minlength=reports)).value
        mean += chance * value
        second += chance * np.outer(value, value)
    truth = np.bincount(answers, minlength=size) / 3
    covariance = second - np.outer(mean, mean)
    assert mean == pytest.approx(truth, abs=1e-12)
    # The formula at the truth: the expected counts of 48 such groups of three, which are whole sixteenths.
    at_truth = mechanism.estimate_from_counts(48 * 3 * truth @ channel)
    # An answer that nobody gave and that others cannot cause has variance 0, but the server cannot know.
    known = np.diag(covariance) > 1e-12
    assert at_truth.standard_error[known] ** 2 * 48 == pytest.approx(np.diag(covariance)[known], abs=1e-12)
    assert (at_truth.standard_error[~known] > 0).all()
    if at_truth.covariance is not None:
        assert at_truth.covariance * 48 == pytest.approx(covariance, abs=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_population_errors_add_the_variance_of_the_draw(name):
    """One user drawn from the population: the variance of the estimate over draw and noise, enumerated."""
    mechanism = MECHANISMS[name]
    channel = mechanism.channel
    size, reports = channel.shape
    population = np.arange(1, size + 1) / np.arange(1, size + 1).sum()
    mean, second = np.zeros(size), np.zeros((size, size))
    for answer, report in product(range(size), range(reports)):
        chance = population[answer] * channel[answer, report]
        if chance == 0:
            continue
        value = mechanism.estimate_from_counts(np.bincount([report], minlength=reports)).value
        mean += chance * value
        second += chance * np.outer(value, value)
    users = 16 * int(np.arange(1, size + 1).sum())
    formula = mechanism.estimate_from_counts(users * (population @ channel), population=True)
    assert formula.standard_error**2 * users == pytest.approx(
        np.diag(second - np.outer(mean, mean)), abs=1e-12
    )


@pytest.mark.parametrize("kept", [[2, 0], [1, 3, 0], [0, 1, 2, 3]])
@pytest.mark.parametrize("population", [False, True])
def test_structured_estimates_equal_those_of_the_whole_matrix(kept, population):
    mechanism = structured(kept)
    whole = FiniteChannel(dense_weights(mechanism.weights, kept), PrivacyTarget(2.0, 0.25))
    answers = np.array([300, 200, 400, 100]) * 16
    rng = np.random.default_rng(3)
    for _ in range(10):  # estimates stay inside the simplex, where both use the same plug-in truth
        counts = rng.multinomial(answers.sum(), answers / answers.sum() @ whole.channel)
        one, other = (item.estimate_from_counts(counts, population) for item in (mechanism, whole))
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_indistinguishable_answers_are_named():
    mechanism = md.solve(
        md.RandomizedResponse(prior=[0.9, 0.06, 0.04], epsilon=0.5, labels=["a", "b", "c"])
    ).mechanism()
    with pytest.raises(EstimationError, match=r"'a', 'b', 'c'.*same reports"):
        mechanism.estimate(["a", "a"])
    rows = [[8, 4, 4], [4, 8, 4], [8, 4, 4]]
    with pytest.raises(EstimationError, match="answers '0', '2' lead to the same reports"):
        finite(rows).estimate([0, 1, 2])


@pytest.mark.parametrize("rows", [[[8, 4, 4], [4, 8, 4], [6, 6, 4]], [[8, 8], [4, 12], [12, 4]]])
def test_a_singular_channel_is_refused_although_all_rows_differ(rows):
    with pytest.raises(EstimationError, match=r"singular \(rank 2 for 3 answers\)"):
        finite(rows).estimate([0, 1, 1])


def test_constant_structured_channel_is_refused():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.0)).mechanism()
    with pytest.raises(EstimationError, match="cannot be separated; with epsilon = 0 and delta = 0"):
        mechanism.estimate([0, 0])


def test_reports_that_no_answer_can_cause_are_refused_naming_the_row():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.45, 0.03, 0.02], epsilon=1.0)).mechanism()
    with pytest.raises(DataError, match="row 3: no answer can cause the report '3'"):
        mechanism.aggregator().update([0, 1, 3])
    rows = [[8, 8, 0], [4, 12, 0]]
    with pytest.raises(DataError, match="row 1: no answer can cause the report '2'"):
        finite(rows).estimate([2, 0])


def test_no_reports_are_refused():
    with pytest.raises(DataError, match="give at least one report"):
        finite(SIXTEENTHS["square"]).estimate([])


def test_intervals_are_normal_and_bonferroni_is_wider():
    estimate = FrequencyEstimate(np.array([0.4, 0.6]), np.array([0.1, 0.2]), 10, ("a", "b"))
    low, high = estimate.interval(0.95)
    assert high - estimate.value == pytest.approx(1.959963984540054 * estimate.standard_error)
    assert estimate.value - low == pytest.approx(high - estimate.value)
    together = estimate.interval(0.95, simultaneous=True)[1] - estimate.value
    assert together == pytest.approx(2.241402727604947 * estimate.standard_error)  # 1 - 0.05 / 4
    for level in (0.0, 1.0, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="level"):
            estimate.interval(level)


def test_projection_is_the_nearest_probability_vector():
    rng = np.random.default_rng(6)
    for _ in range(50):
        vector = rng.normal(0.3, 0.5, 4)
        estimate = FrequencyEstimate(vector, np.zeros(4), 1, tuple("abcd"))
        point = estimate.projected()
        assert point.sum() == pytest.approx(1.0)
        assert point.min() >= 0
        others = rng.dirichlet(np.ones(4), 200)
        # nearest: the angle to every other point of the simplex is at least a right one
        assert ((vector - point) @ (others - point).T <= 1e-12).all()
