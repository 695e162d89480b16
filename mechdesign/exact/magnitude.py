"""Numbers e^epsilon >= 1 that may be too long to be written: bounds of their logarithms to any digits.

Large powers are never multiplied out. A stated epsilon is compared with bounds of the logarithm, with more
and more digits until they decide. They always do: the logarithm of a rational number other than 1 is not
rational (Lindemann), so it differs from every epsilon that can be stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from mechdesign.core.errors import ParameterError
from mechdesign.exact.exact_text import quotient

Interval = tuple[Fraction, Fraction]

DIGITS = 50
"""Of bounds that are stated."""

MOST_DIGITS = 1600
"""Of bounds that decide; an epsilon that needs more is refused."""

MOST_BITS = 1 << 16
"""Of powers that are multiplied out."""


def log_interval(ratio: Fraction, digits: int = DIGITS) -> Interval:
    """Return rational bounds of ln(ratio) for a ratio >= 1, to about this many significant digits.

    For x below 10^-digits, ln(1 + x) is between x - x^2/2 and x. Elsewhere the standard library's decimals
    round the logarithm correctly, with as many more digits as 1 + x has zeros.

    Examples
    --------
    >>> low, high = log_interval(1 + Fraction(1, 10**400))
    >>> low < high == Fraction(1, 10**400), (high - low) * 10**450 < 1
    (True, True)
    """
    if ratio == 1:
        return Fraction(0), Fraction(0)
    excess = ratio - 1
    zeros = max(0, excess.denominator.bit_length() - excess.numerator.bit_length()) * 3 // 10
    if zeros > digits:
        low = quotient(excess - excess * excess / 2, digits + 5, ROUND_FLOOR)
        return Fraction(low), Fraction(quotient(excess, digits + 5, ROUND_CEILING))
    precision = digits + zeros + 10
    context = Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN)
    low = context.next_minus(context.ln(quotient(ratio, precision, ROUND_FLOOR)))
    high = context.next_plus(context.ln(quotient(ratio, precision, ROUND_CEILING)))
    return max(Fraction(0), Fraction(low)), Fraction(high)


def power_below(exponent: Fraction, digits: int, least: Fraction) -> Fraction:
    """Return a lower bound of e^-exponent; 0 where it is below ``least``, the least that counts."""
    if _is_beyond(exponent, least):
        return Fraction(0)
    context = Context(prec=digits + 20, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return Fraction(context.next_minus(context.exp(quotient(-exponent, digits + 20, ROUND_FLOOR))))


def power_above(exponent: Fraction, digits: int, least: Fraction) -> Fraction:
    """Return an upper bound of e^-exponent; ``least`` where it is below that.

    Examples
    --------
    >>> float(power_above(Fraction(1), 20, Fraction(1, 10**9))), power_above(Fraction(50), 20, Fraction(1, 9))
    (0.36787944117144233, Fraction(1, 9))
    """
    if _is_beyond(exponent, least):
        return least
    context = Context(prec=digits + 20, Emax=MAX_EMAX, Emin=MIN_EMIN)
    above = context.next_plus(context.exp(quotient(-exponent, digits + 20, ROUND_CEILING)))
    return min(Fraction(1), Fraction(above))


def _is_beyond(exponent: Fraction, least: Fraction) -> bool:
    """Whether e^-exponent is below ``least``, as e^-x < 2^-x for x > 0."""
    return exponent > least.denominator.bit_length() - least.numerator.bit_length() + 1


@dataclass(frozen=True)
class Magnitude:
    """A number >= 1, by its logarithm.

    Attributes
    ----------
    logarithm : callable
        Number of digits -> rational bounds of the natural logarithm.
    exact : Fraction or None
        The number itself, where it is short enough.
    is_one : bool
        Whether it is 1, decided exactly.
    """

    logarithm: Callable[[int], Interval]
    exact: Fraction | None = None
    is_one: bool = False

    def bounds(self) -> Interval:
        """Return bounds of the logarithm that are closer than 40 significant digits, where 1600 are enough.

        Examples
        --------
        >>> low, high = power(Fraction(3), 10**6).bounds()
        >>> float(low), (high - low) * 10**40 < 1
        (1098612.2886681098, True)
        """
        if self.is_one:
            return Fraction(0), Fraction(0)
        digits = DIGITS
        low, high = self.logarithm(digits)
        while (high - low) * 10**40 > high and digits < MOST_DIGITS:
            digits *= 2
            low, high = self.logarithm(digits)
        return low, high

    def is_within(self, epsilon: Fraction) -> bool:
        """Whether the logarithm is at most epsilon; no tolerance.

        Examples
        --------
        >>> power(Fraction(3), 2).is_within(Fraction("2.19722457733621938280"))
        True
        >>> power(Fraction(3), 2).is_within(Fraction("2.19722457733621938279"))
        False
        """
        if self.is_one or epsilon <= 0:
            return self.is_one and epsilon >= 0
        digits = DIGITS
        while digits <= MOST_DIGITS:
            low, high = self.logarithm(digits)
            if high <= epsilon or low > epsilon:
                return high <= epsilon
            digits *= 2
        raise ParameterError(
            "epsilon", "is too close to the true epsilon to be decided", "write fewer digits"
        )


ONE = Magnitude(lambda digits: (Fraction(0), Fraction(0)), Fraction(1), True)


def power(ratio: Fraction, number: int = 1) -> Magnitude:
    """Return a rational number >= 1 to a whole power.

    Examples
    --------
    >>> power(Fraction(3, 2), 2).exact, power(Fraction(3, 2), 10**6).exact
    (Fraction(9, 4), None)
    """
    if ratio == 1 or number == 0:
        return ONE

    def logarithm(digits: int) -> Interval:
        low, high = log_interval(ratio, digits)
        return low * number, high * number

    bits = max(ratio.numerator.bit_length(), ratio.denominator.bit_length())
    short = number == 1 or bits * number <= MOST_BITS
    return Magnitude(logarithm, Fraction(ratio**number) if short else None)


def product(parts: Iterable[tuple[Magnitude, int]]) -> Magnitude:
    """Return the product of magnitudes to whole powers.

    Examples
    --------
    >>> product([(power(Fraction(3)), 2), (power(Fraction(5, 2)), 1)]).exact
    Fraction(45, 2)
    """
    factors = [(part, count) for part, count in parts if count and not part.is_one]
    if not factors:
        return ONE

    def logarithm(digits: int) -> Interval:
        sides = [(part.logarithm(digits), count) for part, count in factors]
        low = sum((interval[0] * count for interval, count in sides), Fraction(0))
        return low, sum((interval[1] * count for interval, count in sides), Fraction(0))

    total, bits = Fraction(1), 0
    for part, count in factors:
        if part.exact is None:
            return Magnitude(logarithm)
        bits += count * max(part.exact.numerator.bit_length(), part.exact.denominator.bit_length())
        if bits > MOST_BITS:
            return Magnitude(logarithm)
        total *= part.exact**count
    return Magnitude(logarithm, total)


def exponential_text(epsilon: Fraction) -> str | None:
    """Return e^epsilon to ten digits, also where no double holds it; None where its exponent is too long.

    Examples
    --------
    >>> exponential_text(Fraction(2000)), exponential_text(Fraction(10) ** 12)
    ('3.88118019e+868', None)
    """
    if epsilon >= 10**9:
        return None
    context, short = (Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN) for digits in (40, 10))
    near = short.plus(context.exp(quotient(epsilon, 40, ROUND_FLOOR)))
    return f"{short.normalize(near):e}"
