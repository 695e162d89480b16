"""The audit of rounding and noise on a lattice against probabilities of real places."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import CertificateError
from mechdesign.families.location.location_audit import audit_rounded, square_lengths


def kernel(distance: Fraction) -> Fraction:
    """The density of the sum of three uniform numbers less 3/2, by inclusion and exclusion."""
    parts = [
        math.comb(3, k) * (-1) ** k * max(distance + Fraction(3, 2) - k, Fraction(0)) ** 2 for k in range(4)
    ]
    return sum(parts, Fraction(0)) / 2


def chance(table: dict[int, int], floor: int, x: Fraction, y: Fraction) -> Fraction:
    """The probability of the report (0, 0) from the place (x, y), in steps, up to a factor."""
    total = Fraction(0)
    for a in range(math.floor(x) - 1, math.floor(x) + 3):
        for b in range(math.floor(y) - 1, math.floor(y) + 3):
            total += kernel(x - a) * kernel(y - b) * table.get(a * a + b * b, floor)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_what_the_audit_lets_pass_is_private_for_any_two_places(seed):
    """Places at random, some of them very near to each other, in fractions."""
    rng = np.random.default_rng(seed)
    squares = square_lengths(int(rng.integers(2, 9)))
    weights = np.sort(rng.integers(1, 90, len(squares)))[::-1].tolist()
    step = float(rng.uniform(0.1, 2.0))
    table = dict(zip(squares, weights, strict=True))
    true = audit_rounded(squares, weights, step, 1.0).true_epsilon
    steepest = 0.0
    for number in range(60):
        near = 10.0 ** -rng.integers(0, 7)
        x, y = (Fraction(float(value)) for value in rng.uniform(-4.0, 4.0, 2))
        u, v = x + Fraction(float(rng.normal() * near)), y + Fraction(float(rng.normal() * near))
        if number % 3 == 0:
            v = y  # along an axis
        apart = math.hypot(float(x - u), float(y - v)) * step
        one, other = chance(table, weights[-1], x, y), chance(table, weights[-1], u, v)
        rate = abs(math.log(one / other)) / apart
        steepest = max(steepest, rate)
        assert rate <= true * (1.0 + 1e-6)
    assert steepest > true / 4  # the bound is not an idle one


@pytest.mark.parametrize("seed", range(40))
def test_the_verdict_is_that_of_the_true_epsilon(seed):
    rng = np.random.default_rng(seed)
    squares = square_lengths(int(rng.integers(2, 30)))
    weights = np.sort(rng.integers(1, 1 << int(rng.integers(4, 61)), len(squares)))[::-1].tolist()
    epsilon, step = float(rng.uniform(0.2, 4.0)), float(rng.uniform(0.1, 2.0))
    audit = audit_rounded(squares, weights, step, epsilon)
    assert audit.holds == (audit.true_epsilon <= epsilon)
    assert audit_rounded(squares, weights, step, audit.true_epsilon).holds
    assert not audit_rounded(squares, weights, step, audit.true_epsilon * (1 - 1e-12)).holds


def test_weights_that_grow_are_judged_by_their_slope_too():
    """A hole in the middle: the steepest way is up and away from it."""
    audit = audit_rounded([0, 1, 2, 4], [10, 90, 40, 30], 1.0, 1.0)
    table = {0: 10, 1: 90, 2: 40, 4: 30}
    one, other = (
        chance(table, 30, Fraction(3, 10), Fraction(0)),
        chance(table, 30, Fraction(4, 10), Fraction(0)),
    )
    assert not audit.holds
    assert float(other / one) <= math.exp(0.1 * audit.true_epsilon)


def test_one_unit_decides_exactly():
    """Of all weights [m, n], on an axis: vertices, edges and corners in fractions, by hand."""
    epsilon = Fraction(1, 2)
    for far in range(1, 100):
        flat = Fraction(100 - far, 2) / far  # a vector of length 1: the peak on one side of it
        edge = Fraction(100 - far) / Fraction(100 + far, 2)
        corner = 2 * (Fraction(100 - far, 2) / Fraction(100 + 3 * far, 4)) ** 2
        steepest = max(flat**2, edge**2, corner)
        assert audit_rounded([0, 1], [100, far], 1.0, 0.5).holds == (steepest <= epsilon**2)


@pytest.mark.parametrize(
    ("squares", "weights"),
    [
        ([0, 1], [3, 0]),
        ([0, 1, 1], [3, 2, 1]),
        ([1, 2], [3, 2]),
        ([0], []),
        ([0, 2], [3, 1]),
        ([0, 1], [3, -1]),
    ],
)
def test_tables_that_are_none_are_refused(squares, weights):
    with pytest.raises(CertificateError):
        audit_rounded(squares, weights, 1.0, 1.0)
