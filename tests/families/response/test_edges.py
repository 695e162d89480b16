"""The ends of every range: no privacy budget, a huge one, one answer, certain answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.core.values import changed
from mechdesign.families.response import extreme_points as enumeration
from mechdesign.families.response.extreme_points import extreme_points
from mechdesign.families.response.parameters import pattern_information
from mechdesign.families.response.randomized_response_methods import all_patterns

ALL = {"plain": {}, "loss": {"utility": "absolute-loss"}, "information": {"utility": "mutual-information"}}
ALL |= {"line": {"distance": "line"}, "three reports": {"utility": [[1.0, 0.0, 2.0]] * 3}}
ALL |= {"ldp": {"delta": 0.2}, "entry-wise": {"delta": 0.2, "notion": "entry-wise"}}


def checked(problem: md.RandomizedResponse) -> md.Comparison:
    comparison = md.compare(problem)
    assert comparison.runs
    assert comparison.agree, comparison.disagreements
    for run in comparison.runs:
        assert all(certificate.holds for certificate in run.certificates), str(run)
        assert run.mechanism().audit().holds
    return comparison


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-17, 1e-6, 9.9, 25.0])
def test_from_no_budget_to_a_large_one(kind, epsilon):
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=epsilon, **ALL[kind])
    comparison = checked(problem)
    if kind == "plain" and epsilon < 1e-5:
        assert comparison.runs[0].value == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("epsilon", [50.0, 300.0, 709.9, 720.0, 1000.0, 5000.0, 1e6, 1e300])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_a_huge_epsilon_is_legal_and_reports_are_true(epsilon, delta):
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=epsilon, delta=delta)
    for method in ("closed-form", "lp"):
        solution = md.solve(problem, method)
        assert solution.value == pytest.approx(1.0, abs=1e-9)
        assert all(certificate.holds for certificate in solution.certificates)
        assert solution.mechanism().audit().true_epsilon <= epsilon or delta > 0


def test_epsilon_zero_says_nothing_about_the_answer():
    for method in ("closed-form", "lp", "convex", "extreme-points"):
        mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=0.0), method).mechanism()
        assert mechanism.audit().true_epsilon == 0.0
        assert (mechanism.channel == mechanism.channel[0]).all()


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"delta": 0.3},
        {"utility": "mutual-information"},
        {"distance": "line"},
        {"utility": [[1.0, 2.0, 3.0]]},
    ],
)
def test_a_single_answer_is_refused(extra):
    with pytest.raises(ParameterError, match="prior: has a single answer, so there is nothing to protect"):
        md.RandomizedResponse(prior=[1.0], epsilon=1.0, **extra)


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_a_single_report(delta):
    problem = md.RandomizedResponse(prior=[0.6, 0.4], epsilon=1.0, delta=delta, utility=[[2.0], [5.0]])
    for run in checked(problem).runs:
        assert run.value == pytest.approx(3.2, abs=1e-9)
    checked(md.RandomizedResponse(prior=[0.6, 0.4], epsilon=1.0, utility=[[2.0], [5.0]], distance="line"))


def test_certain_and_impossible_answers():
    for run in checked(md.RandomizedResponse(prior=[1.0, 0.0, 0.0], epsilon=1.0)).runs:
        assert run.value == pytest.approx(1.0, abs=1e-9) or not run.claims_optimality
    checked(md.RandomizedResponse(prior=[0.0, 0.0, 1.0], epsilon=1.0, delta=0.1))
    checked(md.RandomizedResponse(prior=[0.0, 0.5, 0.5], epsilon=2.0, utility="mutual-information"))


@pytest.mark.parametrize(("size", "count"), [(2, 4), (3, 33)])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 3.0, 10.0])
def test_the_number_of_extreme_points_does_not_depend_on_epsilon(size, count, epsilon):
    points = extreme_points(md.RandomizedResponse(prior=[1 / size] * size, epsilon=epsilon))
    assert len(points) == count
    assert points.sum(axis=2) == pytest.approx(np.ones((count, size)))


def test_extreme_points_by_rays_and_by_halfspaces_are_the_same(monkeypatch):
    """Two ways that share nothing: bases of rays, and Qhull on the definition."""
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=math.log(2))
    by_rays = enumeration._by_rays(problem)
    by_halfspaces = enumeration._by_halfspaces(problem)
    key = lambda points: sorted(map(tuple, points.reshape(len(points), -1).round(9).tolist()))  # noqa: E731
    assert key(by_rays) == key(by_halfspaces)


def test_no_channel_is_more_informative_than_the_staircase_optimum():
    """Random private channels stay below the proven bound; the binary optimum has a formula."""
    problem = md.RandomizedResponse(prior=[0.4, 0.35, 0.25], epsilon=1.0, utility="mutual-information")
    bound = md.solve(problem).bound
    rng = np.random.default_rng(1)
    for _ in range(300):
        pattern = all_patterns(3, math.e)[:, rng.integers(0, 7, 5)] * rng.dirichlet(np.ones(5))
        channel = pattern / pattern.sum(axis=1).max()
        channel = np.hstack([channel, 1 - channel.sum(axis=1, keepdims=True)])
        if max(problem.residuals({"channel": channel}).values()) < 1e-9:
            assert problem.objective({"channel": channel}) <= bound
    binary = md.solve(
        md.RandomizedResponse(prior=[0.5, 0.5], epsilon=math.log(3), utility="mutual-information")
    )
    entropy = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert binary.value == pytest.approx(1 - entropy, abs=1e-12)
    assert pattern_information(np.array([0.5, 0.5]), np.array([[3.0], [1.0]]))[0] == pytest.approx(
        2 * (1 - entropy)
    )


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e6])
def test_a_channel_that_is_a_little_short_of_the_bound_is_not_called_optimal(scale):
    """A tenth of a percent of noise costs more than the certificate allows, whatever the utility's unit."""
    utility = scale * np.array([[1.0, 0.2, 0.0], [0.1, 0.9, 0.3], [0.0, 0.4, 0.8]])
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0, utility=utility)
    good = md.solve(problem, "lp")
    assert all(certificate.holds for certificate in good.certificates)
    worse = 0.999 * np.asarray(good.variables["channel"]) + 0.001 / 3
    poor = changed(good, variables={"channel": worse}, value=problem.objective({"channel": worse}))
    assert [item.property for item in poor.certificates if not item.holds] == ["optimality"]
