"""Amounts of moderate size, bounds that rounding cannot break, and the positive root of a cubic."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range

FARTHEST = 1e9
"""Coordinates and radii are at most this large: squares and cubes stay far from the ends of doubles."""


def coordinate(field: str, value: Any) -> float:
    """Return a finite coordinate of moderate size."""
    return in_range(field, value, -FARTHEST, FARTHEST)


def positive(field: str, value: Any) -> float:
    """Return a number above 0 of moderate size.

    Examples
    --------
    >>> positive("price", 0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: price: 0 is not positive; give a number above 0
    """
    result = in_range(field, value, -math.inf, math.inf)
    if result <= 0:
        raise ParameterError(field, f"{result:g} is not positive", "give a number above 0")
    return in_range(field, result, 1.0 / FARTHEST, FARTHEST)


def rounded_up(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a bound enlarged by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_up(Fraction(1), 2.0) > 1.0
    True
    """
    return float(bound) + terms * sys.float_info.epsilon * scale


def rounded_down(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a lower bound reduced by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_down(Fraction(1), 2.0) < 1.0
    True
    """
    return rounded_up(bound, -scale, terms)


def positive_root(cube: float, square: float, constant: float) -> float:
    """Return the positive root of ``cube x^3 + square x^2 = constant``, all three above 0.

    With x = 1 / u the equation is constant u^3 - square u - cube = 0, a depressed cubic u^3 - 3 p u - 2 q = 0
    with p, q > 0, whose largest root is 2 sqrt(p) cosh(arcosh(q / p^1.5) / 3), with cos in place of cosh
    where q < p^1.5: nothing cancels. Two steps of Newton's method polish it.

    Examples
    --------
    >>> positive_root(1.0, 2.0, 3.0)
    1.0
    """
    p, q = square / constant / 3.0, cube / constant / 2.0
    ratio = q / p**1.5
    turn = math.cosh(math.acosh(ratio) / 3.0) if ratio >= 1.0 else math.cos(math.acos(ratio) / 3.0)
    root = 1.0 / (2.0 * math.sqrt(p) * turn)
    for _ in range(2):
        slope = constant / root**2 - cube * root - square
        root += slope / (2.0 * constant / root**3 + cube)
    return root
