"""Rational bounds of the exponential and many-digit logarithms, from correctly rounded decimals.

The standard library's ``decimal`` rounds ``exp`` and ``ln`` correctly (half-even), so the true
value lies strictly between the two decimals next to the result.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import decimal_context
from mechdesign.core.validation import as_written, float_up as float_up, privacy_epsilon
from mechdesign.exact.numbers import plain_int, rational, text_of

DIGITS = 50
"""Significant digits of every bound."""

TINY = Fraction(1, 10**47)
"""Above the relative error of every bound and logarithm here."""

LARGEST = 1000
"""Larger exponents are replaced by this one, which is still a lower bound; 62-bit weights cannot tell."""


def exp_lower(exponent: Fraction | float) -> Fraction:
    """Return a rational number from 1 up to e^exponent, closer than 48 significant digits; 1 for exponent 0.

    Parameters
    ----------
    exponent : Fraction or float
        Taken exactly: a float stands for the dyadic rational that it is. At least 0; above 1000 the
        bound is that of 1000.

    Examples
    --------
    >>> bound = exp_lower(0.5)
    >>> bound < Fraction(16487212707001281469, 10**19) and float(bound)
    1.6487212707001282
    """
    return _exp_lower(*_checked(exponent))


def exp_written(epsilon: float) -> Fraction:
    """Return a lower bound of e^epsilon for the least number that the double epsilon may stand for.

    What is built with it keeps the decimal, or the short quotient, that was written, and not only the double
    next to it: see :func:`mechdesign.core.validation.as_written`.

    Examples
    --------
    >>> exp_written(0.1) == exp_lower(Fraction(1, 10)) < exp_lower(0.1)
    True
    """
    return exp_lower(as_written(privacy_epsilon(epsilon)))


@lru_cache(maxsize=65536)  # of plain integers: no key can say that it equals another
def _exp_lower(numerator: int, denominator: int) -> Fraction:
    if numerator == 0:
        return Fraction(1)
    if numerator > LARGEST * denominator:
        numerator, denominator = LARGEST, 1
    context = decimal_context(DIGITS, ROUND_FLOOR)
    below = context.divide(Decimal(numerator), Decimal(denominator))
    return max(Fraction(1), Fraction(context.next_minus(context.exp(below))))


def exp_upper(exponent: Fraction | float) -> Fraction:
    """Return a rational number above e^exponent, closer than 48 significant digits; 1 for exponent 0.

    Examples
    --------
    >>> exp_lower(1.0) < exp_upper(1.0)
    True
    """
    return _exp_upper(*_checked(exponent))


@lru_cache(maxsize=65536)
def _exp_upper(numerator: int, denominator: int) -> Fraction:
    if numerator > LARGEST * denominator:
        raise ParameterError(
            "epsilon", f"is beyond {LARGEST}, no upper bound is computed", "give a smaller one"
        )
    if numerator == 0:
        return Fraction(1)
    context = decimal_context(DIGITS, ROUND_CEILING)
    above = context.divide(Decimal(numerator), Decimal(denominator))
    return Fraction(context.next_plus(context.exp(above)))


def log_ratio(numerator: int, denominator: int) -> Decimal:
    """Return an upper bound of ln(numerator / denominator) to 48 digits; infinite for denominator 0.

    Examples
    --------
    >>> print(round(log_ratio(2, 1), 20))
    0.69314718055994530942
    """
    top, bottom = plain_int("numerator", numerator), plain_int("denominator", denominator)
    if bottom == 0:
        return Decimal("inf") if top > 0 else Decimal(0)
    if top == bottom:
        return Decimal(0)
    context = decimal_context(DIGITS, ROUND_CEILING)
    ratio = context.divide(Decimal(top), Decimal(bottom))
    return context.next_plus(context.ln(ratio))


def true_bound(true: Decimal, epsilon: Fraction | float, proven: bool) -> Fraction | None:
    """Return a bound of a true epsilon that agrees with the verdict on the ratio; None for an infinite one.

    The logarithm is rounded up and the bound of e^epsilon down, by less than one part in 10^47: where a ratio
    is as near as that to e^epsilon, the logarithm could contradict what the ratio proves.

    Parameters
    ----------
    true : Decimal
        The logarithm of the ratio, rounded up.
    epsilon : Fraction or float
        The promise.
    proven : bool
        Whether the ratio is within the lower bound of e^epsilon.

    Examples
    --------
    >>> true_bound(Decimal("1.1"), 1.0, True), true_bound(Decimal("0.9"), 1.0, True)
    (Fraction(1, 1), Fraction(9, 10))
    """
    if true.is_infinite():
        return None
    bound, promise = Fraction(true), Fraction(epsilon)
    if proven:
        return min(bound, promise)
    return bound if bound > promise else promise * (1 + TINY) + TINY


def float_down(value: Fraction) -> float:
    """Return the largest double that is not above the value, which must be within their range."""
    result = float(value)
    return result if Fraction(result) <= value else math.nextafter(result, -math.inf)


def _checked(exponent: Fraction | float) -> tuple[int, int]:
    """Return numerator and denominator of a finite exponent >= 0."""
    exact = rational("epsilon", exponent)
    if exact < 0:
        raise ParameterError("epsilon", f"{text_of(exponent)} is negative", "give a number >= 0")
    return exact.numerator, exact.denominator
