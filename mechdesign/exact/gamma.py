"""Tails of gamma variables: a few by quadrature, many by scipy, and all without scipy where there is none.

The incomplete gamma functions for servers and devices that have numpy only:

P(a, x) = x^a e^-x / Gamma(a + 1) * sum_n x^n / ((a + 1) ... (a + n))                    below a + 1,
Q(a, x) = x^a e^-x / Gamma(a) * 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - 2 (2 - a)/(...)))  above

(DLMF 8.11.4 and 8.9.2). Both converge in some sqrt(a) steps; a is at most 10,000 where tails of counts are
computed. What both have in front is written so that nothing cancels, with Stirling's series for large a.
Equal to scipy's to 1e-12, relative, where the tests compare them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPACING = 2.0**-52

NODES, DROP = 48, 42.0
"""Places at which a density is added up, and by which power of e it has dropped at the last of them."""

SMALLEST_SHAPE, MOST_TAILS = 4.0, 512
"""Gamma tails that are added up here: of smaller shapes, and of more of them, scipy's are as quick."""


def gamma_tail(shape: Array, place: Array, above: NDArray[np.bool_]) -> Array:
    r"""Return the probability that a gamma variable of unit scale is above a place, or below it.

    A few are integrated from the place x away from the mode, over t with y = x e^{t} or x e^{-t}: there
    the density is (a/2 pi)^{1/2} exp(-a(r - 1 - ln r) - s(a)) times exp(-(its drop)), with r = x/a and the
    rest s(a) of Stirling's formula. The drop from x on is x(e^t - 1) - a t >= (x - a) t + x t^2/2 above
    the mode, and a t - x(1 - e^{-t}) >= (a - x) t + x t^2/(2 + t) below it. So t ends where that bound is
    :data:`DROP`, and what is left out is below e^{-DROP} of the result. The other side is the rest to 1.

    Examples
    --------
    >>> above = np.array([True, False])
    >>> gamma_tail(np.array([9.0, 9.0]), np.array([15.0, 15.0]), above).round(6)  # e^-15 sum 15^k/k!, k < 9
    array([0.037446, 0.962554])
    """
    if shape.size > MOST_TAILS or shape.min(initial=np.inf) < SMALLEST_SHAPE:
        lower, upper = _incomplete_gamma()
        return np.where(above, upper(shape, place), lower(shape, place))
    x = np.clip(place, np.finfo(np.float64).tiny, 1e6 * shape)  # far beyond what has a chance in doubles
    right, far = x >= shape, np.abs(x - shape)
    half = np.where(right, far / 2.0, far - DROP / 2.0)
    end = np.where(right, DROP, 2.0 * DROP)
    end /= half + np.sqrt(half**2 + end * np.where(right, x / 2.0, shape))
    nodes, weights = _unit_nodes()
    t = end[:, None] * nodes
    sign = np.where(right, 1.0, -1.0)[:, None]
    drop = x[:, None] * np.expm1(sign * t) - sign * shape[:, None] * t
    ratio = np.where(right, far, -far) / shape
    with np.errstate(divide="ignore"):  # at 0 the density is 0
        log_density = -shape * (ratio - np.log1p(ratio)) - _stirling_rest(shape)
    density = np.sqrt(shape / (2.0 * np.pi)) * np.exp(log_density)
    outer = (
        density * end * (np.exp(-drop) * weights).sum(axis=1)
    )  # as a product it would depend on the others
    chance: Array = np.where(above == right, outer, 1.0 - outer)
    return chance


@cache
def _incomplete_gamma() -> tuple[Callable[[Array, Array], Array], Callable[[Array, Array], Array]]:
    """Return scipy's functions P and Q, which take long to import, or on a light server those of numpy."""
    try:
        special: Any = import_module("scipy.special")
    except ImportError:
        return gammainc, gammaincc
    return special.gammainc, special.gammaincc


@cache
def _unit_nodes() -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss and Legendre on [0, 1]; numpy's are in a module of their own."""
    x = np.cos(np.pi * (np.arange(NODES) + 0.75) / (NODES + 0.5))
    for _ in range(4):
        before, value = np.ones(NODES), x
        for degree in range(2, NODES + 1):
            before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
        slope = NODES * (before - x * value) / (1.0 - x * x)
        x = x - value / slope
    return (1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope**2)


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
    return np.asarray(np.exp(-shape * rate - _stirling_rest(shape)) / np.sqrt(2.0 * math.pi * shape))


def _stirling_rest(shape: Array) -> Array:
    """Return ln of the gamma function less Stirling's formula."""
    series = (
        1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * shape**2)) / shape**2) / shape**2
    ) / shape
    half = 0.5 * math.log(2.0 * math.pi)
    for place in np.flatnonzero(shape < 100.0).tolist():
        value = float(shape[place])
        series[place] = math.lgamma(value) - ((value - 0.5) * math.log(value) - value + half)
    return series


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
