"""Variance and privacy of one bit, in coordinates where both are monotone.

With h = redraw/2, q = keep, p = add, x = p/q and y = (1-q)/(1-p), so that p = x (1-y)/(1-xy) and
q = (1-y)/(1-xy), R reports of a bit have

    variance at frequency 0   V = (h (1-h) + (h y + (1-h) x) / (R (1-x)(1-y))) / (1-2h)^2
    privacy of R reports      e^eps = G(x^R) G(y^R)   with   G(z) = ((1-h) + h z) / (h + (1-h) z)

V rises in h, x and y, the privacy loss falls in each of them: so the best h for given x and y is the least
one that keeps the promises, and it solves a quadratic equation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def variance(h: Array, x: Array, y: Array, reports: int) -> Array:
    """Return the number of users times the variance of a debiased bit that no user has.

    Examples
    --------
    >>> variance(np.array(0.0), np.array(0.5), np.array(0.5), 1).round(12)  # q = 2/3, p = 1/3
    np.float64(2.0)
    """
    drawn = (h * y + (1.0 - h) * x) / (reports * (1.0 - x) * (1.0 - y))
    found: Array = (h * (1.0 - h) + drawn) / (1.0 - 2.0 * h) ** 2
    return found


def least_flip(x: Array, y: Array, ratio: float, reports: int) -> Array:
    """Return the least h for which R reports of a bit have a likelihood ratio of at most this one.

    With a = x^R, b = y^R and g = 1 - 2h the condition G(a) G(b) <= E is quadratic in g: plus + cross g +
    minus g^2 <= E (plus - cross g + minus g^2), where plus = (1+a)(1+b), minus = (1-a)(1-b) and cross is what
    the middle terms have in common. The largest g is the smaller root.

    Examples
    --------
    >>> least_flip(np.array(0.0), np.array(0.0), 9.0, 1).round(12)  # (1-h)/h = 3
    np.float64(0.25)
    """
    a, b = x**reports, y**reports
    plus, minus = (1.0 + a) * (1.0 + b), (1.0 - a) * (1.0 - b)
    cross = (1.0 + a) * (1.0 - b) + (1.0 - a) * (1.0 + b)
    e = ratio - 1.0
    middle = (ratio + 1.0) * cross
    root = np.sqrt(np.maximum(middle**2 - 4.0 * e**2 * minus * plus, 0.0))
    gain = 2.0 * e * plus / (middle + root)
    found: Array = np.maximum(0.0, 0.5 * (1.0 - np.minimum(gain, 1.0)))
    return found


def probabilities(x: float, y: float) -> tuple[float, float]:
    """Return q and p.

    Examples
    --------
    >>> probabilities(0.5, 0.5)
    (0.6666666666666666, 0.3333333333333333)
    """
    below = 1.0 - x * y
    return (1.0 - y) / below, x * (1.0 - y) / below


def coordinates(q: float, p: float) -> tuple[float, float]:
    """Return x and y.

    Examples
    --------
    >>> coordinates(0.75, 0.5)
    (0.6666666666666666, 0.5)
    """
    return p / q, (1.0 - q) / (1.0 - p)
