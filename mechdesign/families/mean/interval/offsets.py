"""The variance of randomized censoring in the offsets a = c/d and b = (1 - c - d)/d, and its worst mean.

Both estimators increase in a and in b at every mean, and so does their maximum over a range of means.
"""

from __future__ import annotations

import math

Range = tuple[float, float]


def least_offset(epsilon: float) -> float:
    """Return 1/(e^eps - 1), the least offset that keeps one report private; 0 beyond double precision.

    Examples
    --------
    >>> round(least_offset(1.0), 6)
    0.581977
    """
    return math.exp(-epsilon) / -math.expm1(-epsilon)


def value_at(a: float, b: float, mean: float, attributes: int, scaled: bool) -> float:
    """Return n times the variance of the estimate of one attribute at one mean.

    Examples
    --------
    >>> value_at(0.5, 0.5, 0.5, 1, False), value_at(0.5, 0.5, 0.5, 1, True)
    (1.0, 1.0)
    """
    if not scaled:
        return attributes * (mean + a) * (1.0 - mean + b)
    return (mean + a) * ((attributes - 1) * (1.0 + a + b) + (1.0 - mean + b))


def worst_mean(a: float, b: float, means: Range, attributes: int, scaled: bool) -> float:
    """Return the mean of the range with the largest variance: the vertex of a concave parabola, or an end.

    Examples
    --------
    >>> worst_mean(0.5, 0.5, (0.0, 1.0), 1, False), worst_mean(0.0, 9.0, (0.0, 0.2), 1, False)
    (0.5, 0.2)
    """
    factor = attributes if scaled else 1
    vertex = (factor * (1.0 + a + b)) / 2.0 - a
    return min(max(vertex, means[0]), means[1])


def worst_value(a: float, b: float, means: Range, attributes: int, scaled: bool) -> float:
    """Return n times the variance at the worst mean of the range."""
    return value_at(a, b, worst_mean(a, b, means, attributes, scaled), attributes, scaled)
