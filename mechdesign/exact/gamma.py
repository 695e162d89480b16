"""The incomplete gamma function without scipy, for servers and devices that have numpy only.

P(a, x) = x^a e^-x / Gamma(a + 1) * sum_n x^n / ((a + 1) ... (a + n))                    below a + 1,
Q(a, x) = x^a e^-x / Gamma(a) * 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - 2 (2 - a)/(...)))  above

(DLMF 8.11.4 and 8.9.2). Both converge in some sqrt(a) steps; a is at most 10,000 where tails of counts are
computed. What both have in front is written so that nothing cancels, with Stirling's series for large a.
Equal to scipy's to 1e-12, relative, where the tests compare them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPACING = 2.0**-52
LARGE = 50.0
"""From here on three terms of Stirling's series are exact in doubles."""


def gammainc(shape: Array, x: Array) -> Array:
    """Return P(a, x), the chance that a gamma variable of this shape is at most x.

    Examples
    --------
    >>> float(gammainc(np.array([1.0]), np.array([2.0]))[0])  # 1 - exp(-2)
    0.8646647167633873
    """
    return _halves(shape, x)[0]


def gammaincc(shape: Array, x: Array) -> Array:
    """Return Q(a, x) = 1 - P(a, x), accurate where it is small.

    Examples
    --------
    >>> float(gammaincc(np.array([1.0]), np.array([20.0]))[0])  # exp(-20)
    2.0611536224e-09
    """
    return _halves(shape, x)[1]


def _halves(shape: Array, x: Array) -> tuple[Array, Array]:
    lower, upper = np.zeros_like(shape), np.ones_like(shape)  # what both are at x = 0
    is_low = (x > 0.0) & (x < shape + 1.0)
    if is_low.any():
        lower[is_low] = _series(shape[is_low], x[is_low])
        upper[is_low] = 1.0 - lower[is_low]
    is_high = x >= shape + 1.0
    if is_high.any():
        upper[is_high] = _fraction(shape[is_high], x[is_high])
        lower[is_high] = 1.0 - upper[is_high]
    return lower, upper


def _front(shape: Array, x: Array) -> Array:
    """Return x^a e^-x / Gamma(a + 1) = exp(-a (u - log(1 + u))) / (sqrt(2 pi a) e^s) at x = a (1 + u)."""
    u = (x - shape) / shape
    near = np.clip(u, -0.5, 0.5)
    rate = np.where(near == u, near - np.log1p(near), u - np.log(x / shape))
    rest = np.array([_stirling_rest(each) for each in shape.tolist()])
    return np.asarray(np.exp(-shape * rate - rest) / np.sqrt(2.0 * math.pi * shape))


def _stirling_rest(shape: float) -> float:
    """Return log Gamma(a + 1) without Stirling's formula (a + 1/2) log a - a + log(2 pi)/2."""
    if shape < LARGE:
        return math.lgamma(shape + 1.0) - (
            (shape + 0.5) * math.log(shape) - shape + 0.5 * math.log(2 * math.pi)
        )
    square = shape * shape
    return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / shape


def _series(shape: Array, x: Array) -> Array:
    term, total, number = np.ones_like(shape), np.ones_like(shape), 0
    while (term > SPACING * total).any():
        number += 1
        term = term * x / (shape + number)
        total += term
    return total * _front(shape, x)


def _fraction(shape: Array, x: Array) -> Array:
    """Evaluate the continued fraction from the front, by Lentz's method."""
    denominator = x + 1.0 - shape
    inverse, ratio = 1.0 / denominator, np.full_like(shape, np.inf)
    value, change, number = inverse, np.full_like(shape, 2.0), 0
    while (np.abs(change - 1.0) > 4.0 * SPACING).any():
        number += 1
        numerator = -number * (number - shape)
        denominator = denominator + 2.0
        inverse = 1.0 / (numerator * inverse + denominator)
        ratio = denominator + numerator / ratio
        change = ratio * inverse
        value = value * change
    return value * _front(shape, x) * shape
