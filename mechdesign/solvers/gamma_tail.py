"""Tails of gamma laws by quadrature: of a few, scipy's take longer to import than a file takes to be read."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
        from scipy.special import gammainc, gammaincc  # takes longer to import than a file takes to be read

        return np.where(above, gammaincc(shape, place), gammainc(shape, place))
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
