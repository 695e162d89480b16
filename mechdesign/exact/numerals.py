"""Numbers in texts of other programs, read exactly; what looks like a number and is not one is never a name.

A table may hold names and numbers. Percent signs, separators of thousands, decimal commas, ``nan``, quotients
by zero and codes of missing values are none of both: they are refused with what to do.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from fractions import Fraction

from mechdesign.core.errors import DataError
from mechdesign.exact.numbers import shown

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
        raise DataError(where, f"{shown(text)} divides by zero", PLAIN_REMEDY)
    return numbers[0] / numbers[1]


def _decimal(where: str, text: str) -> Fraction:
    digits, _, power = text.lower().partition("e")
    if len(digits) > MOST_DIGITS:
        raise DataError(where, f"a number has more than {MOST_DIGITS} digits", "write fewer digits")
    size = power.lstrip("+-").lstrip("0")
    if len(size) > len(str(MOST_EXPONENT)) or int(size or "0") > MOST_EXPONENT:
        raise DataError(
            where, f"{shown(text)} has an exponent beyond {MOST_EXPONENT}", "write 0, or multiply the row"
        )
    return Fraction(Decimal(text))


def _fault(text: str) -> tuple[str, str]:
    """Return what is wrong with a text that is not a number, and what to do."""
    bare = text.strip()
    if not bare:
        return "is empty", "write a number, 0 for a report that is impossible"
    if "%" in bare:
        return f"{shown(bare)} is not a number", "write a decimal, such as 0.75 for 75%"
    if MISSING.match(bare):
        return f"{shown(bare)} is not a finite number", PLAIN_REMEDY
    if "," in bare and any(letter.isdigit() for letter in bare):
        return f"{shown(bare)} has a comma", "write decimals with a point and thousands without separators"
    inner = bare.translate(dict.fromkeys(map(ord, SEPARATORS)))
    if inner != bare and NUMERAL.fullmatch(inner):
        return f"{shown(bare)} has separators between its digits", "write the digits without them"
    return f"{shown(bare)} is not a number", PLAIN_REMEDY
