"""The metric audit against brute force, and distances given as points."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mechdesign.audit import audit_channel
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_upper
from tests.support.channels import integer_channels


@st.composite
def distances(draw: st.DrawFn, size: int) -> np.ndarray:
    """Draw a symmetric matrix, not always a metric, with zeros among the distances."""
    matrix = np.zeros((size, size))
    for first in range(size):
        for second in range(first):
            step = draw(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 900.0]), st.floats(0.01, 3.0)))
            matrix[first, second] = matrix[second, first] = step
    return matrix


@given(st.data(), integer_channels(), st.sampled_from([0.0, 0.5, 0.6931471805599453, 1.0, 3.0]))
def test_metric_verdict_and_excess_equal_brute_force(data, weights, epsilon):
    distance = data.draw(distances(len(weights)))
    audit = audit_channel(weights, epsilon, distance=distance)
    worst = Fraction(0)
    for first, second in permutations(range(len(weights)), 2):
        bound = exp_lower(Fraction(epsilon) * Fraction(distance[first, second]))
        for more, less in zip(weights[first].tolist(), weights[second].tolist(), strict=True):
            worst = max(worst, more - bound * less)
    assert audit.holds == (worst <= 0)
    assert audit.least_delta_exact == worst / TOTAL
    assert audit.metric


@given(st.data(), integer_channels())
def test_true_metric_epsilon_is_the_largest_rate(data, weights):
    distance = data.draw(distances(len(weights)))
    found = audit_channel(weights, 1.0, distance=distance).true_epsilon
    for first, second in permutations(range(len(weights)), 2):
        step = Fraction(distance[first, second])
        for more, less in zip(weights[first].tolist(), weights[second].tolist(), strict=True):
            if more > less and (less == 0 or step == 0):
                assert found == math.inf
            elif less > 0 and found < math.inf and Fraction(found) * step < 1000:
                assert exp_upper(Fraction(found) * step) >= Fraction(more, less)


@given(st.data(), integer_channels())
def test_the_witness_attains_the_true_metric_epsilon(data, weights):
    distance = data.draw(distances(len(weights)))
    audit = audit_channel(weights, 1.0, distance=distance)
    if audit.true_epsilon == 0.0:
        return
    where = audit.epsilon_witness
    high, low = (int(weights[where[key], where["report"]]) for key in ("input", "other"))
    step = Fraction(distance[where["input"], where["other"]])
    if audit.true_epsilon == math.inf:
        assert high > low
        assert low == 0 or step == 0
    else:
        assert exp_lower(Fraction(math.nextafter(audit.true_epsilon, 0.0)) * step) < Fraction(high, low)


@pytest.mark.parametrize(("epsilon", "holds"), [(0.6931471805599453, False), (0.6931471805599454, True)])
def test_the_limit_is_decided_with_integers_not_logarithms(epsilon, holds):
    quarter = TOTAL // 4
    weights = np.array([[2 * quarter, quarter, quarter], [quarter, 2 * quarter, quarter]], dtype=np.int64)
    audit = audit_channel(weights, epsilon, distance=np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert audit.holds == holds
    assert audit.true_epsilon == 0.6931471805599454
    doubled = audit_channel(weights, epsilon / 2, distance=np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert doubled.holds == holds


def test_equal_rows_at_distance_zero_are_private_and_others_are_not():
    half = TOTAL // 2
    zero = np.zeros((2, 2))
    assert audit_channel(np.array([[half, half], [half, half]]), 1.0, distance=zero).holds
    refused = audit_channel(np.array([[half, half], [half - 1, half + 1]]), 1.0, distance=zero)
    assert not refused.holds
    assert refused.true_epsilon == math.inf


def test_the_smallest_difference_counts_in_the_true_epsilon():
    half = TOTAL // 2
    weights = np.array([[half, half], [half - 1, half + 1]])
    audit = audit_channel(weights, 1.0, distance=np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert audit.true_epsilon == audit_channel(weights, 1.0).true_epsilon
    assert 1e-19 < audit.true_epsilon < 1e-18


def test_the_certificate_says_that_it_is_about_the_listed_answers():
    """A place between two of them is rounded by whoever answers, which the audit cannot judge."""
    audit = audit_channel(
        np.array([[1 << 61, 1 << 61], [1 << 61, 1 << 61]]), 1.0, distance=np.array([[0, 1.0], [1, 0]])
    )
    assert "between the listed answers; rounding to them is not covered" in str(audit)


def test_an_epsilon_per_tiny_unit_has_all_its_digits():
    distance = np.array([[0.0, 1e-60], [1e-60, 0.0]])
    audit = audit_channel(
        np.array([[TOTAL // 4 * 3, TOTAL // 4], [TOTAL // 4, TOTAL // 4 * 3]]), 2e60, distance=distance
    )
    assert audit.holds
    assert float(audit.details()["true_epsilon_digits"]) == pytest.approx(math.log(3) * 1e60, rel=1e-14)
