"""Variance of one report of each mechanism on [-1, 1]: functions of epsilon and x, and their maxima.

With s = e^(eps/2) and D = (e^eps + 1)/(e^eps - 1) = coth(eps/2):

========================  =============================================  ===========================
mechanism                 variance at x                                  worst case V(eps)
========================  =============================================  ===========================
``laplace``               8/eps^2                     (thesis eq. 2.7)   8/eps^2
``duchi``                 D^2 - x^2                   (thesis eq. 2.8)   D^2 at x = 0
``piecewise``             x^2/(s-1) + (s+3)/(3(s-1)^2)  (eq. 2.9)        4s/(3(s-1)^2) at x = -1, 1
``hybrid``                a piecewise + (1 - a) duchi                    see :func:`hybrid_mixing`
``censoring-interval``    as ``duchi``                                   as ``duchi``
``square-wave``           of the affine, unbiased estimator              at x = -1, 1 or 0
========================  =============================================  ===========================

On [low, high] multiply by ((high - low)/2)^2. V is decreasing in epsilon for all of them, and convex for
laplace, duchi (coth^2) and piecewise (V = 1/(3 sinh^2(eps/4))). The hybrid's V is the lesser of two convex
functions and has a concave kink at epsilon = 0.61, where it leaves Duchi's: it is convex on either side,
not across. Contracts that ask for convexity may use the first three.

Every function takes floats or arrays and is accurate for small epsilon (``expm1``, not differences).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Variance = Callable[[Any, Any], Any]
WorstVariance = Callable[[Any], Any]

SERIES_TERMS = 24
"""Terms of the exponential series for epsilon <= 1: the first one left out is below 2**-53 of the sum."""


MOST_EXPONENT = 700.0
"""The exponential of a larger exponent is not a double; a quotient by it is 0 long before."""


def laplace_variance(epsilon: ArrayLike, x: ArrayLike) -> Any:
    """Return 8/eps^2, thesis eq. (2.7).

    Examples
    --------
    >>> float(laplace_variance(2.0, 0.3))
    2.0
    """
    return 8.0 / np.square(epsilon) + np.zeros(np.shape(x))


def duchi_variance(epsilon: ArrayLike, x: ArrayLike) -> Any:
    """Return ((e^eps + 1)/(e^eps - 1))^2 - x^2, thesis eq. (2.8).

    Examples
    --------
    >>> round(float(duchi_variance(1.0, 0.0)), 3)
    4.683
    """
    return duchi_value(epsilon) ** 2 - np.square(x)


def duchi_value(epsilon: ArrayLike) -> Any:
    """Return D = (e^eps + 1)/(e^eps - 1), the size of Duchi's two values."""
    return 1.0 / np.tanh(np.asarray(epsilon) / 2.0)


def piecewise_variance(epsilon: ArrayLike, x: ArrayLike) -> Any:
    """Return x^2/(s - 1) + (s + 3)/(3 (s - 1)^2) with s = e^(eps/2), thesis eq. (2.9).

    Examples
    --------
    >>> round(float(piecewise_variance(1.0, 1.0)), 3)
    5.224
    """
    gain = np.expm1(np.minimum(np.asarray(epsilon) / 2.0, MOST_EXPONENT))
    return np.square(x) / gain + (1.0 / 3.0 + 4.0 / (3.0 * gain)) / gain


def hybrid_mixing(epsilon: ArrayLike) -> Any:
    """Return the probability of using piecewise, not Duchi, that minimises the worst-case variance.

    The variance a PM(x) + (1 - a) D(x) is linear in a and a quadratic in x^2, so its maximum over x is
    at x = 0 or x = -1, 1, and the maximum of two functions linear in a is least at a = 0, at a = 1, or where
    they are equal: a/(s - 1) = 1 - a, that is a = 1 - e^(-eps/2). The best of the three is returned
    (a = 0 up to epsilon = 0.61, then 1 - e^(-eps/2); Wang et al., ICDE 2019).

    Examples
    --------
    >>> float(hybrid_mixing(0.5)), round(float(hybrid_mixing(1.0)), 4)
    (0.0, 0.3935)
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    equal = -np.expm1(-eps / 2.0)
    choices = np.stack([np.zeros_like(equal), equal, np.ones_like(equal)])
    worst = np.maximum(_mixed(eps, 0.0, choices), _mixed(eps, 1.0, choices))
    return np.take_along_axis(choices, worst.argmin(axis=0)[None], axis=0)[0]


def _mixed(epsilon: Any, x: Any, mixing: Any) -> Any:
    smooth, binary = piecewise_variance(epsilon, x), duchi_variance(epsilon, x)
    return mixing * smooth + (1.0 - mixing) * binary


def hybrid_variance(epsilon: ArrayLike, x: ArrayLike) -> Any:
    """Return the variance of the hybrid of piecewise and Duchi with its optimal mixing probability.

    Examples
    --------
    >>> round(float(hybrid_variance(1.0, 0.0)), 3), round(float(hybrid_variance(4.0, 0.0)), 3)
    (4.289, 0.219)
    """
    return _mixed(epsilon, x, hybrid_mixing(epsilon))


def wave_halfwidth(epsilon: ArrayLike) -> Any:
    """Return b = (eps e^eps - e^eps + 1)/(2 e^eps (e^eps - 1 - eps)) of the square wave on [0, 1].

    Li et al. (SIGMOD 2020): it maximises a bound of the mutual information; b -> 1/2 for epsilon -> 0.

    Examples
    --------
    >>> round(float(wave_halfwidth(1.0)), 4), round(float(wave_halfwidth(1e-9)), 4)
    (0.2561, 0.5)
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    small = np.minimum(eps, 1.0)
    term, top, bottom = np.full_like(small, 0.5), np.zeros_like(small), np.zeros_like(small)
    for power in range(2, SERIES_TERMS + 2):  # term = eps^(power - 2) / power!
        top, bottom = top + (power - 1) * term, bottom + term
        term = term * small / (power + 1)
    series = top / (2.0 * np.exp(small) * bottom)
    large = np.maximum(eps, 1.0)
    fading = np.exp(-large)
    closed = fading * (large - 1.0 + fading) / (2.0 * (1.0 - fading - large * fading))
    return np.where(eps <= 1.0, series, closed)


def wave_variance(epsilon: ArrayLike, x: ArrayLike) -> Any:
    """Return the variance of the unbiased affine estimator from one square-wave report.

    On [0, 1] the report y has density p within b of u and q = p e^-eps elsewhere in [-b, 1 + b], so
    E[y] = 2b(p - q) u + q(1 + 2b)/2 is affine in u, and E[y^2] = (p - q)(2b u^2 + 2b^3/3) +
    q((1 + b)^3 + b^3)/3.

    Examples
    --------
    >>> round(float(wave_variance(1.0, 0.0)), 3), round(float(wave_variance(1.0, 1.0)), 3)
    (3.798, 5.516)
    """
    return 4.0 * wave_unit_variance(epsilon, (np.asarray(x) + 1.0) / 2.0)


def wave_unit_variance(epsilon: ArrayLike, unit: ArrayLike) -> Any:
    """Return :func:`wave_variance` for the range [0, 1]."""
    eps, u = np.asarray(epsilon, dtype=np.float64), np.asarray(unit)
    b = wave_halfwidth(eps)
    fading = np.exp(-eps)
    high = 1.0 / (2.0 * b + fading)  # p; q = p e^-eps
    low, excess = high * fading, -high * np.expm1(-eps)
    mean = 2.0 * b * excess * u + low * (1.0 + 2.0 * b) / 2.0
    square = excess * (2.0 * b * u**2 + 2.0 * b**3 / 3.0) + low * ((1.0 + b) ** 3 + b**3) / 3.0
    return (square - mean**2) / (2.0 * b * excess) ** 2


def worst_of(variance: Variance) -> WorstVariance:
    """Return V(eps) = max over x of a variance that is a quadratic in x, symmetric about 0."""

    def worst(epsilon: ArrayLike) -> Any:
        return np.maximum(variance(epsilon, 0.0), variance(epsilon, 1.0))

    return worst


VARIANCES: Mapping[str, Variance] = {
    "laplace": laplace_variance,
    "duchi": duchi_variance,
    "piecewise": piecewise_variance,
    "hybrid": hybrid_variance,
    "censoring-interval": duchi_variance,
    "square-wave": wave_variance,
}
"""Variance of one report as a function of (epsilon, x) on [-1, 1], by mechanism."""

WORST_VARIANCES: Mapping[str, WorstVariance] = {
    name: worst_of(variance) for name, variance in VARIANCES.items()
}
"""Worst-case variance V(epsilon) on [-1, 1], by mechanism."""
