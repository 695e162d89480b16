"""Deliberately damaged channels become private by least mixing, and less mixing would not do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.response.parameters import distance_matrix
from mechdesign.primitives import FiniteChannel, PrivacyTarget, make_private
from mechdesign.primitives.finite import cleaned, constant_rows, least_mixing, to_integers

LINE = PrivacyTarget(1.0, distance=distance_matrix("line", 5))
TARGETS = {
    "plain": PrivacyTarget(1.0),
    "ln 2": PrivacyTarget(math.log(2)),
    "zero": PrivacyTarget(0.0),
    "ldp": PrivacyTarget(0.5, 0.1),
    "entry-wise": PrivacyTarget(0.5, 0.1, notion="entry-wise"),
    "metric": LINE,
}


def optimal(size: int = 5, epsilon: float = 1.0) -> np.ndarray:
    """Randomized response, whose every column is at the limit."""
    low = 1.0 / (math.exp(epsilon) + size - 1)
    channel = np.full((size, size), low)
    np.fill_diagonal(channel, 1.0 - (size - 1) * low)
    return channel


def damaged() -> dict[str, np.ndarray]:
    """Return channels with every kind of damage a solver may leave."""
    spurious_zero = optimal()
    spurious_zero[2, 0], spurious_zero[2, 2] = 0.0, spurious_zero[2, 2] + spurious_zero[2, 0]
    tiny_negative = optimal()
    tiny_negative[1, 1] += tiny_negative[1, 3] + 3e-10
    tiny_negative[1, 3] = -3e-10
    off_sum = optimal()
    off_sum[0] *= 1.0 + 1e-9
    off_sum[3] *= 1.0 - 1e-9
    noise_column = np.hstack([optimal(), np.abs(np.random.default_rng(1).normal(0, 1e-17, (5, 1)))])
    real_column = np.hstack([optimal(), np.array([[0.0], [1e-12], [0.0], [2e-12], [0.0]])])
    identity = np.eye(5)
    random = np.random.default_rng(2).dirichlet(np.ones(5), 5)
    sparse = np.random.default_rng(3).dirichlet(np.full(6, 0.1), 5)
    sparse[sparse < 0.05] = 0.0
    sparse /= sparse.sum(axis=1, keepdims=True)
    return {
        "spurious zero": spurious_zero,
        "tiny negative": tiny_negative,
        "row sums off by 1e-9": off_sum,
        "noise column": noise_column,
        "column of solver dust": real_column,
        "identity": identity,
        "random": random,
        "sparse": sparse,
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("damage", damaged())
def test_a_damaged_channel_becomes_private_by_the_least_mixing(damage, target):
    channel, wanted = damaged()[damage], TARGETS[target]
    repaired = make_private(channel, wanted)
    assert repaired.audit.holds
    assert wanted.audit(repaired.weights).holds
    assert [sum(row) for row in repaired.weights.tolist()] == [TOTAL] * 5
    clean = cleaned(channel)
    assert not clean[:, channel.max(axis=0) < 1e-15].any(), "noise must not become a report"
    amounts = []
    for constant in constant_rows(clean):
        needed = least_mixing(clean, constant, wanted)
        amounts.append(needed)
        if needed > 1e-6:
            for part in (0.5, 0.999, 1.0 - 1e-7):
                less = to_integers((1.0 - part * needed) * clean + part * needed * constant)
                assert not wanted.audit(less).holds, f"{part} of the mixing would do"
    assert min(abs(repaired.mixing - amount) for amount in amounts) <= 1e-12


@pytest.mark.parametrize("damage", damaged())
def test_the_mechanism_is_made_from_the_damaged_channel_and_stays_near_it(damage):
    channel = damaged()[damage]
    mechanism = FiniteChannel.from_floats(channel, PrivacyTarget(1.0))
    assert mechanism.audit().true_epsilon <= 1.0
    mixed = mechanism.mixing
    assert np.abs(mechanism.channel - cleaned(channel)).max() <= mixed + 1e-15


def test_the_nearer_of_the_two_noises_is_taken():
    channel = np.array([[0.9, 0.1, 0.0], [0.9, 0.05, 0.05], [0.9, 0.1, 0.0]])
    target = PrivacyTarget(1.0)
    repaired = make_private(channel, target)
    moved = [
        least_mixing(channel, constant, target) * np.abs(channel - constant).sum(axis=1).max()
        for constant in constant_rows(channel)
    ]
    found = np.abs(repaired.weights / TOTAL - channel).sum(axis=1).max()
    assert found == pytest.approx(min(moved), rel=1e-6)
    assert max(moved) > 1.1 * min(moved)


def test_a_private_channel_is_left_alone():
    channel = optimal(epsilon=0.5)
    repaired = make_private(channel, PrivacyTarget(1.0))
    assert repaired.mixing == 0.0
    assert np.abs(repaired.weights / TOTAL - channel).max() < 1e-15


def test_epsilon_zero_leaves_one_row_for_all():
    repaired = make_private(np.random.default_rng(5).dirichlet(np.ones(4), 4), PrivacyTarget(0.0))
    assert (repaired.weights == repaired.weights[0]).all()


def test_answers_at_distance_zero_get_one_row_without_losing_the_rest():
    """A solver's rows for them differ by its tolerance; that must not cost the whole channel."""
    distance = distance_matrix(np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]]), 3)
    channel = np.array([[0.8, 0.2], [0.8 + 1e-11, 0.2 - 1e-11], [0.2, 0.8]])
    repaired = make_private(channel, PrivacyTarget(1.0, distance=distance))
    assert repaired.audit.holds
    assert repaired.weights[0].tolist() == repaired.weights[1].tolist()
    assert np.abs(repaired.weights / TOTAL - channel).max() < 1e-9


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "row 0 sums to 1.1"),
        ([[1.1, -0.1], [0.5, 0.5]], "least entry -0.1"),
        ([[np.nan, 1.0]], "NaN at index 0, 0"),
        ([[]], "is empty"),
        ([0.5, 0.5], "matrix"),
    ],
)
def test_what_is_not_even_nearly_a_channel_is_refused(channel, text):
    with pytest.raises(ParameterError, match=text):
        make_private(np.array(channel), PrivacyTarget(1.0))


def test_integers_keep_zeros_and_exact_row_sums():
    rng = np.random.default_rng(4)
    channel = rng.dirichlet(np.full(30, 0.05), 50)
    channel[channel < 1e-3] = 0.0
    channel /= channel.sum(axis=1, keepdims=True)
    weights = to_integers(channel)
    assert [sum(row) for row in weights.tolist()] == [TOTAL] * 50
    assert ((weights == 0) == (channel < 1 / TOTAL)).all()
    assert (weights >= 0).all()


def test_the_repair_of_a_linear_program_is_reported_and_its_channel_is_private():
    problem = md.RandomizedResponse(
        prior=[1 / 16] * 16, epsilon=1.0, utility="absolute-loss", distance="line"
    )
    solution = md.solve(problem, "lp")
    assert 0.0 <= solution.notes["utility_given_up"] < 1e-6
    mechanism = solution.mechanism()
    assert mechanism.audit().true_epsilon <= 1.0
    assert solution.value <= solution.bound
