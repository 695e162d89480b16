"""What runs with a local budget: k-ary response or the channel, with the central promise; what does not."""

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, MethodError
from mechdesign.core.values import changed
from mechdesign.primitives import FiniteChannel, KaryResponse


def budget(randomizer, users=20_000, **given):
    return md.ShuffleLocalBudget(users=users, central_epsilon=0.5, delta=1e-6, randomizer=randomizer, **given)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("method", [None, "blanket"])
def test_kary_response_runs_with_the_budget_that_was_found(size, method, tmp_path):
    solution = md.solve(budget({"name": "k-ary", "size": size}, honest=0.9), method)
    mechanism = solution.mechanism()
    assert isinstance(mechanism.local, KaryResponse)
    assert mechanism.local.labels.size == size
    assert 0.99 * solution.value <= mechanism.local.audit().true_epsilon <= solution.value * (1 + 1e-12)
    assert mechanism.central.holds
    assert (mechanism.promise.users, mechanism.promise.honest_users) == (20_000, 18_000)
    mechanism.save(tmp_path / "m.json")
    assert load_mechanism(tmp_path / "m.json").fingerprint == mechanism.fingerprint
    answers = np.arange(2000) % size
    estimate = mechanism.estimate(mechanism.randomize(answers, rng=1))
    assert np.abs(estimate.value - 1 / size).max() < 5 * estimate.standard_error.max()


def test_a_channel_runs_as_it_is_given():
    channel = [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]]
    solution = md.solve(budget({"name": "channel", "channel": channel}))
    mechanism = solution.mechanism()
    assert isinstance(mechanism.local, FiniteChannel)
    assert np.abs(mechanism.local.weights / 2**62 - channel).max() < 1e-9
    assert mechanism.local.audit().true_epsilon <= solution.value


def test_nothing_runs_for_any_randomizer_or_what_is_not_proven():
    with pytest.raises(MethodError, match=r"has no mechanism to run; 'any' does not define what users run"):
        md.solve(budget("any")).mechanism()
    with pytest.raises(MethodError, match="merge values"):
        md.solve(budget({"name": "k-ary", "size": 10**8}), "blanket").mechanism()
    problem = budget({"name": "k-ary", "size": 2})
    solution = md.solve(problem)

    too_much = changed(solution, variables={"local_epsilon": 1.01 * solution.bound})
    with pytest.raises(CertificateError, match="not private as stated"):
        too_much.mechanism()


@pytest.mark.parametrize(
    ("problem", "instead"),
    [
        (md.CoveringDesign(points=7, order=2, block=3), "marginal-views"),
        (md.ShuffleAmplification(users=1000, local_epsilon=1.0, delta=1e-6), "--shuffled"),
    ],
)
def test_what_has_nothing_to_run_names_what_to_build(problem, instead):
    assert instead in problem.why_no_mechanism()
    with pytest.raises(MethodError, match=instead):
        md.solve(problem).mechanism()
