"""Shares for pictures: nearer in total, certified priors, what they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from mechdesign.analysis import shrinkage, shrunk, top
from mechdesign.analysis.likelihood_tests import most_likely_shares
from mechdesign.analysis.shrinkage import METHODS, _likeliest, _roughness, _smooth, shown_of
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.families.mean import Duchi
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import best_size


def estimate_of(truth: np.ndarray, users: int, epsilon: float, seed: int):
    oracle = SubsetSelection.of(len(truth), epsilon, size=best_size(len(truth), epsilon))
    answers = np.random.default_rng(seed).choice(len(truth), users, p=truth)
    return oracle.estimate(oracle.randomize(answers, rng=seed))


def zipf(size: int, power: float = 1.1) -> np.ndarray:
    shares = np.arange(1, size + 1) ** -power
    return shares / shares.sum()


@pytest.mark.parametrize(
    ("method", "size", "users", "most"), [("empirical-bayes", 100, 20_000, 0.8), ("cut", 1000, 50_000, 0.85)]
)
def test_squared_errors_are_smaller_than_those_of_the_projection(method, size, users, most):
    truth, ratios = zipf(size), []
    for seed in range(5):
        estimate = estimate_of(truth, users, 1.0, seed)
        shown = shrunk(estimate, method).value
        ratios.append(
            ((shown - truth) ** 2).sum() / ((project_to_simplex(estimate.value) - truth) ** 2).sum()
        )
    assert np.mean(ratios) < most


def test_a_smooth_distribution_is_nearer_by_cumulative_shares():
    places = np.linspace(-3, 3, 40)
    truth = np.exp(-places * places / 2)
    truth /= truth.sum()
    ratios = []
    for seed in range(5):
        estimate = estimate_of(truth, 5000, 1.0, seed)
        shown, flat = (shrunk(estimate, "smooth").value, project_to_simplex(estimate.value))
        ratios.append(np.abs(np.cumsum(shown - truth)).max() / np.abs(np.cumsum(flat - truth)).max())
    assert np.mean(ratios) < 0.95


@pytest.mark.parametrize("shape", ["bell", "falling", "even"])
def test_few_reports_do_not_make_humps(shape):
    """A law that is as smooth as the prior says is met far better than by the projection, from any order."""
    places = np.arange(24) / 24
    truth = {"bell": np.exp(-(((places - 0.5) / 0.15) ** 2) / 2), "falling": np.exp(-5 * places)}.get(
        shape, np.ones(24)
    )
    truth = truth / truth.sum()
    apart = np.zeros(2)
    for seed in range(10):
        estimate = estimate_of(truth, 1500, 1.0, seed)
        both = (shrunk(estimate, "smooth").value, project_to_simplex(estimate.value))
        apart += [np.abs(np.cumsum(one - truth)).mean() for one in both]
    assert apart[0] < 0.75 * apart[1]


def test_the_likeliest_logs_and_their_evidence_by_another_way():
    """A general optimizer ends at the same place; the integral over a grid is Laplace's, up to 2 %."""
    value, noise = np.array([0.5, 0.3, 0.2]), 0.02
    weight, basis = np.eye(3) / noise**2, np.eye(3)
    rough, straight = _roughness(3, 2)
    evidences, integrals = [], []
    plane = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
    steps = np.linspace(-1.2, 1.2, 481)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2) @ plane
    for strength in (0.01, 1.0):
        precision = strength * rough + straight
        place, evidence = _likeliest(value, weight, precision, basis, np.zeros(3))

        def loss(logs, precision=precision):
            shares = np.exp(logs) / np.exp(logs).sum(axis=-1, keepdims=True)
            rest = value - shares
            return ((rest @ weight * rest).sum(-1) + (logs @ precision * logs).sum(-1)) / 2

        other = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
        assert loss(place) == pytest.approx(other.fun, rel=1e-8)
        shape = np.linalg.eigvalsh(precision)[1:]  # without the constant, whose precision cancels
        around = np.exp(-loss(grid + place - place.mean())).sum() * (steps[1] - steps[0]) ** 2
        integrals.append(np.log(around * np.sqrt(shape.prod()) / (2 * np.pi)))
        evidences.append(evidence)
    np.testing.assert_allclose(evidences, integrals, atol=0.02)


def test_many_bins_are_made_of_the_smoothest_curves():
    """96 curves of 120 bins are what all 120 unit vectors give, to a hundredth of a standard error."""
    places = np.linspace(-3, 3, 120)
    truth = np.exp(-places * places / 2)
    truth /= truth.sum()
    noise = 0.004 * np.random.default_rng(1).normal(size=120)
    value, covariance = truth + noise - noise.mean(), 0.004**2 * np.eye(120)
    some = _smooth(value, covariance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shrinkage, "CURVES", 200)
        assert np.abs(_smooth(value, covariance) - some).max() < 0.01 * 0.004


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [2, 3, 30])
def test_it_is_a_distribution_and_says_what_it_is_not(method, size):
    two = KaryResponse.of(2, 1.0).estimate([0, 1, 1])
    shown = shrunk(estimate_of(zipf(size), 500, 1.0, 1) if size > 2 else two, method)
    assert shown.value.sum() == pytest.approx(1.0)
    assert (shown.value >= 0.0).all()
    assert "biased and have no intervals" in str(shown)
    assert shown.tidy()["shown"] == shown.value.tolist()
    assert shown.tidy()["estimate"] == shown.unbiased.tolist()


def test_the_prior_is_certified_and_tells_zero_from_large():
    """Most categories have nothing: their shown shares are far smaller than those of noise cut at 0."""
    truth = np.concatenate([np.full(10, 0.1), np.zeros(40)])
    estimate = estimate_of(truth, 20_000, 2.0, 3)
    shown = shrunk(estimate)
    assert shown.gap < 1e-4
    assert shown.value[10:].sum() < 0.6 * project_to_simplex(estimate.value)[10:].sum()
    rng = np.random.default_rng(1)
    likelihood = rng.uniform(0.01, 1.0, size=(60, 25))
    best = most_likely_shares(likelihood)
    for _ in range(200):
        other = rng.dirichlet(np.full(25, 0.1))
        assert np.log(likelihood @ other).sum() <= best.log_likelihood + best.gap + 1e-9


def test_the_top_is_unbiased():
    estimate = estimate_of(zipf(30), 5000, 2.0, 2)
    first = top(estimate, 3)
    assert [value for _, value, _ in first] == sorted(estimate.value.tolist(), reverse=True)[:3]
    assert len(top(estimate, 100)) == 30
    with pytest.raises(ParameterError, match="number"):
        top(estimate, 0)


def test_surveys_and_what_has_no_shares():
    survey = SurveyMechanism.of(
        [Question("a", labels=("x", "y", "z")), Question("n", "number", low=0, high=9)], 4.0
    )
    result = survey.estimate(survey.randomize({"a": ["x", "y"] * 300, "n": [1.0] * 600}, rng=1))
    assert list(shown_of(result, "cut").as_json()) == ["a"]
    mechanism = Duchi(1.0)
    with pytest.raises(MethodError, match="no shares of categories"):
        shown_of(mechanism.estimate(mechanism.randomize([0.0] * 30, rng=1)), "cut")
    with pytest.raises(ParameterError, match="no method 'bayes'"):
        shrunk(estimate_of(zipf(5), 100, 1.0, 1), "bayes")


@pytest.mark.parametrize(
    ("size", "epsilon", "users"), [(5000, 8.0, 50), (5000, 20.0, 1), (5000, 20.0, 1000), (20_000, 8.0, 50)]
)
def test_one_answer_of_thousands_is_a_distribution(size, epsilon, users):
    """A category far above a grid of zeros: its report's chance must not fall to 0 on the way."""
    width = max(1, round(size / (1 + np.exp(epsilon))))
    oracle = SubsetSelection.of(size, epsilon, size=width)
    with np.errstate(all="raise", under="ignore"):
        shown = shrunk(oracle.estimate(oracle.randomize([0] * users, rng=1)))
    assert shown.value.min() >= 0
    assert shown.value.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("method", ["average", "empirical-bayes"])
def test_a_few_large_shares_among_thousands_stay(method):
    """Values hundreds of standard errors from 0: weights of the prior must not all fall to 0 on the way."""
    truth = zipf(4000)
    rng = np.random.default_rng(1)
    errors = np.full(4000, 4e-4)
    value = truth + errors * rng.normal(size=4000)
    value += (1.0 - value.sum()) / 4000
    estimate = replace(estimate_of(truth, 500, 3.0, 1), value=value, standard_error=errors, covariance=None)
    shown = shrunk(estimate, method).value
    projected = project_to_simplex(value)
    assert ((shown - truth) ** 2).sum() < 0.8 * ((projected - truth) ** 2).sum()
    assert shown[0] == pytest.approx(value[0], rel=0.1)
