"""Estimates from reports of another mechanism are flagged; those of the right one are not."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.scores import implausible
from mechdesign.families.mean import AttributeSampling, Duchi, Laplace
from mechdesign.primitives import FiniteChannel, PrivacyTarget
from tests.support.statistics import surveys


def survey(epsilon: float, method: str):
    return md.solve(md.RandomizedResponse(prior=[0.4, 0.3, 0.3], epsilon=epsilon), method).mechanism()


@pytest.mark.parametrize("method", ["closed-form", "lp"])
def test_reports_of_a_mechanism_with_less_noise_are_flagged(method):
    """Nearly true answers, read as very noisy ones, give shares far outside of [0, 1]."""
    reports = survey(8.0, method).randomize(np.arange(30_000) % 3 // 2, rng=1)
    estimate = survey(0.5, method).estimate(reports)
    assert "impossible" in estimate.notes[0]
    assert "are these its reports?" in str(estimate)
    assert estimate.as_json()["notes"] == list(estimate.notes)
    assert survey(8.0, method).estimate(reports).notes == ()


@pytest.mark.parametrize("make", [Duchi, Laplace])
def test_means_outside_of_the_range_are_flagged(make):
    reports = np.asarray(make(8.0).randomize(np.ones(20_000), rng=1))
    if make is Laplace:
        reports = reports * 2.0  # of a range twice as wide
        estimate = make(1.0).estimate(reports)
    else:
        estimate = make(1.0).estimate(reports)  # one bit: nearly always up
    assert "impossible" in estimate.notes[0]
    assert "standard errors above 1" in str(estimate)


def test_attributes_are_named():
    honest = AttributeSampling.of(Duchi, 1.0, ["age", "steps"])
    reports = AttributeSampling.of(Duchi, 8.0, ["age", "steps"]).randomize([[1.0, 0.0]] * 20_000, rng=1)
    (note,) = honest.estimate(reports).notes
    assert "'age'" in note
    assert honest.estimate(honest.randomize([[1.0, 0.0]] * 20_000, rng=1)).notes == ()


def test_small_excesses_are_chance_and_no_flag():
    assert implausible(["a", "b"], [1.04, -0.04], [0.01, 0.01], 0.0, 1.0) == ()
    assert implausible(["a"], [0.5], [0.0], 0.0, 1.0) == ()
    assert implausible(["a"], [1.5], [0.0], 0.0, 1.0) != ()


def test_honest_reports_of_a_bad_channel_are_not_flagged():
    """2000 surveys of 100 by a channel whose answers differ much in noise: none is called impossible.

    Surveys with equal counts of reports have equal estimates, so that only the first of them is looked at.
    """
    rows = np.array([[0.01, 0.62, 0.37], [0.12, 0.4, 0.48], [0.0, 1.0, 0.0]])
    mechanism = FiniteChannel.from_floats(rows, PrivacyTarget(8.0))
    answers = np.repeat([0, 1, 2], [0, 5, 95])
    random, surveys = np.random.default_rng(3), {}
    for _ in range(2000):
        reports = mechanism.randomize(answers, rng=random, anyway=True)
        surveys.setdefault(tuple(np.bincount(reports, minlength=3).tolist()), reports)
    for reports in surveys.values():
        estimate = mechanism.estimate(reports)
        assert not [note for note in estimate.notes if "impossible" in note]
    assert any("differ much in noise" in note for note in estimate.notes)


@pytest.mark.parametrize("users", [1, 2, 5, 30])
def test_few_honest_numbers_are_not_flagged(users):
    random = np.random.default_rng(4)
    mechanism = Laplace(2.0)
    for reports in surveys(mechanism, [np.ones(users)] * 2000, random):
        estimate = mechanism.estimate(reports)
        assert "impossible" not in str(estimate.notes)
