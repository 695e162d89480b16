"""Which pairs are judged, and that judging them is judging all: against all pairs in fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from mechdesign.audit import audit_channel
from mechdesign.audit.metric import Triples, _distinct, needed_pairs, ranked, rate
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.primitives import PrivacyTarget, make_private
from mechdesign.primitives.finite import to_integers

KINDS = ("line", "uneven line", "tenths", "plane", "any", "extreme", "equal")


def distance(kind: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a symmetric matrix; only some kinds are metrics, and their sums are rounded."""
    if kind in ("line", "uneven line", "tenths"):
        scale = rng.choice([1.0, 1e-18, 1e-300, 1e3])
        places = {
            "line": np.arange(size) * 1.0,
            "uneven line": scale * rng.random(size),
            "tenths": 0.1 * rng.integers(0, 4, size),
        }[kind]
        return np.abs(places[:, None] - places)
    if kind == "plane":
        across, up = rng.integers(0, 3, (2, size))
        return np.hypot(across[:, None] - across, up[:, None] - up)
    if kind == "equal":
        return np.ones((size, size)) - np.eye(size)
    choices = [0.0, 5e-324, 1e-17, 1e-9, 0.5, 1.0, 2.0, 900.0]
    steps = rng.uniform(0.1, 3, (size, size)) if kind == "any" else rng.choice(choices, (size, size))
    return np.triu(steps, 1) + np.triu(steps, 1).T


def channel(size: int, epsilon: float, matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return integer weights: at the limit in many entries, with zeros, and sometimes off by one unit."""
    width = int(rng.integers(2, 6))
    rows = rng.dirichlet(np.ones(width) * rng.choice([0.1, 1.0, 10.0]), size)
    style = rng.integers(4)
    if style == 0:
        rows = np.exp(-np.minimum(epsilon * matrix[:, rng.integers(0, size, width)], 700.0))
        rows = np.hstack([rows, rows.sum(axis=1).max() - rows.sum(axis=1, keepdims=True)])
    if style == 1:
        rows[rng.random(rows.shape) < 0.2] = 0.0
        rows[:, 0] += 1e-9
    rows /= rows.sum(axis=1, keepdims=True)
    weights = to_integers(rows)
    if rng.random() < 0.5:
        weights = make_private(rows, PrivacyTarget(epsilon, distance=matrix)).weights.copy()
    if rng.random() < 0.5:
        row = int(rng.integers(size))
        giver, taker = int(weights[row].argmax()), int(weights[row].argmin())
        weights[row, giver] -= 1
        weights[row, taker] += 1
    return weights


def entries(weights: np.ndarray, matrix: np.ndarray):
    for first, second in permutations(range(len(weights)), 2):
        for more, less in zip(weights[first].tolist(), weights[second].tolist(), strict=True):
            yield float(matrix[first, second]), more, less


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_the_pairs_without_two_shorter_steps_are_kept(kind):
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 7, 12):
        matrix = distance(kind, size, rng)
        exact = [[Fraction(step) for step in row] for row in matrix.tolist()]
        kept = [
            [i, k]
            for i in range(size)
            for k in range(size)
            if i != k
            and not any(
                exact[i][j] + exact[j][k] <= exact[i][k] and max(exact[i][j], exact[j][k]) < exact[i][k]
                for j in range(size)
            )
        ]
        assert needed_pairs(matrix).tolist() == kept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-18, 1e-9, 0.01, math.log(2), 1.0, 60.0])
def test_the_audit_equals_all_pairs_in_fractions(kind, epsilon):
    rng = np.random.default_rng(2)
    for _ in range(12):
        size = int(rng.integers(2, 7))
        matrix = distance(kind, size, rng)
        weights = channel(size, epsilon, matrix, rng)
        found = audit_channel(weights, epsilon, distance=matrix)
        worst, largest = Fraction(0), Decimal(0)
        for step, more, less in entries(weights, matrix):
            worst = max(worst, more - exp_lower(Fraction(epsilon) * Fraction(step)) * less)
            largest = max(largest, rate(more, less, step) if more > less else Decimal(0))
        assert found.holds == (worst <= 0)
        assert PrivacyTarget(epsilon, distance=matrix).holds(weights) == found.holds
        assert found.least_delta_exact == worst / TOTAL
        # rounded-up logarithms of implied pairs may exceed the needed ones' in the last of 47 digits
        assert found.true_epsilon_digits <= largest
        if largest.is_finite():
            assert largest - found.true_epsilon_digits <= largest * Decimal("1e-45")
        else:
            assert found.true_epsilon == math.inf
        if worst > 0:
            where = found.delta_witness
            first, second, report = where["input"], where["other"], where["reports"][0]
            bound = exp_lower(Fraction(epsilon) * Fraction(float(matrix[first, second])))
            assert int(weights[first, report]) - bound * int(weights[second, report]) == worst


def test_a_step_as_long_as_the_whole_proves_nothing():
    matrix = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1e-20], [1.0, 1e-20, 0.0]])  # 1 + 1e-20 rounds to 1
    assert len(needed_pairs(matrix)) == 6


@pytest.mark.parametrize("entry", [-1.0, math.nan, math.inf])
def test_a_distance_that_is_none_is_refused(entry):
    weights = np.full((2, 2), TOTAL // 2)
    with pytest.raises(ParameterError, match=r"distance: (is|has)"):
        audit_channel(weights, 1.0, distance=np.array([[0.0, entry], [entry, 0.0]]))
    with pytest.raises(ParameterError, match="distance: has shape"):
        audit_channel(weights, 1.0, distance=np.zeros((3, 3)))


@pytest.mark.parametrize("scale", [1, 1 << 61])
def test_triples_are_distinct_also_where_one_integer_cannot_hold_them(scale):
    steps = np.array([2.0, 1.0, 2.0, 1.0, 2.0])
    ratios = np.array([1, 3, 1, 2, 0]) * scale
    separations, kept = _distinct(steps, ratios)
    assert separations.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert kept.tolist() == [2 * scale, 3 * scale, 0, scale]


def test_no_triples_yield_nothing():
    assert list(Triples(*ranked(np.array([[TOTAL]]))).by_distance()) == []


@pytest.mark.parametrize("notion", ["ldp", "entry-wise"])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_short_verdict_is_that_of_the_audit(notion, delta):
    rng = np.random.default_rng(3)
    target = PrivacyTarget(0.5, delta, notion=notion)
    verdicts = set()
    for spread in (0.1, 1.0, 10.0, 100.0):
        for _ in range(20):
            weights = to_integers(rng.dirichlet(np.full(3, spread), 3))
            assert target.holds(weights) == target.audit(weights).holds
            verdicts.add(target.holds(weights))
    assert verdicts == {True, False}
