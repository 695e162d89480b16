"""Own convex constraints and concave utilities through cvxpy."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.families.response import ExtendedResponse, mutual_information, output_entropy
from mechdesign.families.response.parameters import mutual_information_bits

PRIOR = [0.5, 0.3, 0.2]


def capped(bits: float, **parameters) -> ExtendedResponse:
    return ExtendedResponse(
        prior=PRIOR,
        epsilon=1.0,
        own_constraints=lambda channel: [mutual_information(PRIOR, channel) <= bits],
        **parameters,
    )


@pytest.mark.parametrize("bits", [0.005, 0.01, 0.02])
def test_a_cap_on_the_mutual_information_is_kept_and_active(bits):
    solution = md.solve(capped(bits))
    free = md.solve(md.RandomizedResponse(prior=PRIOR, epsilon=1.0))
    leaked = mutual_information_bits(np.array(PRIOR), np.asarray(solution.variables["channel"]))
    assert solution.method == "convex"
    assert leaked == pytest.approx(bits, rel=1e-4)
    assert solution.residuals["own_constraints"] < 1e-7
    assert solution.value < free.value
    assert 0 <= solution.gap < 1e-6
    assert all(certificate.holds for certificate in solution.certificates)


def test_a_cap_that_is_not_reached_changes_nothing():
    solution = md.solve(capped(1.0))
    assert (
        abs(solution.value - md.solve(md.RandomizedResponse(prior=PRIOR, epsilon=1.0)).value)
        <= solution.gap + 1e-9
    )


def test_a_tighter_cap_never_gives_more():
    values = [md.solve(capped(bits)).value for bits in (0.001, 0.005, 0.01, 0.02)]
    assert values == sorted(values)


def test_the_cap_works_with_delta_and_with_a_distance():
    for parameters in ({"delta": 0.05}, {"distance": "line"}):
        solution = md.solve(capped(0.01, **parameters))
        assert solution.residuals["own_constraints"] < 1e-7
        assert solution.gap < 1e-5
        assert solution.mechanism().audit().holds


def test_a_concave_utility_is_maximised_with_a_proven_bound():
    def balanced(channel):
        return 0.9 * cvxpy.sum(cvxpy.multiply(np.diag(PRIOR), channel)) + 0.1 * output_entropy(PRIOR, channel)

    problem = ExtendedResponse(prior=PRIOR, epsilon=1.0, own_utility=balanced)
    solution = md.solve(problem)
    assert solution.status == "optimal"
    assert 0 <= solution.gap < 1e-6
    for channel in (
        md.solve(md.RandomizedResponse(prior=PRIOR, epsilon=1.0)).variables["channel"],
        np.full((3, 3), 1 / 3),
    ):
        assert problem.objective({"channel": channel}) <= solution.value + 1e-9
    rng = np.random.default_rng(1)
    for _ in range(50):  # no private channel near by or far off is above the bound
        other = np.exp(rng.uniform(-0.25, 0.25, (3, 3)))
        other /= other.sum(axis=1, keepdims=True)
        if max(problem.residuals({"channel": other}).values()) < 1e-12:
            assert problem.objective({"channel": other}) <= solution.bound


def test_constraints_that_cannot_be_met_are_a_status_with_a_reason():
    problem = ExtendedResponse(
        prior=PRIOR,
        epsilon=1.0,
        own_constraints=lambda channel: [channel[0, 0] >= 0.99, channel[1, 0] <= 0.01],
    )
    solution = md.solve(problem)
    assert solution.status == "infeasible"
    assert "relax one of them" in solution.message
    assert solution.certificates == ()
    with pytest.raises(MethodError, match="no mechanism from a solution that is infeasible"):
        solution.mechanism()


def test_what_is_not_convex_is_refused_naming_it():
    convex = ExtendedResponse(
        prior=PRIOR, epsilon=1.0, own_constraints=lambda channel: [mutual_information(PRIOR, channel) >= 0.01]
    )
    with pytest.raises(ParameterError, match="own_constraints: number 0 is not convex"):
        md.solve(convex)
    utility = ExtendedResponse(
        prior=PRIOR, epsilon=1.0, own_utility=lambda channel: mutual_information(PRIOR, channel)
    )
    with pytest.raises(ParameterError, match="own_utility: is not concave"):
        md.solve(utility)
    largest = ExtendedResponse(prior=PRIOR, epsilon=1.0, utility="mutual-information")
    with pytest.raises(MethodError, match="not a convex program"):
        md.solve(largest)


def test_no_constraints_at_all_are_fine():
    solution = md.solve(ExtendedResponse(prior=PRIOR, epsilon=1.0, own_constraints=lambda channel: []))
    assert (
        abs(solution.value - md.solve(md.RandomizedResponse(prior=PRIOR, epsilon=1.0)).value)
        <= solution.gap + 1e-9
    )


def test_only_the_declarative_method_takes_own_expressions():
    names = [method.name for method in md.methods_of(ExtendedResponse) if method.why_not(capped(0.1)) is None]
    assert names == ["convex", "statement"]


@pytest.mark.parametrize("seed", range(5))
def test_expressions_have_the_values_they_name(seed):
    rng = np.random.default_rng(seed)
    prior, channel = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), 3)
    variable = cvxpy.Variable((3, 4))
    variable.value = channel
    reported = prior @ channel
    entropy = -(reported * np.log2(reported)).sum()
    conditional = -(prior[:, None] * channel * np.log2(channel)).sum()
    assert float(output_entropy(prior, variable).value) == pytest.approx(entropy)
    assert float(mutual_information(prior, variable).value) == pytest.approx(entropy - conditional)
    assert mutual_information_bits(prior, channel) == pytest.approx(entropy - conditional)
    assert mutual_information(prior, variable).is_convex()
    assert output_entropy(prior, variable).is_concave()
