"""Exact numbers of any size as texts: a quotient where it is short, else decimals, rounded as stated.

No double and no text of all digits is made on the way: a number may have a million digits.

Estimates as text: with digits down to the second one of their standard error, and no fewer than usual.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

SHORT = 40
"""Characters of a quotient that is printed as it is."""

LONGEST = 4000
"""Digits of an integer that is ever written; Python itself refuses more than 4300."""

LOG_OF_TWO = math.log10(2.0)

DECIMALS = 20
"""Of the bounds that are printed."""


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_writable(number: int) -> bool:
    """Whether an integer has few enough digits to be written."""
    return number.bit_length() * 0.30103 < LONGEST


def quotient(value: Fraction, digits: int, rounding: str) -> Decimal:
    """Return a fraction as a decimal of this many significant digits, rounded as stated.

    Examples
    --------
    >>> quotient(Fraction(2, 3), 4, ROUND_FLOOR)
    Decimal('0.6666')
    """
    top, bottom = abs(value.numerator), value.denominator
    if not top:
        return Decimal(0)
    # Two digits more than are asked for, and a last one that says whether anything follows: integers of a
    # million digits are divided quickly where the quotient is short, and would take long as decimals.
    shift = digits + 2 - math.floor((top.bit_length() - bottom.bit_length() - 1) * LOG_OF_TWO)
    whole, rest = divmod(top * 10 ** max(0, shift), bottom * 10 ** max(0, -shift))
    decimal = Decimal(whole * 10 + (rest > 0)).scaleb(-shift - 1, _context(2 * digits + 50, rounding))
    return _context(digits, rounding).plus(decimal if value > 0 else decimal.copy_negate())


def quotient_text(value: Fraction, longest: int = LONGEST) -> str | None:
    """Return an exact number as an integer or a quotient of two; None where that is longer than ``longest``.

    Examples
    --------
    >>> quotient_text(Fraction(1, 3)), quotient_text(Fraction(10) ** 400, 40)
    ('1/3', None)
    """
    if not (is_writable(value.numerator) and is_writable(value.denominator)):
        return None
    whole = value.denominator == 1
    text = str(value.numerator) if whole else f"{value.numerator}/{value.denominator}"
    return text if len(text) <= longest else None


def rounded_text(value: Fraction, digits: int = 10) -> str:
    """Return a number to some significant digits, also one that no double holds.

    Examples
    --------
    >>> rounded_text(Fraction(1, 3)), rounded_text(Fraction(10) ** 400 / 3, 4), rounded_text(Fraction(0))
    ('0.3333333333', '3.333e+399', '0')
    """
    near = quotient(value, digits + 10, ROUND_HALF_EVEN)
    if not near or -300 < near.adjusted() < 300:
        return f"{float(near):.{digits}g}"
    power = near.adjusted()
    lead = _context(digits, ROUND_HALF_EVEN).plus(near.scaleb(-power, _context(digits + 10, ROUND_HALF_EVEN)))
    return f"{lead.normalize():f}e{power:+d}"


def short_text(value: Fraction) -> str:
    """Return an exact number as it is where that is short, else to ten digits.

    Examples
    --------
    >>> short_text(Fraction(20, 9)), short_text(Fraction(3) ** 1000)
    ('20/9', '1.322070819e+477')
    """
    return quotient_text(value, SHORT) or rounded_text(value)


def exact_or_rounded(value: Fraction, up: bool) -> str:
    """Return an exact number as integers where it can be written, else 50 digits of it, rounded up or down.

    Examples
    --------
    >>> exact_or_rounded(Fraction(7, 3), True), exact_or_rounded(1 / Fraction(10) ** 5000, True)[-5:]
    ('7/3', '-5000')
    """
    text = quotient_text(value)
    return f"{quotient(value, 50, ROUND_CEILING if up else ROUND_FLOOR):e}" if text is None else text


def bound_text(value: Fraction, up: bool) -> str:
    """Return a bound >= 0 with twenty decimals, or as many digits where it is small, rounded up or down.

    Examples
    --------
    >>> bound_text(Fraction(2, 3), False), bound_text(Fraction(2, 3) / 10**400, True)
    ('0.66666666666666666666', '6.6666666666666666667e-401')
    """
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    rough = quotient(value, 5, rounding)
    if not rough or rough.adjusted() > -DECIMALS // 2:
        near = quotient(value, max(1, rough.adjusted() + DECIMALS + 5), rounding)
        step = Decimal(1).scaleb(-DECIMALS)
        return f"{near.quantize(step, context=_context(near.adjusted() + DECIMALS + 50, rounding)):f}"
    return f"{quotient(value, DECIMALS, rounding):e}"


MOST = 17
"""Digits that a double has at most."""


def decimals_of(error: Any) -> int | None:
    """Return after which decimal a number with this standard error is noise; None where there is no error.

    Examples
    --------
    >>> decimals_of(0.354), decimals_of(0.0123), decimals_of(160.0), decimals_of(0.0), decimals_of(None)
    (2, 3, -1, None, None)
    """
    if not isinstance(error, (int, float)) or not math.isfinite(error) or error <= 0.0:
        return None
    return 1 - math.floor(math.log10(error))


def to_error(number: Any, error: Any, usual: str = ".6g") -> str:
    """Return a number as text, with digits down to the second one of its standard error.

    Parameters
    ----------
    number : float
    error : float or None
        The standard error.
    usual : str
        The format of numbers whose digits reach that far anyway: so many decimals (``.5f``), or so many
        significant digits (``.6g``).

    Examples
    --------
    >>> to_error(1700000050.1234, 0.354), to_error(0.25123, 0.0123), to_error(1700012345.0, 35000.0)
    ('1700000050.12', '0.25123', '1700012000')
    >>> to_error(0.25, 0.0000123, ".5f"), to_error(0.25, 0.0123, ".5f"), to_error(2.5, None)
    ('0.250000', '0.25000', '2.5')
    """
    decimals = decimals_of(error)
    if decimals is None or not math.isfinite(number):
        return f"{number:{usual}}"
    reach, kind = int(usual[1:-1]), usual[-1]
    if kind == "f":
        return f"{number:.{min(max(reach, decimals), MOST)}f}"
    leading = math.floor(math.log10(abs(number))) + 1 if number else 0
    digits = min(leading + decimals, MOST)
    if digits <= reach and (leading <= reach or digits <= 0):
        return f"{number:{usual}}"
    return f"{round(number, decimals):.0f}" if decimals < 0 else f"{number:.{max(digits, reach)}g}"
