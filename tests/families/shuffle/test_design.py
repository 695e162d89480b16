"""Local mechanisms for central guarantees: what is found keeps them, and more would not."""

from __future__ import annotations

from fractions import Fraction

import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.response import ExtendedResponse
from tests.support.enumeration import worst_divergence

SURVEY = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=0.8)


@pytest.mark.parametrize(
    "problem",
    [SURVEY, md.MeanChannel(epsilon=0.8, inputs=3), md.RandomizedResponse(prior=[0.6, 0.4], epsilon=0.8)],
)
def test_few_users_enumerated_in_fractions_keep_the_promise(problem):
    """The joined guarantee, of the very integers that are sampled from, by code that shares no bound."""
    method = "lp" if isinstance(problem, md.RandomizedResponse) else None
    design = md.shuffled(problem, users=4, delta=0.1, method=method)
    assert design.local_epsilon > 0.8
    local = design.mechanism().local
    weights = (
        getattr(local, "channel", local).weights if isinstance(problem, md.MeanChannel) else local.weights
    )
    rows = tuple(tuple(Fraction(weight, TOTAL) for weight in row) for row in weights.tolist())
    assert worst_divergence(rows, 4, exp_lower(0.8)).delta <= Fraction(0.1)


def test_the_epsilon_found_is_that_of_the_local_budget():
    design = md.shuffled(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5), users=10_000, delta=1e-6)
    budget = md.solve(
        md.ShuffleLocalBudget(
            users=10_000, central_epsilon=0.5, delta=1e-6, randomizer={"name": "k-ary", "size": 2}
        )
    )
    assert design.local_epsilon <= budget.bound
    assert design.local_epsilon == pytest.approx(budget.value, rel=3e-3)  # twice the step of the search
    loose = md.solve(md.ShuffleLocalBudget(users=10_000, central_epsilon=0.5, delta=1e-6))
    assert design.any_epsilon == pytest.approx(loose.value, rel=1e-5)
    assert design.any_epsilon < design.local_epsilon
    plain = md.shuffled(
        md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5), users=10_000, delta=1e-6, refine=False
    )
    assert plain.local_epsilon == plain.any_epsilon == design.any_epsilon


def test_the_channel_found_allows_more_than_any_randomizer():
    design = md.shuffled(md.MeanChannel(epsilon=0.5, inputs=5), users=10_000, delta=1e-6)
    assert design.local_epsilon > design.any_epsilon * 1.005
    assert "this channel" in design.mechanism().central.note
    assert {item.property for item in design.certificates} >= {"privacy", "central_privacy", "optimality"}
    assert all(item.holds for item in design.certificates)


def test_the_gain_is_that_of_the_forecasts():
    design = md.shuffled(
        md.FrequencyOracle(categories=50, epsilon=0.5), users=100_000, delta=1e-6, honest=0.5
    )
    gain = design.gain
    alone = md.solve(md.FrequencyOracle(categories=50, epsilon=0.5)).mechanism()
    assert gain["error_unshuffled"] == alone.forecast(100_000).largest
    assert gain["error"] == design.mechanism().forecast(100_000).largest
    assert gain["users_ratio"] == pytest.approx((gain["error_unshuffled"] / gain["error"]) ** 2)
    assert gain["users_ratio"] > 50
    all_honest = md.shuffled(md.FrequencyOracle(categories=50, epsilon=0.5), users=100_000, delta=1e-6)
    assert all_honest.local_epsilon > design.local_epsilon
    assert design.mechanism().central.figures["honest_users"] == 50_000
    assert "times as many users" in str(design)
    assert design.as_json()["gain"]["users_ratio"] == gain["users_ratio"]


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5, delta=0.1), "its delta is of each report"),
        (md.ShuffleCounting(users=1000, epsilon=1.0, delta=1e-6), "about shuffled messages already"),
        (md.PrivacyContract(types=[1.0, 2.0], counts=[5, 5], budget=10.0), "no epsilon of a user's report"),
        (md.JointCollection(attributes=[2, 2], epsilon=1.0), "draw reports in the same way"),
        ("survey", "expected a problem, got str"),
    ],
)
def test_problems_that_are_not_about_reports_are_refused(problem, why):
    with pytest.raises(ParameterError, match=why):
        md.shuffled(problem, users=1000, delta=1e-6)


def test_only_shuffling_may_make_a_problem_feasible():
    """Own constraints on the errors that plain privacy cannot keep."""
    surely = ExtendedResponse(
        prior=[0.5, 0.5], epsilon=1.0, own_constraints=lambda channel: [channel[0, 0] >= 0.95]
    )
    assert md.solve(surely).status == "optimal"  # one answer alone may be reported truly
    both = ExtendedResponse(
        prior=[0.5, 0.5],
        epsilon=1.0,
        own_constraints=lambda channel: [channel[0, 0] >= 0.95, channel[1, 1] >= 0.95],
    )
    design = md.shuffled(both, 10_000, 1e-6, refine=False)
    assert design.unshuffled.status == "infeasible"
    assert design.solution.variables["channel"].diagonal().min() >= 0.95 - 1e-6
    assert set(design.gain) == {"local_epsilon", "value"}
    assert "without a shuffler there is none" in str(design)
    with pytest.raises(MethodError, match="randomized-response: infeasible"):
        md.shuffled(both, 10, 1e-6)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"users": 1}, "users: 1"),
        ({"delta": 0.0}, "delta: is 0"),
        ({"delta": 1.0}, "delta: 1"),
        ({"honest": 0.0}, "honest: 0"),
    ],
)
def test_promises_out_of_range_are_refused(more, why):
    with pytest.raises(ParameterError, match=why):
        md.shuffled(SURVEY, **{"users": 100, "delta": 1e-6, **more})


def test_choosing_for_means_uses_the_budget_of_any_randomizer():
    ranking = md.choose(0.5, 10_000, channel=False, shuffled=10_000, delta=1e-6, honest=0.5)
    assert ranking.epsilon == pytest.approx(
        md.solve(md.ShuffleLocalBudget(users=10_000, central_epsilon=0.5, delta=1e-6, honest=0.5)).value,
        rel=1e-5,
    )
    mechanism = ranking.mechanism()
    assert mechanism.promise.honest_users == 5000
    assert mechanism.central.holds
    assert mechanism.local.audit().epsilon == ranking.epsilon
    alone = md.choose(0.5, 10_000, channel=False)
    assert ranking.unshuffled.error == alone.best.error > 5 * ranking.best.error
    assert ranking.as_json()["shuffled"]["honest"] == 0.5
    assert "without a shuffler" in str(ranking)
    assert "shuffle" not in str(alone)
    many = md.choose(0.5, 10_000, 4, channel=False, shuffled=10_000, delta=1e-6).mechanism()
    assert many.central.holds
    for wrong in ({"shuffled": 100}, {"delta": 1e-6}, {"honest": 0.5}):
        with pytest.raises(ParameterError, match="is required with"):
            md.choose(0.5, 100, channel=False, **wrong)
