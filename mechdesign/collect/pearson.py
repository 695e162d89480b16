"""Tails of Pearson type III laws: shifted gamma distributions with mean 0, variance 1 and some skewness."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEARLY_NORMAL = 0.02
"""Below this skewness a series is within 2e-7 of the tail, relative, up to 6 standard deviations."""

FARTHEST = 40.0
"""Standard deviations beyond which a normal tail is 0 in doubles."""

FEW = 20_000
"""Up to so many numbers the standard library is quicker than importing another one."""


def tail_chance(distance: Array, skewness: Array) -> Array:
    """Return the probability that a standardised Pearson type III variable is at least ``distance``.

    Examples
    --------
    >>> tail_chance(np.array([1.96, 1.96, 1.96]), np.array([0.0, 1.0, -1.0])).round(3)
    array([0.025, 0.045, 0.   ])
    """
    if np.shape(distance) != np.shape(skewness):
        distance, skewness = np.broadcast_arrays(distance, skewness)
    skewed = np.abs(skewness) >= NEARLY_NORMAL
    if not skewed.any():
        return normal_tail(normal_place(np.clip(distance, -FARTHEST, FARTHEST), skewness))
    from scipy.special import gammainc, gammaincc  # takes longer to import than a file takes to be read

    chance = np.empty(np.shape(distance))
    chance[~skewed] = tail_chance(distance[~skewed], skewness[~skewed])
    for gamma, sign in ((gammaincc, 1.0), (gammainc, -1.0)):
        part = sign * skewness >= NEARLY_NORMAL
        if part.any():
            size = np.abs(skewness[part])
            shape = 4.0 / size**2
            chance[part] = gamma(shape, np.maximum(shape + sign * distance[part] * (2.0 / size), 0.0))
    return chance


def normal_place(distance: Array, skewness: Array) -> Array:
    r"""Return where the normal law has the same tail, by a series in half the skewness h.

    With z = x + h z_1(x) + h^2 z_2(x) + ... the density of the law is that of z times dz/dx; its logarithm,
    with Stirling's series for the gamma function, gives one polynomial after the other by
    z_k' - x z_k = (what is known). It goes to h^5.

    Examples
    --------
    >>> bool(abs(normal_tail(normal_place(np.array([3.0]), np.array([0.01])))[0] - 0.0014095958) < 1e-9)
    True
    """
    x, h = distance, skewness / 2.0
    y = x * x
    terms = (
        (1.0 - y) / 3.0,
        x * (7.0 * y - 1.0) / 36.0,
        (13.0 + y * (14.0 - 219.0 * y)) / 1620.0,
        x * (476.0 + y * (-608.0 + 15972.0 * y)) / 155520.0,
        -(3095.0 + y * (2041.0 + y * (-1707.0 + 67227.0 * y))) / 816480.0,
    )
    place = np.zeros(np.shape(x))
    for term in reversed(terms):
        place = h * (term + place)
    return x + place


def normal_tail(place: Array) -> Array:
    """Return the probability that a standard normal variable is at least ``place``.

    Examples
    --------
    >>> normal_tail(np.array([0.0, 1.96])).round(4)
    array([0.5  , 0.025])
    """
    if place.size > FEW:
        from scipy.special import ndtr

        return np.asarray(ndtr(-place))
    values = [0.5 * math.erfc(each * math.sqrt(0.5)) for each in place.ravel().tolist()]
    return np.array(values, dtype=np.float64).reshape(place.shape)
