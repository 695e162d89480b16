"""Scores of every mechanism: their average is the estimate, their mean the answer, their likelihood a law.

What has no scores is declared with the reason; a mechanism that is left out fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mechdesign.analysis.report_scores import ReportScores, combined, scores_of
from mechdesign.core.errors import MethodError
from mechdesign.families.marginals.oracles.support import SupportOracle
from tests.contract.test_every_mechanism import KINDS, NO_SERVER, PROTOCOLS, client_of, made, values_for

WITHOUT = {
    "marginal-release": "users report a table each; marginals are fitted together",
    "marginal-rival": "users report a table each; marginals are fitted together",
    "prefix-hashing": "which strings have an estimate depends on the reports of all users",
    "shuffled": "a mechanism behind a shuffler: score the reports of the inner one",
}
"""Collecting mechanisms without scores, and why."""

SCORED = [kind for kind in KINDS if kind not in NO_SERVER and kind not in WITHOUT and kind not in PROTOCOLS]
BY_LIKELIHOOD = ("joint-response",)
"""Mechanisms whose estimate is a maximum of a likelihood; their scores are unbiased all the same."""
SETS = ("key-value-selection", "set-hashing", "set-selection")
"""Mechanisms of sets: an item has a score each, which do not sum to 1."""
WHOLE = ("key-value-selection", "weekly-response")
"""Reports that support categories with scores of more than two values, so that they are a table."""
DRAWS = 60_000


def estimates_of(mechanism: Any, reports: Any) -> list[np.ndarray]:
    """Return the estimate of each question, by the mechanism's own server."""
    estimate = mechanism.estimate(reports)
    if hasattr(estimate, "results"):
        return [
            np.atleast_1d(result.estimate.value) for result in estimate.results[: len(mechanism.questions)]
        ]
    if hasattr(estimate, "table"):
        return [np.atleast_1d(estimate.table([axis]).value) for axis in range(mechanism.attributes.count)]
    if hasattr(mechanism, "per_user"):
        return [np.atleast_1d(value) for value in estimate.value]
    return [np.atleast_1d(estimate.value)]


@pytest.mark.parametrize("kind", [kind for kind in SCORED if kind not in BY_LIKELIHOOD])
def test_the_average_of_scores_is_the_estimate(kind):
    mechanism: Any = made(kind)
    reports = client_of(mechanism)(values_for(mechanism, 300), rng=1)
    for scores, value in zip(scores_of(mechanism, reports), estimates_of(mechanism, reports), strict=True):
        if scores.information.any():
            assert np.allclose(scores.mean(), value, rtol=1e-9, atol=1e-9), scores.question


@pytest.mark.parametrize("kind", SCORED)
def test_scores_and_likelihoods_are_those_of_the_answer(kind):
    """Everybody gives one answer: scores average to it (6 standard errors), likelihood ratios to 1.

    The average of a set is 1 for each of its items, and there are no likelihoods of single items.
    E[P(r|j)/P(r|i) | i] = 1 where every report of j is one of i; 1,000 averages: error rate below 1e-5.
    """
    mechanism: Any = made(kind)
    people = np.repeat(values_for(mechanism, 2)[1 if kind in SETS else 0 :][:1], DRAWS, axis=0)
    for scores in scores_of(mechanism, client_of(mechanism)(people, rng=2)):
        inside = scores.information > 0.0
        if scores.is_number or scores.names != scores.answers or not inside.any():
            continue
        values = scores.values[inside]
        error = values.std(axis=0) / np.sqrt(len(values)) + 1e-12
        answer = int(values.mean(axis=0).argmax())
        assert (np.abs(values.mean(axis=0) - np.eye(len(error))[answer]) < 6.0 * error).all()
        if kind in SETS:
            assert scores.likelihood is None
            continue
        ratios = _ratios(scores, inside, answer)
        assert (
            np.abs(ratios.mean(axis=0) - 1.0) < 6.0 * ratios.std(axis=0) / np.sqrt(len(ratios)) + 1e-9
        ).all()


@pytest.mark.parametrize("kind", SCORED)
def test_scores_in_pieces_are_those_of_the_table(kind):
    """Sums, columns and squares from what reports support, for every mechanism whose reports do."""
    mechanism: Any = made(kind)
    reports = client_of(mechanism)(values_for(mechanism, 200), rng=3)
    weights = np.random.default_rng(4).random(200)
    for scores in mechanism.report_scores(reports):
        assert [name for name in scores.names if scores.place(name) < 0] == []
        large = scores.without_table()
        if large is scores:
            assert kind in WHOLE or not isinstance(mechanism, SupportOracle)
            continue
        assert large.is_large
        assert large.likelihood is None
        assert np.allclose(large.mean(), scores.mean())
        for place in range(len(scores.names)):
            assert np.allclose(large.column(place), scores.values[:, place])
        middle = scores.mean()
        squares = large.support.squares(weights, middle)
        assert np.allclose(squares, weights @ (scores.values - middle) ** 2)
        assert np.allclose(large.support.dense(), scores.values)
        halves = [mechanism.report_scores(part)[0] for part in (reports[:90], reports[90:])]
        assert np.allclose(combined([halves[0].without_table(), halves[1]]).mean(), scores.mean())
        with pytest.raises(MethodError, match="name a category"):
            large.require_table()


def _ratios(scores: ReportScores, inside: Any, answer: int) -> np.ndarray:
    """Return the likelihood ratios of the answers that can send all that this one sends."""
    assert scores.likelihood is not None
    likelihood = scores.likelihood[inside]
    ratios = likelihood / likelihood[:, [answer]]
    return np.asarray(ratios[:, (likelihood > 0.0).all(axis=0)])


@pytest.mark.parametrize("kind", sorted(WITHOUT))
def test_what_has_no_scores_says_so(kind):
    mechanism: Any = made(kind)
    reports = client_of(mechanism)(values_for(mechanism, 300), rng=1)
    with pytest.raises(MethodError, match="no average of one score a report"):
        scores_of(mechanism, reports)
