"""Numbers of promises as they were written: decimals and quotients exactly, and doubles never above them.

A double such as 0.1 is a little above the decimal that was written. What is promised in decimals has to hold
for the decimal, or ten guarantees of 0.1 would be more than one of 1.

Numbers in texts of other programs, read exactly; what looks like a number and is not one is never a name.

A table may hold names and numbers. Percent signs, separators of thousands, decimal commas, ``nan``, quotients
by zero and codes of missing values are none of both: they are refused with what to do.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import Any

from mechdesign.core.documents import WrittenNumber
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.text import short_text
from mechdesign.exact.numbers import rational, text_of

MOST_EXPONENT = 100_000
"""Of a power of ten; a number of more digits before or after the point is refused."""

MOST_DIGITS = 10_000
"""Written digits of one number."""

NUMERAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
SIMPLE = re.compile(r"[0-9]+(?:\.[0-9]*)?", re.ASCII)
"""Most numbers of a table, which are read quickly."""

MISSING = re.compile(r"[+-]?(?:nan|inf|infinity|na|n/a|null|<na>)(?![^\W_])", re.IGNORECASE)
MISREAD = re.compile(r"[oli][.,][0-9]", re.IGNORECASE)
"""A letter instead of a digit, as scanners write it."""

NUMBERED = re.compile(r"[0-9]*[.,][0-9]|[=:<>~\u2248\u2264\u2265]\s*[+-]?[0-9]|[0-9]\s*[%\u2030]", re.ASCII)
"""A number that is stated within a text: ``p=0.9``, ``about 0.9``, ``top 10%``."""

PLAIN_REMEDY = "write decimals such as 0.25, or quotients such as 1/3"
SEPARATORS = " \t'_\u00a0\u2009\u202f\u2019"


def is_plain_name(cell: str) -> bool:
    """Whether a cell of a table can only be a name: it begins with a letter and does not state a number.

    Examples
    --------
    >>> [is_plain_name(cell) for cell in ("says yes", "90%", "9,000", "nan", "1/0", "$5", "", "infected")]
    [True, False, False, False, False, False, False, True]
    >>> [is_plain_name(cell) for cell in ("age 18-24", "p=0.9", "about .9", "top 10%", "Q1")]
    [True, False, False, False, True]
    """
    text = unicodedata.normalize("NFKC", cell).strip().replace("\u2212", "-")
    if MISSING.match(text) or MISREAD.match(text) or NUMBERED.search(text) or text.startswith("#"):
        return False
    first = next((letter for letter in text if unicodedata.category(letter)[0] in "LMN"), "")
    return bool(first) and unicodedata.category(first)[0] != "N"


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
