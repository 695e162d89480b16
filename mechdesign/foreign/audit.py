"""What the exact audit of a foreign mechanism states: epsilon as an interval, its witness, the verdict.

Exact sums of the rows of doubles, and of fractions: no addition rounds.

Numbers e^epsilon >= 1 that may be too long to be written: bounds of their logarithms to any digits.

Large powers are never multiplied out. A stated epsilon is compared with bounds of the logarithm, with more
and more digits until they decide. They always do: the logarithm of a rational number other than 1 is not
rational (Lindemann), so it differs from every epsilon that can be stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import ONE_REPORT, Guarantee, Proof
from mechdesign.core.validation import epsilon_number
from mechdesign.core.values import (
    DECIMALS,
    LONGEST,
    SHORT,
    TextInNotebooks,
    decimal_context,
    quotient,
    quotient_text,
    rounded_text,
)
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import float_up

Interval = tuple[Fraction, Fraction]

DIGITS = 50
"""Of bounds that are stated."""

MOST_DIGITS = 1600
"""Of bounds that decide; an epsilon that needs more is refused."""

MOST_BITS = 1 << 16
"""Of powers that are multiplied out."""


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
        return f"{near.quantize(step, context=decimal_context(near.adjusted() + DECIMALS + 50, rounding)):f}"
    return f"{quotient(value, DECIMALS, rounding):e}"


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
    context = decimal_context(precision)
    low = context.next_minus(context.ln(quotient(ratio, precision, ROUND_FLOOR)))
    high = context.next_plus(context.ln(quotient(ratio, precision, ROUND_CEILING)))
    return max(Fraction(0), Fraction(low)), Fraction(high)


def power_below(exponent: Fraction, digits: int, least: Fraction) -> Fraction:
    """Return a lower bound of e^-exponent; 0 where it is below ``least``, the least that counts."""
    if _is_beyond(exponent, least):
        return Fraction(0)
    context = decimal_context(digits + 20)
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
    context = decimal_context(digits + 20)
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
    context, short = (decimal_context(digits) for digits in (40, 10))
    near = short.plus(context.exp(quotient(epsilon, 40, ROUND_FLOOR)))
    return f"{short.normalize(near):e}"


MOST_REPORTS = 10**18

SHOWN_DEFECTS = 3


def report_count(reports: Any) -> int:
    """Return a number of reports, from 1 to 10^18."""
    number = plain_int("reports", reports)
    if not 1 <= number <= MOST_REPORTS:
        what = "is below 1" if number < 1 else f"is above {MOST_REPORTS}"
        raise ParameterError("reports", what, "give the number of reports")
    return number


@dataclass(frozen=True)
class Defect:
    """A row that does not sum to one: its number, its name and its sum."""

    row: int
    name: str
    total: Fraction

    def __str__(self) -> str:
        more = self.total - 1
        size = abs(more)
        exact = quotient_text(size, 81) if size.denominator < 10**40 else None
        sign = "+" if more > 0 else "-"
        return f"row '{self.name}' sums to 1 {sign} {exact or 'a fraction'} ({rounded_text(size, 2)})"


@dataclass(frozen=True)
class ForeignAudit(TextInNotebooks):
    """The exact epsilon of a foreign mechanism and what shows it.

    Attributes
    ----------
    magnitude : Magnitude or None
        e^epsilon by its logarithm; None where epsilon is infinite.
    witness : mapping
        ``answer`` and ``other``, and the ``report`` that is likelier by this ratio, by their names; with the
        ``probability`` of the report under each. Empty when all answers have the same reports.
    defects : tuple of Defect
        All rows that do not sum to one.
    size : tuple of int
        Answers and reports.
    covers : str
        The reports that epsilon covers, where it is not one report of a channel.
    """

    magnitude: Magnitude | None
    witness: dict[str, Any]
    defects: tuple[Defect, ...] = ()
    size: tuple[int, int] = (0, 0)
    covers: str = ""

    @property
    def infinite(self) -> bool:
        """Whether epsilon is infinite."""
        return self.magnitude is None

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon, exactly; None where epsilon is infinite, or the number has too many digits."""
        return None if self.magnitude is None else self.magnitude.exact

    def ratio_text(self, longest: int = LONGEST) -> str:
        """Return e^epsilon exactly, or to ten digits where that is longer than ``longest`` characters.

        It is "inf" where epsilon is infinite, and empty where even its exponent is too long.
        """
        if self.low is None:
            return "inf"
        if self.ratio is None:
            return exponential_text(self.low) or ""
        return quotient_text(self.ratio, longest) or rounded_text(self.ratio)

    @cached_property
    def interval(self) -> tuple[Fraction, Fraction] | None:
        """Rational bounds of epsilon, closer than 40 significant digits; None where it is infinite."""
        return None if self.magnitude is None else self.magnitude.bounds()

    @property
    def low(self) -> Fraction | None:
        """Lower bound of epsilon; None where it is infinite."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> Fraction | None:
        """Upper bound of epsilon; None where it is infinite."""
        return None if self.interval is None else self.interval[1]

    @property
    def epsilon(self) -> float:
        """Epsilon as a double, rounded up."""
        return math.inf if self.high is None else float_up(self.high)

    def keeps(self, epsilon: Any) -> bool:
        """Whether a stated epsilon holds: a number, or a decimal in a text, exactly and without tolerance."""
        exact = epsilon_number(epsilon)
        return self.magnitude is not None and self.magnitude.is_within(exact)

    def certificate(self, epsilon: Any) -> Certificate:
        """Return the verdict on a stated epsilon."""
        exact = epsilon_number(epsilon)
        holds, true = self.keeps(exact), self.epsilon
        nearest = float(exact)
        figures = {"epsilon": float_up(exact) if holds and nearest < true else nearest, "true_epsilon": true}
        notes = [f"of {self.covers}"] if self.covers else []
        if not holds and self.low is not None and math.isclose(nearest, true, rel_tol=1e-9):
            notes.append(
                f"the stated epsilon is exceeded by {rounded_text(max(Fraction(0), self.low - exact), 2)}"
            )
        # Where the statement holds exactly, it bounds epsilon at least as well as the interval.
        bound = min(self.high, exact) if holds and self.high is not None else self.high
        promise = Guarantee(exact, covers=self.covers or ONE_REPORT)
        answers = self.size[0]
        proof = Proof(promise, bound, pairs=answers * (answers - 1) if answers else None)
        return Certificate.of_privacy(proof, figures, self.witness, "; ".join(notes))

    def as_json(self) -> dict[str, Any]:
        """Return plain values; exact numbers are texts of two integers, or 50 digits where these are long."""
        bounds = (
            None
            if self.low is None or self.high is None
            else [exact_or_rounded(self.low, False), exact_or_rounded(self.high, True)]
        )
        return {
            "epsilon": "inf" if self.infinite else self.epsilon,
            "interval": bounds,
            "ratio": None if self.ratio is None else quotient_text(self.ratio),
            "witness": self.witness or None,
            "covers": self.covers or "1 report",
            "rows_that_do_not_sum_to_one": [
                {"row": item.row, "answer": item.name, "sum": exact_or_rounded(item.total, True)}
                for item in self.defects
            ],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the results as strings, one line for each fact."""
        many = f" of {self.covers}" if self.covers else ""
        if self.low is None or self.high is None:
            result = [f"epsilon{many} is infinite"]
        else:
            bounds = f"[{bound_text(self.low, False)}, {bound_text(self.high, True)}]"
            result = [f"epsilon{many} = {rounded_text(self.high)}, in {bounds}"]
            written = self.ratio_text(SHORT)
            result += [f"e^epsilon = {written}"] if written else []
        if self.witness:
            result.append("witness: " + ", ".join(f"{key} = {value}" for key, value in self.witness.items()))
        if self.size != (0, 0):
            result.append(self._rows())
        return result

    def _rows(self) -> str:
        if not self.defects:
            return f"all {self.size[0]} rows sum to one exactly"
        worst = sorted(self.defects, key=lambda item: -abs(item.total - 1))[:SHOWN_DEFECTS]
        rest = len(self.defects) - len(worst)
        more = f"; {rest} more" if rest else ""
        first = "; ".join(map(str, worst))
        count = f"{len(self.defects)} of {self.size[0]} rows do not sum to one"
        return f"{count}: {first}{more}; each is divided by its sum"


HALF = 26


def exact_sum(numbers: Sequence[Fraction]) -> Fraction:
    """Return the sum of fractions, with one reduction to lowest terms instead of one for each.

    Examples
    --------
    >>> exact_sum([Fraction(1, 2), Fraction(1, 3)])
    Fraction(5, 6)
    """
    denominators = {number.denominator for number in numbers}
    common = max(denominators, default=1)
    for denominator in denominators:
        if common % denominator:  # not so for decimals, of which the longest has the common one
            common = math.lcm(common, denominator)
    factors = {denominator: common // denominator for denominator in denominators}
    return Fraction(sum(number.numerator * factors[number.denominator] for number in numbers), common)


def exact_sums(rows: NDArray[np.float64]) -> list[Fraction]:
    """Return the sum of each row of finite doubles >= 0 as the exact fraction that it is.

    Mantissas of the same exponent are added as two halves below 2^27, which doubles add exactly for fewer
    than 2^26 of them; the rest is integers.

    Examples
    --------
    >>> exact_sums(np.array([[0.5, 0.25], [0.1, 0.9]]))
    [Fraction(3, 4), Fraction(36028797018963969, 36028797018963968)]
    """
    mantissas, exponents = np.frexp(rows)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    low, high = whole & ((1 << HALF) - 1), whole >> HALF
    least = int(exponents.min()) if rows.size else 0
    places = exponents - least
    result = []
    for row in range(len(rows)):
        lows = np.bincount(places[row], weights=low[row])
        highs = np.bincount(places[row], weights=high[row])
        total = 0
        for place in np.flatnonzero((lows != 0) | (highs != 0)).tolist():
            total += ((int(highs[place]) << HALF) + int(lows[place])) << place
        shift = 53 - least
        result.append(Fraction(total, 1 << shift) if shift >= 0 else Fraction(total << -shift))
    return result
