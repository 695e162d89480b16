"""Numbers of promises as they were written: decimals and quotients exactly, and doubles never above them.

A double such as 0.1 is a little above the decimal that was written. What is promised in decimals has to hold
for the decimal, or ten guarantees of 0.1 would be more than one of 1.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

from mechdesign.core.documents import WrittenNumber
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.exact_text import short_text
from mechdesign.exact.numbers import rational, shown
from mechdesign.exact.numerals import is_numeral, numeral

LARGEST_DENOMINATOR = 1000
"""Quotients with at most this denominator are read out of a double that is the nearest to one of them."""


EXAMPLES = "write a decimal or a quotient of two, such as 0.5 or 1/3"

LARGEST = Fraction(sys.float_info.max)
"""Of a stated epsilon; a larger one promises nothing."""


def exact_number(field: str, value: Any) -> Fraction:
    """Return a number, or one in a text, as the exact fraction that it is; refuse what is not finite.

    This is the one rule for numbers that are stated, in Python, in model files, on the command line and in
    ledgers: an integer, a fraction or a decimal is exactly itself, a text is a decimal or a quotient of two,
    and a double is the number that it is.

    Examples
    --------
    >>> exact_number("epsilon", "0.1"), exact_number("epsilon", "1/11"), exact_number("epsilon", 0.5)
    (Fraction(1, 10), Fraction(1, 11), Fraction(1, 2))
    """
    if type(value) is Fraction:
        return value
    if type(value) is WrittenNumber:
        value = value.text
    if type(value) is Decimal and value.is_finite():
        value = str(value)
    if not isinstance(value, str):
        return rational(field, value)
    value = str.__str__(value)
    if not is_numeral(value):
        raise ParameterError(field, f"expected a number, got {shown(value)}", EXAMPLES)
    try:
        return numeral(field, value)
    except DataError as error:
        raise error.as_a(ParameterError).changed(remedy="write a shorter one") from None


def epsilon_number(value: Any, field: str = "epsilon") -> Fraction:
    """Return a stated epsilon >= 0 as the exact number that it is.

    Examples
    --------
    >>> epsilon_number("0.1"), epsilon_number(Decimal("0.25")), epsilon_number(2)
    (Fraction(1, 10), Fraction(1, 4), Fraction(2, 1))
    """
    exact = exact_number(field, value)
    if exact < 0:
        raise ParameterError(field, f"{short_text(exact)} is negative", "give a number >= 0")
    if exact > LARGEST:
        raise ParameterError(field, "is too large for a number", "give a smaller one")
    return exact


def delta_number(value: Any, field: str = "delta") -> Fraction:
    """Return a stated delta from 0 to 1 as the exact number that it is."""
    exact = exact_number(field, value)
    if not 0 <= exact <= 1:
        raise ParameterError(field, f"{short_text(exact)} is outside [0, 1]", "give a probability")
    return exact


def as_written(number: float) -> Fraction:
    """Return the least of the numbers that a double may stand for: itself, its decimal, a short quotient.

    Examples
    --------
    >>> as_written(0.1), as_written(1 / 11), as_written(0.5)
    (Fraction(1, 10), Fraction(1, 11), Fraction(1, 2))
    >>> as_written(0.7) == Fraction(0.7) < Fraction(7, 10)
    True
    """
    plain = float(number)
    exact, decimal = Fraction(plain), Fraction(Decimal(repr(plain)))
    short = exact.limit_denominator(LARGEST_DENOMINATOR)
    return min(exact, decimal, short if float(short) == plain else exact)


def largest_reading(number: float) -> Fraction:
    """Return the larger of a double and its shortest decimal: what promises of parts may add up to.

    Examples
    --------
    >>> largest_reading(0.3) == Fraction(3, 10) > Fraction(0.3), largest_reading(0.1) == Fraction(0.1)
    (True, True)
    """
    plain = float(number)
    return max(Fraction(plain), Fraction(Decimal(repr(plain))))


def written_number(value: Fraction) -> Fraction:
    """Return what a double may stand for at least; a number that is not a double was written as it is.

    Examples
    --------
    >>> written_number(Fraction(0.1)), written_number(Fraction(3, 10))
    (Fraction(1, 10), Fraction(3, 10))
    """
    plain = float_up(value)
    return as_written(plain) if math.isfinite(plain) and Fraction(plain) == value else value


def probability_text(value: Fraction | float) -> str:
    """Return a probability to six digits, or with as many as tell it from 1.

    Examples
    --------
    >>> probability_text(1e-6), probability_text(0.9999999), probability_text(1 - Fraction(1, 10**30))
    ('1e-06', '0.9999999', '1 - 1e-30')
    """
    text = f"{float(value):g}"
    if float(text) < 1.0 or value >= 1:
        return text
    return repr(float(value)) if float(value) < 1.0 else f"1 - {float(1 - Fraction(value)):g}"


def stated(value: Any, field: str = "epsilon") -> float:
    """Return the double that a written number is kept as: one that stands for no more than was written.

    Examples
    --------
    >>> stated("0.1"), stated("1/11"), stated("1.09861228866810969")
    (0.1, 0.09090909090909091, 1.0986122886681096)
    >>> as_written(1.0986122886681098) > exact_number("epsilon", "1.09861228866810969")
    True
    """
    if type(value) is float and math.isfinite(value):
        return value
    exact = exact_number(field, value)
    try:
        nearest = float(exact)
    except OverflowError:
        raise ParameterError(field, "is too large for a number", "give a smaller one") from None
    found = nearest if as_written(nearest) <= exact else math.nextafter(nearest, -math.inf)
    if found <= 0.0 < exact:
        raise ParameterError(field, "is too small for a number", "give 0 or a larger one")
    return found


def float_up(value: Decimal | Fraction) -> float:
    """Return the least double that is not below the value."""
    if isinstance(value, Decimal) and value.is_infinite():
        return math.inf
    try:
        result = float(value)
    except OverflowError:
        return math.inf
    if math.isinf(result):
        return math.inf
    return result if Fraction(result) >= Fraction(value) else math.nextafter(result, math.inf)
