"""Rational bounds of the exponential against Taylor sums in fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import exp_lower, exp_upper, float_down, float_up, log_ratio


def taylor(exponent: Fraction, terms: int = 60) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of e^exponent, 0 <= exponent <= 1: the rest is below 2 x^n / n!."""
    total, term = Fraction(0), Fraction(1)
    for number in range(1, terms + 1):
        total += term
        term = term * exponent / number
    return total, total + 2 * term


@given(st.floats(0.0, 1.0, exclude_min=True))
def test_bounds_enclose_the_exponential_and_are_tight(exponent):
    low, high = taylor(Fraction(exponent))
    assert exp_lower(exponent) < high
    assert exp_lower(exponent) <= low or exp_lower(exponent) < low + Fraction(1, 10**48)
    assert exp_upper(exponent) > low
    assert exp_upper(exponent) - exp_lower(exponent) < exp_lower(exponent) / 10**47


@given(st.floats(0.0, 300.0))
def test_bounds_multiply_as_the_exponential_does(exponent):
    half = Fraction(exponent) / 2
    assert exp_lower(half) ** 2 <= exp_upper(exponent)
    assert exp_lower(exponent) <= exp_upper(half) ** 2


@given(st.integers(1, 2**80), st.integers(1, 2**80))
def test_doubles_are_rounded_to_the_side_that_is_asked_for(numerator, denominator):
    value = Fraction(numerator, denominator)
    below, above = float_down(value), float_up(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))


def test_the_lower_bound_is_below_a_known_value():
    e_digits = Fraction("2.718281828459045235360287471352662497757247093699959574966967627724")
    assert exp_lower(1.0) < e_digits < exp_upper(1.0)
    assert exp_lower(0.0) == exp_upper(0.0) == 1


def test_exponents_beyond_the_largest_keep_a_lower_bound_and_refuse_an_upper_one():
    assert exp_lower(5000.0) == exp_lower(1000.0)
    with pytest.raises(ParameterError, match="no upper bound"):
        exp_upper(5000.0)
    with pytest.raises(ParameterError, match="negative"):
        exp_lower(-0.5)


@given(st.integers(1, 2**62), st.integers(1, 2**62))
def test_log_ratio_is_an_upper_bound_to_many_digits(numerator, denominator):
    high, low = max(numerator, denominator), min(numerator, denominator)
    found = log_ratio(high, low)
    ratio = Fraction(high, low)
    assert exp_upper(Fraction(found)) >= ratio
    if found > 0:
        assert exp_lower(Fraction(found) * (1 - Fraction(1, 10**40))) < ratio


def test_log_ratio_of_nothing_is_infinite():
    assert log_ratio(1, 0) == Decimal("inf")
    assert log_ratio(0, 0) == log_ratio(5, 5) == 0


@given(st.fractions())
def test_float_up_is_the_least_double_that_is_not_below(value):
    up = float_up(value)
    assert Fraction(up) >= value
    assert Fraction(math.nextafter(up, -math.inf)) < value
