"""Where a continuous function changes sign, to the last bit, without any package."""

from __future__ import annotations

from collections.abc import Callable

from mechdesign.core.errors import ParameterError


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
