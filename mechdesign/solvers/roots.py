"""Roots: of a continuous function, to the last bit, and of polynomials, isolated in integers.

They give the largest value of a polynomial minus a pole on an interval. For f(x) = P(x) - k / x with k >= 0
and x > 0, the sign of f'(x) is that of the polynomial Q(x) = x^2 P'(x) + k (of P' where k = 0). Sturm's
theorem counts the different real roots of Q in (a, b], so bisection puts each into an interval as short as
wanted and leaves out none. The largest value is then at an end or in one of those intervals. Everything is
computed in whole numbers: no root is lost to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from mechdesign.core.errors import ParameterError
from mechdesign.work.records import dataclass


def sign_change(function: Callable[[float], float], low: float, high: float) -> float:
    """Return a double next to which the function changes sign, by bisection until no double is between.

    Parameters
    ----------
    function : callable
        Continuous, with values of different sign at the two ends.
    low, high : float
        The bracket, low < high.

    Raises
    ------
    ParameterError
        When the values at the ends have the same sign.

    Examples
    --------
    >>> sign_change(lambda x: x * x - 2.0, 0.0, 2.0) ** 2
    2.0000000000000004
    """
    first, last = function(low), function(high)
    if first == 0.0:
        return low
    if last == 0.0:
        return high
    if not (first < 0.0) != (last < 0.0):
        raise ParameterError("bracket", f"the function has the same sign at {low:g} and {high:g}", "widen it")
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            return high
        value = function(middle)
        if value == 0.0:
            return middle
        low, high = (middle, high) if (value < 0.0) == (first < 0.0) else (low, middle)


Polynomial = Sequence[Fraction]
"""Coefficients, that of x^0 first."""

BITS = 64
"""Roots are narrowed to 2^-64 of the interval's upper end, unless two of them are nearer to each other."""


@dataclass(frozen=True)
class IntervalMaximum:
    """Where a function is largest on an interval.

    Attributes
    ----------
    place : Fraction
        A point of the interval; of equal values, the largest.
    value : Fraction
        The function there, exactly.
    bound : Fraction
        No value on the interval is above this.
    """

    place: Fraction
    value: Fraction
    bound: Fraction


def maximum(polynomial: Polynomial, pole: Fraction, low: Fraction, high: Fraction) -> IntervalMaximum:
    """Return the largest value of P(x) - pole / x for x in [low, high], with a proven bound.

    Parameters
    ----------
    polynomial : sequence of Fraction
    pole : Fraction
        k >= 0. Where it is positive the point 0 is left out: the function falls to minus infinity there.
    low, high : Fraction
        0 <= low <= high, and high > 0 where the pole is positive.

    Raises
    ------
    ParameterError
        When the interval is empty or reaches below 0.

    Examples
    --------
    >>> found = maximum([Fraction(3)], Fraction(1), Fraction(0), Fraction(2))  # 3 - 1/x rises
    >>> found.place, found.value, found.bound
    (Fraction(2, 1), Fraction(5, 2), Fraction(5, 2))
    >>> found = maximum([Fraction(0), Fraction(4), Fraction(-1)], Fraction(0), Fraction(0), Fraction(9))
    >>> float(found.place), float(found.value), found.bound - found.value < 2**-50
    (2.0, 4.0, True)
    """
    if pole < 0 or low < 0 or low > high or (pole > 0 and high == 0):
        raise ParameterError("interval", f"[{low}, {high}] with pole {pole}", "give 0 <= low <= high")
    best: IntervalMaximum | None = None
    for left, right in [(low, low), (high, high), *_stationary(polynomial, pole, low, high)]:
        if pole > 0 and left == 0:
            if right == 0:
                continue
            left = _positive_part(polynomial, pole, right)
            if left >= right:
                left = right
        point = (left + right) / 2
        value = evaluated(polynomial, point) - (pole / point if pole else 0)
        bound = value + (right - left) * _steepest(polynomial, pole, left, right)
        if best is None:
            best = IntervalMaximum(point, value, bound)
            continue
        bound = max(best.bound, bound)
        ahead = (value, point) > (best.value, best.place)
        best = (
            IntervalMaximum(point, value, bound) if ahead else IntervalMaximum(best.place, best.value, bound)
        )
    if best is None:
        raise ParameterError("interval", f"[{low}, {high}] has only the pole", "give high > 0")
    return best


def evaluated(polynomial: Polynomial, point: Fraction) -> Fraction:
    """Return the value of a polynomial, exactly.

    Examples
    --------
    >>> evaluated([Fraction(1), Fraction(0), Fraction(2)], Fraction(1, 2))
    Fraction(3, 2)
    """
    value = Fraction(0)
    for coefficient in reversed(polynomial):
        value = value * point + coefficient
    return value


def roots(polynomial: Polynomial, low: Fraction, high: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Return short intervals, one around each different real root in (low, high], in rising order.

    Examples
    --------
    >>> found = roots([Fraction(2), Fraction(-3), Fraction(1)], Fraction(0), Fraction(9))
    >>> [float(left) for left, right in found]
    [1.0, 2.0]
    """
    whole = _without_multiples(_integers(polynomial))
    if len(whole) < 2 or low >= high:
        return []
    scale = max(low.denominator, high.denominator, 1)
    bits = scale.bit_length() - 1
    if low.denominator & (low.denominator - 1) or high.denominator & (high.denominator - 1):
        raise ParameterError("interval", "its ends have to be doubles or other multiples of a power of 1/2")
    chain = _sturm(whole)
    intervals: list[tuple[Fraction, Fraction]] = []
    waiting = [(int(low * scale), int(high * scale), bits)]
    while waiting:
        left, right, place = waiting.pop()
        count = _changes(chain, left, place) - _changes(chain, right, place)
        if count == 0:
            continue
        if count == 1:
            intervals.append(_narrowed(whole, left, right, place))
            continue
        left, right, place = 2 * left, 2 * right, place + 1
        middle = (left + right) // 2
        waiting += [(left, middle, place), (middle, right, place)]
    return sorted(intervals)


def _stationary(
    polynomial: Polynomial, pole: Fraction, low: Fraction, high: Fraction
) -> list[tuple[Fraction, Fraction]]:
    slope = _derivative(polynomial)
    numerator = [pole, Fraction(0), *slope] if pole else slope
    return roots(numerator, low, high)


def _derivative(polynomial: Polynomial) -> list[Fraction]:
    return [power * coefficient for power, coefficient in enumerate(polynomial)][1:]


def _steepest(polynomial: Polynomial, pole: Fraction, left: Fraction, right: Fraction) -> Fraction:
    """Return a bound of |f'| on an interval."""
    slope = sum((abs(c) * right**power for power, c in enumerate(_derivative(polynomial))), Fraction(0))
    return slope + (pole / left**2 if pole else 0)


def _positive_part(polynomial: Polynomial, pole: Fraction, right: Fraction) -> Fraction:
    """Return a point above 0 below which f rises: x^2 |P'| < k there."""
    steep = sum((abs(c) * right**power for power, c in enumerate(_derivative(polynomial))), Fraction(0))
    if steep == 0:
        return right
    point = right
    while point * point * steep >= pole:
        point /= 2
    return point


# Sturm's theorem in whole numbers; a point is numerator / 2^place


def _integers(polynomial: Polynomial) -> list[int]:
    common = math.lcm(*(c.denominator for c in polynomial)) if polynomial else 1
    return _primitive([int(c * common) for c in polynomial])


def _primitive(coefficients: list[int]) -> list[int]:
    while coefficients and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    common = math.gcd(*coefficients) if coefficients else 1
    return [c // common for c in coefficients]


def _remainder(top: list[int], bottom: list[int]) -> list[int]:
    """Return the remainder of a division of polynomials times a positive number."""
    rest, lead, degree = list(top), bottom[-1], len(bottom)
    while len(rest) >= degree:
        factor, shift = rest[-1], len(rest) - degree
        rest = [abs(lead) * c for c in rest]
        sign = 1 if lead > 0 else -1
        for place, c in enumerate(bottom):
            rest[shift + place] -= sign * factor * c
        rest.pop()
        while rest and rest[-1] == 0:
            rest.pop()
    return _primitive(rest)


def _sturm(polynomial: list[int]) -> list[list[int]]:
    slope = _primitive([power * c for power, c in enumerate(polynomial)][1:])
    chain = [polynomial, slope]
    while len(chain[-1]) > 1:
        rest = _remainder(chain[-2], chain[-1])
        if not rest:
            break
        chain.append([-c for c in rest])
    return chain


def _without_multiples(polynomial: list[int]) -> list[int]:
    """Return the polynomial with the same roots, each once: divided by its common part with its slope."""
    if len(polynomial) < 3:
        return polynomial
    common = _sturm(polynomial)[-1]
    if len(common) < 2:
        return polynomial
    rest = [Fraction(c) for c in polynomial]
    quotient = [Fraction(0)] * (len(rest) - len(common) + 1)
    for shift in range(len(quotient) - 1, -1, -1):
        quotient[shift] = rest[shift + len(common) - 1] / common[-1]
        for place, c in enumerate(common):
            rest[shift + place] -= quotient[shift] * c
    return _integers(quotient)


def _sign(polynomial: list[int], numerator: int, place: int) -> int:
    value, shift = 0, 0
    for c in reversed(polynomial):
        value = value * numerator + (c << shift)
        shift += place
    return (value > 0) - (value < 0)


def _changes(chain: list[list[int]], numerator: int, place: int) -> int:
    signs = [sign for part in chain if (sign := _sign(part, numerator, place))]
    return sum(a != b for a, b in pairwise(signs))


def _narrowed(polynomial: list[int], left: int, right: int, place: int) -> tuple[Fraction, Fraction]:
    """Return a short interval around the only root in (left, right]."""
    last = _sign(polynomial, right, place)
    if last == 0:
        return Fraction(right, 1 << place), Fraction(right, 1 << place)
    while right - left > (abs(right) >> BITS) or right - left > 1:
        if right - left == 1:
            left, right, place = 2 * left, 2 * right, place + 1
        middle = (left + right) // 2
        sign = _sign(polynomial, middle, place)
        if sign == 0:
            return Fraction(middle, 1 << place), Fraction(middle, 1 << place)
        # with a single root in the interval, which is simple, the sign tells its side
        left, right = (middle, right) if sign != last else (left, middle)
    return Fraction(left, 1 << place), Fraction(right, 1 << place)
