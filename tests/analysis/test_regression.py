"""Regression: derivatives, another optimizer, coverage, weights and clusters, what cannot be had."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from mechdesign.analysis import regress
from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.regression import Covariates, MultinomialModel, fit_linear
from mechdesign.analysis.report_scores import scores_of
from mechdesign.core.errors import DataError, EstimationError, ParameterError
from mechdesign.families.marginals.oracles import SubsetSelection, UnaryEncoding
from mechdesign.families.mean import Duchi
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse

YES = KaryResponse.of(2, 1.0, labels=["no", "yes"])


def people(users: int, seed: int, slope: float = 0.8, constant: float = -1.0):
    """Return a public number, and whether each says yes, by a logit model."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=users)
    yes = rng.random(users) < 1.0 / (1.0 + np.exp(-constant - slope * x))
    return x, yes.astype(int)


def random_model(seed: int, categories: int) -> tuple[MultinomialModel, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([np.ones(300), rng.normal(size=(300, 2))])
    weights = rng.uniform(0.5, 2.0, size=300)
    model = MultinomialModel(matrix, rng.uniform(0.1, 1.0, size=(300, categories)), weights)
    return model, rng.normal(size=model.shape) / 2.0


@pytest.mark.parametrize("categories", [2, 4])
def test_derivatives_are_those_of_the_likelihood(categories):
    model, place = random_model(3, categories)
    step, flat = 1e-5, place.ravel()
    slopes = [
        (model.value((flat + side).reshape(place.shape)) - model.value((flat - side).reshape(place.shape)))
        / (2.0 * step)
        for side in np.eye(len(flat)) * step
    ]
    assert np.allclose(slopes, model.gradient(place), rtol=1e-5, atol=1e-5)
    curves = [
        (
            model.gradient((flat + side).reshape(place.shape))
            - model.gradient((flat - side).reshape(place.shape))
        )
        / (2.0 * step)
        for side in np.eye(len(flat)) * step
    ]
    assert np.allclose(curves, model.hessian(place), rtol=1e-4, atol=1e-4)
    assert np.allclose(model.influences(place).sum(axis=0), model.gradient(place))


@pytest.mark.parametrize(
    "mechanism",
    [YES, KaryResponse.of(4, 2.0), SubsetSelection.of(5, 2.0, size=2), UnaryEncoding.optimised(3, 2.0)],
    ids=lambda mechanism: mechanism.type + str(mechanism.labels.size),
)
def test_another_optimizer_finds_the_same_maximum(mechanism):
    """The likelihood is written anew from the channel, and climbed by a quasi-Newton method."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=3000)
    size = mechanism.labels.size
    logs = np.outer(np.ones(3000), np.linspace(0, 0.5, size)) + np.outer(x, np.linspace(0, 1, size))
    answers = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
    reports = mechanism.randomize(np.array(mechanism.labels.decode(answers)), rng=6)
    fit = regress(mechanism, reports, {"x": x})
    (scores,) = scores_of(mechanism, reports)
    matrix = np.column_stack([np.ones(3000), x])

    def loss(flat):
        logs = np.column_stack([np.zeros(3000), matrix @ flat.reshape(-1, 2).T])
        chances = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        return -np.log((scores.likelihood * chances).sum(axis=1)).sum()

    best = minimize(loss, np.zeros(len(fit.value)), method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    assert np.allclose(fit.value, best.x, rtol=1e-4, atol=1e-4)
    assert fit.log_likelihood >= -best.fun - 1e-9


def test_of_several_maxima_the_largest_is_taken_and_said():
    """ReportTable that depend on the size of x: a straight line fits them in several ways, mirrored."""
    mechanism, rng = KaryResponse.of(4, 2.0), np.random.default_rng(5)
    x = rng.normal(size=3000)
    reports = mechanism.randomize(np.minimum((np.abs(x) + rng.random(3000)).astype(int), 3), rng=6)
    fit = regress(mechanism, reports, {"x": x})
    assert fit.log_likelihood > -2753.7  # from even shares: -2761.8; from a quasi-Newton method: -2753.78
    assert any("several maxima" in note or "separation" in note for note in fit.notes)


def test_coefficients_are_those_of_the_answers_and_intervals_cover():
    """36 surveys of 4,000: means within 4 standard errors, coverage of 95 % at least 0.8 (error 1e-3)."""
    truth, values, inside = np.array([-1.0, 0.8]), [], []
    for seed in range(36):
        x, yes = people(4000, seed)
        fit = regress(YES, YES.randomize(np.array(["no", "yes"])[yes], rng=seed), {"x": x})
        low, high = fit.interval()
        values.append(fit.value)
        inside.append((low <= truth) & (truth <= high))
    spread = np.std(values, axis=0)
    assert (np.abs(np.mean(values, axis=0) - truth) < 4.0 * spread / math.sqrt(36) + 0.02).all()
    assert (np.mean(inside, axis=0) >= 0.8).all()
    assert np.allclose(spread, fit.standard_error, rtol=0.4)


def test_least_squares_are_not_attenuated_and_errors_hold():
    """150 surveys: the slope of the answers themselves, and HC1 errors within 20 % of the spread."""
    values, errors = [], []
    for seed in range(150):
        x, yes = people(1500, seed)
        fit = regress(YES, YES.randomize(np.array(["no", "yes"])[yes], rng=seed), {"x": x}, model="linear")
        values.append(fit["x"][0] - np.polyfit(x, yes, 1)[0])
        errors.append(fit["x"][1])
    assert abs(np.mean(values)) < 4.0 * np.std(values) / math.sqrt(150)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)


def test_least_squares_are_those_of_textbooks():
    """HC1 by its definition, and the same with the report as its own cluster up to the factor."""
    x, yes = people(500, 1)
    reports = YES.randomize(np.array(["no", "yes"])[yes], rng=2)
    (scores,) = scores_of(YES, reports)
    matrix = np.column_stack([np.ones(500), x])
    fit = fit_linear(scores, Covariates(matrix, ("1", "x")), 1)
    target = scores.values[:, 1]
    beta, *_ = np.linalg.lstsq(matrix, target, rcond=None)
    rest = target - matrix @ beta
    bread = np.linalg.inv(matrix.T @ matrix)
    meat = (matrix * rest[:, None]).T @ (matrix * rest[:, None])
    assert np.allclose(fit.value, beta)
    assert np.allclose(fit.covariance, bread @ meat @ bread * 500 / 498)
    clusters = fit_linear(scores, Covariates(matrix, ("1", "x"), clusters=np.arange(500)), 1)
    assert np.allclose(clusters.covariance, bread @ meat @ bread * 500 / 499)


def test_whole_weights_are_copies_of_rows():
    x, yes = people(400, 3)
    reports = np.array(YES.randomize(np.array(["no", "yes"])[yes], rng=4))
    times = np.random.default_rng(5).integers(1, 4, size=400)
    heavy = regress(YES, reports, {"x": x, "w": times}, "x", weights="w")
    copied = regress(YES, np.repeat(reports, times), {"x": np.repeat(x, times)}, "x")
    assert np.allclose(heavy.value, copied.value, atol=1e-6)
    rows = np.repeat(np.arange(400), times).astype(str)
    grouped = regress(
        YES, np.repeat(reports, times), {"x": np.repeat(x, times), "id": rows}, "x", cluster="id"
    )
    assert np.allclose(heavy.standard_error, grouped.standard_error, rtol=1e-5)


def test_a_mean_is_explained_in_its_units():
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 10, size=40_000)
    mechanism = Duchi(2.0, 0, 100)
    fit = regress(mechanism, mechanism.randomize(20.0 + 5.0 * x, rng=1), {"x": x})
    assert fit.model == "linear"
    assert abs(fit["x"][0] - 5.0) < 4.0 * fit["x"][1]
    with pytest.raises(ParameterError, match="is a number; use linear"):
        regress(mechanism, mechanism.randomize([1.0] * 50, rng=1), {"x": np.arange(50.0)}, model="logit")


def test_a_number_that_may_be_skipped_is_explained_among_those_who_answered():
    survey = SurveyMechanism.of([Question("hours", "number", low=0, high=60, skip=True)], 4.0)
    rng = np.random.default_rng(2)
    years = rng.integers(0, 31, 20_000)
    hours = np.clip(20 + 0.5 * years + rng.normal(0, 5, len(years)), 0, 60)
    skips = rng.random(len(years)) < years / 50  # who serves longer answers less
    reports = survey.randomize({"hours": np.where(skips, None, hours)}, rng=3)
    fit = regress(survey, reports, {"years": years})
    assert fit.model == "linear"
    low, high = fit.interval(0.999)
    assert low[0] < 20 < high[0]
    assert low[1] < 0.5 < high[1]
    share = regress(survey, reports, {"years": years}, model="linear", category="no answer")
    low, high = share.interval(0.999)
    assert low[1] < 1 / 50 < high[1]


def test_separation_is_said():
    x = np.repeat([0.0, 1.0], 4000)
    mechanism = KaryResponse.of(2, 4.0)
    fit = regress(mechanism, mechanism.randomize((x > 0.5).astype(int), rng=3), {"x": x})
    assert any(note.startswith("separation") for note in fit.notes)
    calm = regress(mechanism, mechanism.randomize(people(4000, 1)[1], rng=3), {"x": people(4000, 1)[0]})
    assert not calm.notes


def test_a_likelihood_that_is_larger_at_infinity_is_said():
    """Two groups of 20 reports, each all of one kind: infinite coefficients are likeliest."""
    mechanism, x = KaryResponse.of(2, 1.0), np.repeat([0.0, 1.0], 20)
    reports = np.concatenate([np.zeros(20), np.ones(20)]).astype(int)
    fit = regress(mechanism, reports, {"x": x})
    assert any(note.startswith("separation") for note in fit.notes)
    (scores,) = mechanism.report_scores(reports)
    model = MultinomialModel(np.column_stack([np.ones(40), x]), scores.likelihood, np.ones(40))
    assert fit.log_likelihood >= model.value(np.array([[-40.0, 80.0]])) - 1e-6


def test_figures_of_a_model():
    x, yes = people(5000, 9)
    noise = np.random.default_rng(1).normal(size=5000)
    fit = regress(YES, YES.randomize(np.array(["no", "yes"])[yes], rng=1), {"x": x, "noise": noise})
    assert fit.freedom == 2
    assert fit.ratio_statistic == pytest.approx(2.0 * (fit.log_likelihood - fit.null_log_likelihood))
    assert fit.ratio_p_value() < 1e-6
    assert fit.aic == pytest.approx(6.0 - 2.0 * fit.log_likelihood)
    assert fit.odds_ratios()[1] == pytest.approx(math.exp(fit["x"][0]))
    z = abs(fit["noise"][0] / fit["noise"][1])
    assert fit.p_values()[2] == pytest.approx(math.erfc(z / math.sqrt(2.0)))
    assert "odds ratio" in str(fit)
    assert fit.as_json()["terms"] == ["Intercept", "x", "noise"]


@pytest.mark.parametrize(
    ("public", "formula", "options", "words"),
    [
        ({"x": [1.0, 2.0] * 50}, "y", {}, "no column 'y'"),
        ({"x": [1.0, 2.0] * 50}, "~", {}, "nothing stands right of ~"),
        ({"x": [1.0, 2.0] * 50}, "x + 'a", {}, "cannot be read"),
        ({"x": [1.0, 2.0] * 50}, "x + I(2 * x)", {}, "collinear"),
        ({"x": [1.0] * 100}, "x", {}, "collinear"),
        ({"x": [0.0] * 100}, "x", {}, "is 0 in every row"),
        ({"x": [1.0, math.nan] * 50}, None, {}, "missing or infinite"),
        ({"x": ["a", "b"] * 50}, None, {}, "holds texts"),
        ({"x": [1.0, 2.0] * 40}, None, {}, "give one value a report"),
        ({"x": [1.0, 2.0] * 50}, "x", {"model": "probit"}, "no model 'probit'"),
        ({"x": [1.0, 2.0] * 50, "w": [-1.0, 1.0] * 50}, "x", {"weights": "w"}, "row 1: -1 is no weight"),
        ({"x": [1.0, 2.0] * 50, "w": [0.0] * 100}, "x", {"weights": "w"}, "every weight is 0"),
        ({"x": [1.0, 2.0] * 50, "w": ["a"] * 100}, "x", {"weights": "w"}, "holds texts, not weights"),
        ({"x": [1.0, 2.0] * 50, "g": ["a"] * 100}, "x", {"cluster": "g"}, "one cluster has no spread"),
        ({"x": [1.0, 2.0] * 50}, "x", {"model": "linear", "category": "maybe"}, "no category 'maybe'"),
    ],
)
def test_what_cannot_be_had_is_one_line(public, formula, options, words):
    reports = YES.randomize(["no", "yes"] * 50, rng=1)
    with pytest.raises((DataError, EstimationError, ParameterError), match=words) as caught:
        regress(YES, reports, public, formula, **options)
    assert "\n" not in str(caught.value)


def test_private_names_are_refused():
    from mechdesign.families.survey import Question, SurveyMechanism

    survey = SurveyMechanism.of(
        [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))], 4.0
    )
    reports = survey.randomize({"smokes": ["no", "yes"] * 50, "sex": ["f"] * 100}, rng=1)
    answers = answers_of(survey, reports, {"age": np.arange(100.0)})
    with pytest.raises(ParameterError, match="'sex' is private"):
        regress(survey, answers, formula="smokes ~ age", weights="sex")
    with pytest.raises(EstimationError, match="within 2 standard errors of 0"):
        regress(survey, answers, formula="smokes ~ sex")
    with pytest.raises(ParameterError, match="name one of smokes, sex"):
        regress(survey, answers, formula="age")
    assert regress(survey, answers, formula="smokes ~ age").outcome == "smokes = yes"


def test_few_reports_are_said():
    fit = regress(YES, YES.randomize(["no", "yes"] * 10, rng=1), {"x": np.arange(20.0)}, model="linear")
    assert fit.notes == ("rests on 20 reports: errors and intervals are rough",)


def test_statsmodels_agrees_on_the_scores():
    sm = pytest.importorskip("statsmodels.api")
    x, yes = people(800, 2)
    reports = YES.randomize(np.array(["no", "yes"])[yes], rng=2)
    (scores,) = scores_of(YES, reports)
    theirs = sm.OLS(scores.values[:, 1], sm.add_constant(x)).fit(cov_type="HC1")
    ours = regress(YES, reports, {"x": x}, model="linear")
    assert np.allclose(ours.value, theirs.params)
    assert np.allclose(ours.standard_error, theirs.bse)
