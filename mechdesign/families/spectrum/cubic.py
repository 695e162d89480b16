"""The positive root of a x^3 + b x^2 = c: the optimum of every trade of area against privacy / x."""

from __future__ import annotations

import math


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
