"""Numbers as they were written, exactly, and checks that name the field, what is wrong and the remedy.

A double such as 0.1 is a little above the decimal that was written. What is promised in decimals has to hold
for the decimal, or ten guarantees of 0.1 would be more than one of 1. So decimals and quotients are read
exactly, and the double next to them is never above them.

A table of another program may hold names and numbers. Percent signs, separators of thousands, decimal commas,
``nan``, quotients by zero and codes of missing values are none of both: they are refused with what to do.

Checks of vectors and matrices stand behind the gate of :mod:`mechdesign.exact.numbers`: what they look at is
plain already.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError, UnknownNameError, suggestion
from mechdesign.core.values import short_text
from mechdesign.exact.numbers import double, doubles, frozen, plain_int, rational, text_of


class WrittenNumber(float):
    """The double next to a number in a text that has more digits than a double, with the text.

    It is a double like any other; an epsilon is read from the text. See :func:`written_float`.
    """

    text: str

    def __reduce__(self) -> tuple[Any, ...]:
        return written_float, (self.text,)


def written_float(text: str) -> float:
    """Return the double of a text; one with the text where the double's own decimal is another number.

    Examples
    --------
    >>> type(written_float("0.1")) is float, written_float("1.09861228866810969").text
    (True, '1.09861228866810969')
    """
    number = float(text)
    if not math.isfinite(number) or Decimal(text.replace("_", "")) == Decimal(repr(number)):
        return number
    result = WrittenNumber(number)
    result.text = text.replace("_", "")
    return result


MOST_EXPONENT = 100_000
"""Of a power of ten; a number of more digits before or after the point is refused."""

MOST_DIGITS = 10_000
"""Written digits of one number."""

NUMERAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
SIMPLE = re.compile(r"[0-9]+(?:\.[0-9]*)?", re.ASCII)
"""Most numbers of a table, which are read quickly."""

MISSING = re.compile(r"[+-]?(?:nan|inf|infinity|na|n/a|null|<na>)(?![^\W_])", re.IGNORECASE)


PLAIN_REMEDY = "write decimals such as 0.25, or quotients such as 1/3"
SEPARATORS = " \t'_\u00a0\u2009\u202f\u2019"


def is_numeral(text: str) -> bool:
    """Whether a text states a number: a decimal, or a quotient of two of which the second is not 0.

    Examples
    --------
    >>> [is_numeral(text) for text in ("0.1", " 1/3", "1e-400", "1/0", "nan", "1_0", "9,000", "")]
    [True, True, True, False, False, False, False, False]
    """
    parts = [part.strip(" \t") for part in text.split("/")]
    if len(parts) > 2 or any(NUMERAL.fullmatch(part) is None for part in parts):
        return False
    return len(parts) == 1 or any(digit in "123456789" for digit in parts[1].lower().partition("e")[0])


def numeral(where: str, text: str) -> Fraction:
    """Return the number that a text states, exactly: a decimal, or a quotient of two.

    Parameters
    ----------
    where : str
        The place in error messages.
    text : str

    Raises
    ------
    DataError
        For everything else, with what to write instead.

    Examples
    --------
    >>> numeral("row 1", "0.1"), numeral("row 1", " 2/6"), numeral("row 1", "1e-3")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000))
    >>> numeral("row 1", "9,000")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: row 1: '9,000' has a comma; write decimals with a point ...
    """
    if len(text) < 18 and SIMPLE.fullmatch(text):
        return Fraction(Decimal(text))
    parts = [part.strip(" \t") for part in text.split("/")]
    if len(parts) > 2 or any(NUMERAL.fullmatch(part) is None for part in parts):
        raise DataError(where, *_fault(text))
    numbers = [_decimal(where, part) for part in parts]
    if len(numbers) == 1:
        return numbers[0]
    if numbers[1] == 0:
        raise DataError(where, f"{text_of(text)} divides by zero", PLAIN_REMEDY)
    return numbers[0] / numbers[1]


def _decimal(where: str, text: str) -> Fraction:
    digits, _, power = text.lower().partition("e")
    if len(digits) > MOST_DIGITS:
        raise DataError(where, f"a number has more than {MOST_DIGITS} digits", "write fewer digits")
    size = power.lstrip("+-").lstrip("0")
    if len(size) > len(str(MOST_EXPONENT)) or int(size or "0") > MOST_EXPONENT:
        raise DataError(
            where, f"{text_of(text)} has an exponent beyond {MOST_EXPONENT}", "write 0, or multiply the row"
        )
    return Fraction(Decimal(text))


def _fault(text: str) -> tuple[str, str]:
    """Return what is wrong with a text that is not a number, and what to do."""
    bare = text.strip()
    if not bare:
        return "is empty", "write a number, 0 for a report that is impossible"
    if "%" in bare:
        return f"{text_of(bare)} is not a number", "write a decimal, such as 0.75 for 75%"
    if MISSING.match(bare):
        return f"{text_of(bare)} is not a finite number", PLAIN_REMEDY
    if "," in bare and any(letter.isdigit() for letter in bare):
        return f"{text_of(bare)} has a comma", "write decimals with a point and thousands without separators"
    inner = bare.translate(dict.fromkeys(map(ord, SEPARATORS)))
    if inner != bare and NUMERAL.fullmatch(inner):
        return f"{text_of(bare)} has separators between its digits", "write the digits without them"
    return f"{text_of(bare)} is not a number", PLAIN_REMEDY


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
        raise ParameterError(field, f"expected a number, got {text_of(value)}", EXAMPLES)
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
    result = nearest if as_written(nearest) <= exact else math.nextafter(nearest, -math.inf)
    if result <= 0.0 < exact:
        raise ParameterError(field, "is too small for a number", "give 0 or a larger one")
    return result


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


Array = NDArray[np.float64]

MOST_USERS = 10**18
"""The most users that anything is planned for; far beyond it their number is not a float any more."""

PRIOR_TOLERANCE = 1e-9
"""How far a prior given in decimal may be from summing to 1 before it is an error."""


def number(field: str, value: Any) -> float:
    """Return a finite or infinite float, never NaN, never a bool or a string, never a rounded number."""
    return double(field, value)


def in_range(
    field: str, value: Any, low: float, high: float, *, low_open: bool = False, high_open: bool = False
) -> float:
    """Return a float inside the interval, or raise naming the interval."""
    result = number(field, value)

    def outside(value: float) -> bool:
        return (value <= low if low_open else value < low) or (value >= high if high_open else value > high)

    if outside(result):
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        text = f"{result:g}"
        if not outside(float(text)):  # rounded back into the interval
            text = repr(result)
        raise ParameterError(field, f"{text} is outside {interval}")
    return result


def privacy_epsilon(value: Any, field: str = "epsilon") -> float:
    """Return epsilon >= 0 and finite; 0 is legal (the report says nothing about the input).

    It may be stated in all ways of :func:`mechdesign.core.validation.exact_number`; what stays is a double
    that stands for no more than what was stated.
    """
    if isinstance(value, float) and math.isinf(value) and value > 0:
        raise ParameterError(field, "is infinite, which means no privacy", "give a finite number")
    result = stated(value, field)
    if result < 0:
        raise ParameterError(field, f"{result:g} is negative", "give a number >= 0")
    return result


def double_epsilon(value: Any, field: str = "epsilon") -> float:
    """Return an epsilon that is a double exactly: what an audit compares integers with.

    A promise of 1/3 or of the text 0.1 is between doubles: an audit at the nearest one could say that more
    than the promise is no more.
    """
    return privacy_epsilon(double(field, value), field)


def double_delta(value: Any, field: str = "delta") -> float:
    """Return a delta in [0, 1) that is a double exactly, for an audit."""
    return privacy_delta(double(field, value), field)


def privacy_delta(value: Any, field: str = "delta") -> float:
    """Return delta in [0, 1), stated as an epsilon may be."""
    if isinstance(value, float) and not math.isfinite(value):
        return in_range(field, value, 0.0, 1.0, high_open=True)
    return in_range(field, stated(value, field), 0.0, 1.0, high_open=True)


def integer(field: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an int of at least ``low`` and, where given, at most ``high``."""
    result = plain_int(field, value)
    if result < low or (high is not None and result > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ParameterError(field, f"{text_of(result)} is not {limits}")
    return result


def user_count(value: Any) -> int:
    """Return the number of users, from 1 to ``MOST_USERS``."""
    return integer("users", value, 1, MOST_USERS)


def require_keys(where: str, stated: Mapping[Any, Any], known: Sequence[str]) -> None:
    """Raise UnknownNameError for a key that is not known; all that are known are suggested.

    Examples
    --------
    >>> require_keys("tables", {"questions": ["a"], "wieght": 2}, ("questions", "weight"))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.UnknownNameError: tables: no key 'wieght'; did you mean 'weight'?
    """
    for key in stated:
        if key not in known:
            raise UnknownNameError(where, f"no key '{key}'", suggestion(str(key), known))


def one_of(field: str, value: Any, known: Sequence[str], renamed: Mapping[str, str] | None = None) -> str:
    """Return one of the known words, or say what a former one is called now, or suggest one."""
    word = str.__str__(value) if issubclass(type(value), str) else None
    if word is None or word not in known:
        new = (renamed or {}).get(str(word or ""))
        hint = suggestion(str(word or ""), known) if new is None else f"it is called '{new}' now"
        raise ParameterError(field, f"{text_of(value)} is not a choice", hint)
    return word


def real_array(field: str, value: Any, dimensions: int, rounded: bool = False) -> Array:
    """Return a float array of the requested number of dimensions without NaN, which nobody can write to."""
    array = doubles(field, value, dimensions, rounded)
    if array.size == 0:
        raise ParameterError(field, "is empty", "give at least one number")
    return array


def finite_array(field: str, value: Any, dimensions: int, rounded: bool = False) -> Array:
    """Return a real array without infinities; ``rounded`` takes the nearest double of what is none."""
    array = real_array(field, value, dimensions, rounded)
    if np.isinf(array).any():
        where = ", ".join(str(int(index)) for index in np.argwhere(np.isinf(array))[0])
        raise ParameterError(field, f"is infinite at index {where}", "give finite numbers")
    return array


def probability_vector(field: str, value: Any) -> Array:
    """Return a probability vector normalised to the last bit, or say what it sums to."""
    vector = finite_array(field, value, 1, rounded=True)
    if (vector < 0).any():
        where = int(np.argmax(vector < 0))
        raise ParameterError(
            field, f"entry {where} is negative ({vector[where]:g})", "give probabilities >= 0"
        )
    if vector.max() > 2.0:
        where = int(vector.argmax())
        raise ParameterError(field, f"entry {where} is {vector[where]:g}, above 1", "divide by the sum")
    total = math.fsum(vector)
    if abs(total - 1.0) > PRIOR_TOLERANCE:
        raise ParameterError(field, f"sums to {total:.10g}, not 1", "divide by the sum or correct an entry")
    normalised: Array = frozen(vector / total)
    return normalised
