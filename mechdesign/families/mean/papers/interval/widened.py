"""Theorem 2 of the paper: intervals between the symmetric one and the printed optimum.

With E = e^eps the interval is [(1 + delta_2)/(E + 1), (E + delta_1)/(E + 1)], where delta_1 is in (0, 1]
and delta_2 in [delta_1/E, delta_1]; D = E - 1 + delta_1 - delta_2 is E + 1 times its width.
"""

from __future__ import annotations

import math


def offsets_of(epsilon: float, first: float, second: float) -> tuple[float, float]:
    """Return a = (1 + delta_2)/D and b = (1 - delta_1)/D."""
    width = math.expm1(epsilon) + first - second
    return (1.0 + second) / width, (1.0 - first) / width


def true_epsilon(epsilon: float, first: float, second: float) -> float:
    """Return the privacy of such an interval: the larger log ratio of the two reports.

    Examples
    --------
    >>> round(true_epsilon(1.0, 0.5, 0.5 / math.e), 4), true_epsilon(1.0, 1.0, 1.0 / math.e)
    (1.6231, inf)
    """
    power = math.exp(epsilon)
    one = math.log((power + first) / (1.0 + second))
    zero = math.log((power - second) / (1.0 - first)) if first < 1.0 else math.inf
    return max(one, zero)


def slopes(epsilon: float, first: float, second: float, mean: float) -> tuple[float, float]:
    """Return the derivatives of n G_2 = (mu + a)(1 - mu + b) by delta_1 and by delta_2.

    da/d delta_1 = -(1 + delta_2)/D^2, db/d delta_1 = -(E - delta_2)/D^2, da/d delta_2 = (E + delta_1)/D^2,
    db/d delta_2 = (1 - delta_1)/D^2.

    Examples
    --------
    >>> step = 1e-6
    >>> def bound(first, second):
    ...     a, b = offsets_of(1.0, first, second)
    ...     return (0.3 + a) * (0.7 + b)
    >>> by_first = (bound(0.5 + step, 0.3) - bound(0.5 - step, 0.3)) / (2 * step)
    >>> abs(slopes(1.0, 0.5, 0.3, 0.3)[0] - by_first) < 1e-8
    True
    """
    power = math.exp(epsilon)
    a, b = offsets_of(epsilon, first, second)
    square = (math.expm1(epsilon) + first - second) ** 2
    left, right = mean + a, 1.0 - mean + b
    by_first = -((1.0 + second) * right + (power - second) * left) / square
    by_second = ((power + first) * right + (1.0 - first) * left) / square
    return by_first, by_second
