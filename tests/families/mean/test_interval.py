"""The interval: three methods against each other and brute force, exact privacy, the printed optimum."""

import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import CertificateError, MethodError, ParameterError
from mechdesign.exact.randomness import exp_lower
from mechdesign.families.mean import MeanInterval, interval_methods
from mechdesign.families.mean.interval_methods import rounded_inward

NUMERIC = ("geometric", "branch-and-bound")
PRIVATE = [
    {"epsilon": 1.0},
    {"epsilon": 0.1, "mean": 0.0},
    {"epsilon": 1.0, "mean": 0.5, "attributes": 36},
    {"epsilon": 5.0, "mean": [0.1, 0.3], "attributes": 36, "estimator": "scaled"},
    {"epsilon": 0.5, "delta": 0.1, "mean": 0.01},
    {"epsilon": 0.5, "delta": 0.1, "mean": [0.3, 0.9]},
    {"epsilon": 0.0, "delta": 0.2},
    {"epsilon": 2.0, "delta": 0.3, "mean": 0.98, "attributes": 4, "estimator": "scaled"},
]


def brute_force(problem: MeanInterval) -> float:
    """Return the least value over a fine grid of feasible intervals, by the definition, means scanned."""
    power = math.exp(problem.epsilon)
    ends = np.linspace(0.0, 1.0, 601)
    start, end = np.meshgrid(ends, ends, indexing="ij")
    slack = 1e-12
    allowed = (end > start) & (end <= power * start + problem.delta + slack)
    allowed &= 1.0 - start <= power * (1.0 - end) + problem.delta + slack
    start, end = start[allowed], end[allowed]
    worst = np.zeros(len(start))
    m = problem.attributes
    for mean in np.linspace(*problem.means, 21):
        share = start + (end - start) * mean
        variance = share * (m - share) if problem.scaled else m * share * (1.0 - share)
        worst = np.maximum(worst, variance / (end - start) ** 2)
    return float(worst.min())


@pytest.mark.parametrize("parameters", PRIVATE)
def test_methods_agree_and_no_interval_of_a_fine_grid_is_better(parameters):
    problem = MeanInterval(**parameters)
    comparison = md.compare(problem)
    assert comparison.agree, comparison
    judged = [run for run in comparison.runs if run.kind != "published"]
    assert len(judged) >= 2
    assert all(certificate.holds for run in judged for certificate in run.certificates)
    best = judged[0].value
    assert best <= brute_force(problem) * (1.0 + 1e-9)
    assert brute_force(problem) <= best * 1.1  # the grid comes close, so it is the same problem


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 1.0, 7.0, 20.0, 45.0, 300.0, 5000.0])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_closed_form_is_private_exactly_at_every_scale(epsilon, delta):
    solution = md.solve(MeanInterval(epsilon=epsilon, delta=delta, mean=0.3))
    start, end = (Fraction(number) for number in solution.variables["interval"])
    power = exp_lower(epsilon)
    assert end <= power * start + Fraction(delta)
    assert 1 - start <= power * (1 - end) + Fraction(delta)
    assert solution.value >= solution.bound
    assert solution.mechanism().audit().holds
    assert all(certificate.holds for certificate in solution.certificates)


def test_symmetric_interval_gives_theorem_1():
    for epsilon in (0.1, 1.0, 3.0):
        power = math.exp(epsilon)
        for mean in (0.0, 0.2, 0.5):
            solution = md.solve(MeanInterval(epsilon=epsilon, mean=mean))
            stated = mean - mean**2 + power / (power - 1.0) ** 2
            assert solution.value == pytest.approx(stated, rel=1e-12)


def test_a_small_mean_with_delta_wants_the_asymmetric_interval():
    problem = MeanInterval(epsilon=0.5, delta=0.1, mean=0.01)
    solution = md.solve(problem)
    assert solution.variables["interval"] == [0.0, 0.1]
    assert solution.value == pytest.approx(0.0999, abs=1e-15)
    offset = 0.9 / (math.expm1(0.5) + 0.2)
    assert problem.at_offsets(offset, offset) > 10 * solution.value
    mirrored = md.solve(MeanInterval(epsilon=0.5, delta=0.1, mean=0.99))
    assert mirrored.variables["interval"] == [0.9, 1.0]


def test_the_printed_optimum_is_not_private_and_compare_says_so():
    comparison = md.compare(MeanInterval(epsilon=1.0, mean=0.5))
    printed = next(run for run in comparison.runs if run.method == "published")
    best = comparison.runs[0]
    assert comparison.agree
    assert printed.value < best.bound  # better only because it is not private
    privacy = printed.certificates[0]
    assert (privacy.property, privacy.holds, privacy.exact) == ("privacy", False, True)
    assert privacy.witness == {"input": 0, "other": 1, "report": 0}
    assert privacy.figures["true_epsilon"] == math.inf
    assert privacy.figures["least_delta"] == pytest.approx(1.0 - math.exp(-1.0), abs=1e-15)
    assert printed.residuals["report_0"] > 0.6
    assert "report = 0" in str(comparison)
    with pytest.raises(CertificateError, match="not private as stated"):
        printed.mechanism()


def test_the_private_interval_with_the_better_estimator_beats_the_printed_one():
    for epsilon in (0.1, 0.5, 1.0, 5.0, 10.0):
        solution = md.solve(MeanInterval(epsilon=epsilon, mean=0.5, attributes=36))
        found = solution.quantities
        assert solution.value < found["published_value"] < found["baseline_value"]
    assert solution.value < found["pure_value"]


def test_one_sided_reproduces_the_paper_and_fails_the_exact_audit():
    problem = MeanInterval(epsilon=1.0, mean=0.5, notion="one-sided")
    solution = md.solve(problem)
    assert solution.variables["interval"] == pytest.approx([math.exp(-1.0), 1.0], abs=1e-15)
    verdicts = {certificate.property: certificate.holds for certificate in solution.certificates}
    assert verdicts == {"privacy": False, "one-sided": True, "optimality": True}
    assert md.solve(problem, "branch-and-bound").value == pytest.approx(solution.value, rel=1e-9)


def test_branch_and_bound_stopped_early_still_bounds(monkeypatch):
    monkeypatch.setattr(interval_methods, "PIECES", 3)
    problem = MeanInterval(epsilon=0.5, delta=0.1, mean=0.3)
    early = md.solve(problem, "branch-and-bound")
    assert early.bound < md.solve(problem).value <= early.value * (1.0 + 1e-12)
    assert early.gap > 1e-3


def test_rounding_inward_moves_by_ulps_and_keeps_the_ends():
    problem = MeanInterval(epsilon=1.0, delta=0.25)
    start, end = rounded_inward(problem, 0.0, 0.25, 0.75)
    assert (start, end) == (0.0, 0.25)
    tail = 0.75 / (math.e + 1.0)
    start, end = rounded_inward(problem, tail, 1.0 - tail, tail)
    assert 0.0 <= start - tail <= 4 * math.ulp(tail)
    assert problem.is_private(start, end)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.4])
def test_a_tiny_delta_loses_no_accuracy_at_the_end_near_zero(delta):
    solution = md.solve(MeanInterval(epsilon=0.1, delta=delta, mean=delta / 100))
    assert solution.notes["vertex"] == "from zero"
    assert solution.gap <= 1e-6 * solution.value


def test_no_privacy_budget_is_infeasible_with_a_reason():
    solution = md.solve(MeanInterval(epsilon=0.0))
    assert solution.status == "infeasible"
    assert "epsilon > 0 or delta > 0" in solution.message


def test_many_attributes_build_a_sampling_mechanism():
    mechanism = md.solve(MeanInterval(epsilon=2.0, attributes=3)).mechanism()
    values = np.tile([0.1, 0.5, 0.9], (30_000, 1))
    estimate = mechanism.estimate(mechanism.randomize(values, rng=5))
    assert np.allclose(estimate.value, [0.1, 0.5, 0.9], atol=0.05)
    with pytest.raises(MethodError, match="self-normalized"):
        md.solve(MeanInterval(epsilon=2.0, attributes=3, estimator="scaled")).mechanism()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1.0}, "epsilon: -1 is negative"),
        ({"epsilon": math.nan}, "epsilon: is NaN"),
        ({"epsilon": 1e-20}, "epsilon: 1e-20 is so small"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta: 1 is outside"),
        ({"epsilon": 1.0, "mean": 1.5}, "mean: 1.5 is outside"),
        ({"epsilon": 1.0, "mean": [0.5, 0.2]}, "mean: the range .* is empty"),
        ({"epsilon": 1.0, "mean": [0.1, 0.2, 0.3]}, "mean: expected a number or"),
        ({"epsilon": 1.0, "mean": "half"}, "mean: expected a number"),
        ({"epsilon": 1.0, "attributes": 0}, "attributes: 0 is not from 1"),
        ({"epsilon": 1.0, "estimator": "scale"}, "estimator: .*scaled"),
        ({"epsilon": 1.0, "notion": "two-sided"}, "notion: .*one-sided"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message) as caught:
        MeanInterval(**parameters)
    assert "\n" not in str(caught.value)
