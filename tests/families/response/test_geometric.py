"""The remapped geometric channel: against the exact optimum, its dual solution, and the linear program."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError
from mechdesign.families.response.noise import geometric_channel
from tests.support.exact import channel_optimum

UTILITIES = ("truth", "absolute-loss", "squared-loss")


def random_prior(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return a prior: smooth, spiky, with zeros, symmetric or uniform."""
    prior = rng.dirichlet(np.full(size, rng.choice([0.1, 0.3, 1.0, 5.0])))
    style = rng.integers(5)
    if style == 0:
        prior[rng.random(size) < 0.4] = 0.0
    if style == 1:
        prior = prior + prior[::-1]
    if style == 2 or prior.sum() == 0.0:
        prior = np.ones(size)
    return prior / prior.sum()


def exact_gains(rng: np.random.Generator, size: int, utility: str) -> list[list[Fraction]]:
    parts = [Fraction(int(part)) for part in rng.integers(0, 6, size)]
    parts[0] += 1
    loss = {"truth": lambda step: step > 0, "absolute-loss": abs, "squared-loss": lambda step: step**2}[
        utility
    ]
    return [[-part * loss(abs(i - j)) / sum(parts) for j in range(size)] for i, part in enumerate(parts)]


def best_losses(gains: list[list[Fraction]], ratio: Fraction) -> list[Fraction]:
    """Return h_s = max_j sum_i g_ij a^|i - s|."""
    size = len(gains)
    return [
        max(sum(gains[i][j] * ratio ** abs(i - s) for i in range(size)) for j in range(size))
        for s in range(size)
    ]


def value(losses: list[Fraction], ratio: Fraction) -> Fraction:
    """Return sum_s c_s h_s."""
    return (losses[0] + losses[-1] + (1 - ratio) * sum(losses[1:-1])) / (1 + ratio)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_formula_is_the_exact_optimum_of_the_definition(utility, size):
    rng = np.random.default_rng(size)
    for ratio in (Fraction(1, 2), Fraction(2, 3)):
        gains = exact_gains(rng, size, utility)
        factors = [[ratio ** -abs(i - k) for k in range(size)] for i in range(size)]
        assert value(best_losses(gains, ratio), ratio) == channel_optimum(gains, factors)


def solved(losses: list[Fraction], ratio: Fraction) -> list[Fraction]:
    """Return z with sum_i z_i a^|i - s| = h_s, by the tridiagonal inverse."""
    last = len(losses) - 1
    z = []
    for s, loss in enumerate(losses):
        near = sum(losses[other] for other in (s - 1, s + 1) if 0 <= other <= last)
        z.append(((1 if s in (0, last) else 1 + ratio**2) * loss - ratio * near) / (1 - ratio**2))
    return z


def least_over_private_columns(costs: list[Fraction], ratio: Fraction) -> Fraction:
    """Return the minimum of costs . p over the extreme rays of private columns, scaled to end in 1.

    Neighbours on an extreme ray differ by a factor a or 1 / a.
    """
    least = costs[0]
    for cost in costs[1:]:
        least = cost + min(ratio * least, least / ratio)
    return least


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_dual_solution_of_the_proof_is_feasible_and_has_the_value_of_the_channel(utility):
    rng = np.random.default_rng(9)
    for _ in range(60):
        size, ratio = int(rng.integers(2, 10)), Fraction(int(rng.integers(1, 10)), 10)
        gains = exact_gains(rng, size, utility)
        losses = best_losses(gains, ratio)
        z = solved(losses, ratio)
        assert [sum(z[i] * ratio ** abs(i - s) for i in range(size)) for s in range(size)] == losses
        assert sum(z) == value(losses, ratio)
        for report in range(size):
            costs = [z[i] - gains[i][report] for i in range(size)]
            assert least_over_private_columns(costs, ratio) >= 0


def test_the_proof_needs_losses_that_do_not_decrease_with_the_distance():
    """With a utility whose differences change sign twice the best remap falls short of the optimum."""
    ratio = Fraction(1, 2)
    gains = [[Fraction(entry) for entry in row] for row in ([0, 1, -2], [-1, -2, 2], [-2, 3, 0])]
    factors = [[ratio ** -abs(i - k) for k in range(3)] for i in range(3)]
    assert value(best_losses(gains, ratio), ratio) == Fraction(7, 3)
    assert channel_optimum(gains, factors) == Fraction(8, 3)


@pytest.mark.parametrize("utility", UTILITIES)
def test_it_agrees_with_the_linear_program_on_random_priors(utility):
    rng = np.random.default_rng(4)
    for _ in range(30):
        size = int(rng.integers(2, 13))
        epsilon = float(rng.choice([0.0, math.log(2), rng.uniform(0.1, 3.0), 6.0], p=[0.05, 0.1, 0.8, 0.05]))
        problem = md.RandomizedResponse(
            prior=random_prior(rng, size), epsilon=epsilon, utility=utility, distance="line"
        )
        found, program = md.solve(problem), md.solve(problem, "lp")
        allowance = 1e-13 * problem.objective_scale()
        assert found.method == "geometric"
        assert found.gap <= allowance
        assert found.value <= program.bound + allowance
        assert program.value <= found.bound + allowance
        assert max(found.residuals.values()) <= 1e-13
        assert all(certificate.holds for certificate in found.certificates)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 50.0, 700.0])
@pytest.mark.parametrize("size", [2, 40])
def test_extreme_epsilons_and_sizes_run(size, epsilon):
    problem = md.RandomizedResponse(
        prior=np.full(size, 1 / size), epsilon=epsilon, utility="squared-loss", distance="line"
    )
    solution = md.solve(problem)
    assert solution.method == "geometric"
    assert all(certificate.holds for certificate in solution.certificates), list(
        map(str, solution.certificates)
    )
    assert solution.mechanism().audit().true_epsilon <= epsilon


def test_the_channel_is_that_of_the_definition():
    channel = geometric_channel(5, 0.7)
    ratio = math.exp(-0.7)
    assert np.abs(channel.sum(axis=1) - 1.0).max() < 1e-15
    assert channel[1, 3] == pytest.approx(ratio**2 * (1 - ratio) / (1 + ratio))
    assert channel[1, 4] == pytest.approx(ratio**3 / (1 + ratio))
    assert geometric_channel(1, 0.7).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({}, "distance 'line'"),
        ({"distance": [[0.0, 1.0], [1.0, 0.0]]}, "distance 'line'"),
        ({"distance": "line", "utility": "mutual-information"}, "utilities 'truth'"),
        ({"distance": "line", "utility": [[1.0, 0.0], [0.0, 1.0]]}, "utilities 'truth'"),
        ({"distance": "line", "prior": [1 / 2049] * 2049}, "more than 2048"),
    ],
)
def test_where_it_does_not_apply_it_says_why(extra, reason):
    problem = md.RandomizedResponse(**{"prior": [0.4, 0.6], "epsilon": 1.0, **extra})
    with pytest.raises(MethodError, match=reason):
        md.solve(problem, "geometric")
