"""What the problems of this family share: bounds that rounding cannot break."""

from __future__ import annotations

import sys
from fractions import Fraction


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
