"""What is said about the answers before they are collected: two ways to the same figures, and simulations."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import EstimationError, ParameterError
from mechdesign.families.mean import AttributeSampling, Duchi, Harmony, Laplace
from mechdesign.primitives import FiniteChannel, KaryResponse
from mechdesign.primitives.finite import PrivacyTarget
from mechdesign.report.compare import compare
from tests.support.statistics import surveys

USERS, REPETITIONS = 400, 3000


def dense(mechanism: KaryResponse) -> FiniteChannel:
    """Return the same channel without its structure; a little epsilon more, as it is rounded anew."""
    target = PrivacyTarget(mechanism.epsilon + 1e-6, mechanism.delta)
    return FiniteChannel.from_floats(mechanism.channel, target)


@pytest.mark.parametrize("seed", range(12))
def test_structured_and_dense_channels_forecast_the_same(seed):
    """The structured forecast has formulas by kind of answer, the dense one a matrix."""
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 7))
    prior = random.dirichlet(np.full(size, 0.7))
    delta = float(random.choice([0.0, 0.1]))
    problem = md.RandomizedResponse(prior=prior, epsilon=float(random.uniform(0.3, 3.0)), delta=delta)
    structured = md.solve(problem, "closed-form").mechanism()
    assert isinstance(structured, KaryResponse)
    first, second = structured.forecast(100), dense(structured).forecast(100)
    assert first.possible == second.possible
    if first.possible:
        # both are rounded to 2**-62 and the dense one is mixed by about 2**-46; conditioning stays below 1e4
        assert first.largest == pytest.approx(second.largest, rel=1e-6)
        assert first.typical == pytest.approx(second.typical, rel=1e-6)


@pytest.mark.parametrize("method", ["closed-form", "lp"])
def test_the_forecast_is_the_error_that_is_measured(method):
    """3000 surveys of 400: a measured standard deviation is within 6 % but for chance below 1e-5."""
    mechanism = md.solve(md.RandomizedResponse(prior=[0.4, 0.3, 0.2, 0.1], epsilon=2.0), method).mechanism()
    forecast = mechanism.forecast(USERS)
    random = np.random.default_rng(5)
    # Estimates are linear in the counts of the reports; 9000 of them one by one would take a minute.
    alone = USERS * np.eye(4, dtype=np.int64)
    linear = np.array([mechanism.estimate_from_counts(row).value for row in alone]) / USERS
    worst = []
    for answers in (np.arange(USERS) % 4, np.zeros(USERS, dtype=np.int64), np.full(USERS, 3)):
        everyone = np.tile(answers, REPETITIONS)
        reports = mechanism.randomize(everyone, rng=random).reshape(REPETITIONS, USERS)
        counts = np.apply_along_axis(np.bincount, 1, reports, minlength=4)
        found = counts @ linear
        for survey, value in zip(reports[:20], found[:20], strict=True):
            assert mechanism.estimate(survey).value == pytest.approx(value, abs=1e-12)
        worst.append(float(np.std(found, axis=0, ddof=1).max()))
    assert worst[0] == pytest.approx(forecast.typical, rel=0.06)
    assert max(worst) <= 1.06 * forecast.largest
    assert forecast.largest > forecast.typical


LINE = -np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))


@pytest.mark.parametrize(
    ("bad", "good", "advice"),
    [
        (
            md.RandomizedResponse(prior=[0.9, 0.05, 0.05], epsilon=1.0),
            md.RandomizedResponse(prior=[1 / 3] * 3, epsilon=1.0),
            "an even prior",
        ),
        (
            md.RandomizedResponse(prior=[0.9, 0.05, 0.05], epsilon=1.0),
            md.RandomizedResponse(prior=[0.9, 0.05, 0.05], epsilon=5.0),
            "a much larger epsilon can also work",
        ),
        (
            md.RandomizedResponse(prior=[0.05] * 20, epsilon=0.1, distance="line", utility=LINE),
            md.RandomizedResponse(prior=[0.05] * 20, epsilon=0.1, distance="line"),
            "the utility 'truth' and an even prior",
        ),
        (
            md.RandomizedResponse(prior=[0.05] * 20, epsilon=0.1, distance="line", utility=LINE),
            md.RandomizedResponse(prior=[0.05] * 20, epsilon=1.0, distance="line", utility=LINE),
            "a much larger epsilon can also work",
        ),
        (
            md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.0),
            md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5),
            "with epsilon = 0 and delta = 0 reports contain no information",
        ),
        (
            md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=3.0, utility=[[1, 0], [0, 1], [0, 1]]),
            md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=3.0),
            "give at least as many reports as answers (3)",
        ),
    ],
)
@pytest.mark.parametrize("method", [None, "lp"])
def test_the_advice_is_true(bad, good, advice, method):
    """Where nothing can be estimated it is said why; doing what is advised makes it possible."""
    refused = md.solve(bad, method).mechanism()
    forecast = refused.forecast()
    assert not forecast.possible
    assert advice in forecast.reason
    with pytest.raises(EstimationError, match=r"CANNOT be estimated.*anyway=True"):
        refused.randomize([0, 1])
    assert len(refused.randomize([0, 1], anyway=True)) == 2
    assert md.solve(good, method).mechanism().forecast().possible


@pytest.mark.parametrize(
    "mechanism",
    [Duchi(1.0, 0.0, 10.0), Laplace(2.0), md.solve(md.MeanInterval(epsilon=1.0)).mechanism()],
    ids=["duchi", "laplace", "interval"],
)
def test_means_forecast_the_worst_case(mechanism):
    """3000 means of 400 users at the value of largest variance; within 6 % but for chance below 1e-5."""
    domain = mechanism.domain
    value = domain.low + mechanism._worst_unit() * domain.width
    reports = mechanism.randomize(np.full(USERS * REPETITIONS, value), rng=3).reshape(REPETITIONS, USERS)
    found = [mechanism.estimate(survey).value for survey in reports]
    assert float(np.std(found, ddof=1)) == pytest.approx(mechanism.forecast(USERS).largest, rel=0.06)


@pytest.mark.parametrize("mechanism", [AttributeSampling.of(Duchi, 1.0, 3), Harmony(1.0, 3, -2.0, 2.0)])
def test_sampled_attributes_forecast_at_least_what_is_measured(mechanism):
    users, repetitions = 900, 400
    values = np.full((users, 3), float(mechanism.ranges.high[0]))
    values[:, 1] = 0.0
    random = np.random.default_rng(4)
    found = [
        mechanism.estimate(survey).value for survey in surveys(mechanism, [values] * repetitions, random)
    ]
    measured = float(np.std(found, axis=0, ddof=1).max())
    # the standard deviation of 400 repetitions is off by 3.5 %; 15 % are four of these
    assert 0.85 * mechanism.forecast(users).largest <= measured <= 1.15 * mechanism.forecast(users).largest


def test_the_forecast_of_a_solution_is_that_of_its_mechanism():
    solution = md.solve(md.RandomizedResponse(prior=[0.4, 0.3, 0.3], epsilon=2.0))
    assert solution.forecast(500) == solution.mechanism().forecast(500)
    printed = md.solve(md.MeanInterval(epsilon=1.0), "published")
    assert printed.forecast(500) is None, "its mechanism is refused"
    text = str(md.compare(md.RandomizedResponse(prior=[0.4, 0.3, 0.3], epsilon=2.0), ["closed-form", "lp"]))
    assert "closed-form, lp: frequencies: can be estimated" in text


def test_a_share_with_an_error_above_one_is_not_estimated():
    """A tiny delta makes a channel invertible, and its estimates worthless."""
    prior = [0.4, 0.3, 0.2, 0.05, 0.05]
    mechanism = md.solve(md.RandomizedResponse(prior=prior, epsilon=1.0, delta=1e-6)).mechanism()
    forecast = mechanism.forecast()
    assert forecast.largest > 1.0
    assert not forecast.possible
    assert "a share lies between 0 and 1" in str(forecast)
    with pytest.raises(EstimationError, match="CANNOT"):
        mechanism.randomize([0, 1])
    few = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.1)).mechanism()
    assert (few.forecast(30).possible, few.forecast(10_000).possible) == (False, True)


def test_an_oracle_with_more_noise_than_any_share_is_collected_with_on_purpose_only():
    mechanism = md.solve(md.FrequencyOracle(categories=64, epsilon=0.005)).mechanism()
    assert not mechanism.forecast().possible
    with pytest.raises(EstimationError, match=r"CANNOT be estimated.*anyway=True"):
        mechanism.randomize([0, 1])
    assert len(mechanism.randomize([0, 1], anyway=True)) == 2
    assert md.solve(md.FrequencyOracle(categories=64, epsilon=1.0)).mechanism().forecast().possible


@pytest.mark.parametrize(
    ("slug", "whose"),
    [
        ("response/survey_skewed", "a share"),
        ("marginals/best_oracle", "a share"),
        ("mean/rcp2023_single", "the mean"),
        ("contract/three_types", "the average"),
        ("marginals/five_habits", "a cell of a view"),
        ("joint/many_reports", "the share of a value of one attribute"),
        ("shuffle/counting", "the count"),
        ("shuffle/histogram", "a count"),
    ],
)
def test_a_forecast_says_what_its_standard_error_is_of(slug, whose):
    """What solve, build and the page print is one line, made here."""
    model = md.load_model(slug)
    problem = model.problem
    forecast = md.solve(problem).forecast()
    assert f"users the standard error of {whose} is " in str(forecast)
    if problem.planned_users is not None:
        assert forecast.users == problem.planned_users


def test_a_solution_says_what_its_value_is():
    oracle = md.solve(md.load_model("marginals/best_oracle").problem)
    assert "optimal, value 35 (users x variance of a share)\n" in str(oracle)


def test_variables_that_make_no_mechanism_have_no_forecast():
    """The published menu has negative payments, so that nothing runs it; comparing it ends all the same."""
    problem = md.load_model("contract/polarised_density").problem
    published = md.solve(problem, "published")
    with pytest.raises(ParameterError, match="is negative"):
        published.mechanism()
    assert published.forecast(1000) is None
    assert "published" not in "\n".join(compare(problem).forecasts(1000))
