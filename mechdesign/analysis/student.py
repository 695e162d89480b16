"""Intervals by Student's t, of differences from the intervals of their parts, and tests of many at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import Limits, normal_quantile

Array = NDArray[np.float64]

HALVINGS = 60


def student_quantile(tail: float, freedom: float) -> float:
    """Return the number that a Student variable exceeds with this probability.

    Examples
    --------
    >>> round(student_quantile(0.025, 10.0), 4), round(student_quantile(0.025, 1e9), 4)
    (2.2281, 1.96)
    """
    if freedom > 1e6:
        return -normal_quantile(tail)
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, tail))


@dataclass(frozen=True)
class StudentLimits(Limits):
    """A Student quantile times the standard error."""

    standard_error: Any
    freedom: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        width = student_quantile(tail, self.freedom) * np.asarray(self.standard_error)
        return width, width


@dataclass(frozen=True)
class DifferenceLimits(Limits):
    """The limits of a difference of independent estimates a - b, from those of both (MOVER).

    low = d - sqrt(down_a^2 + up_b^2), high = d + sqrt(up_a^2 + down_b^2): where the limits of a difference
    meet, each part is as far from its estimate as it has to be (Newcombe 1998, method 10; Zou, Donner 2008).
    """

    first: Limits
    second: Limits

    def distances(self, tail: float) -> tuple[Array, Array]:
        down, up = self.first.distances(tail)
        less, more = self.second.distances(tail)
        return np.hypot(down, more), np.hypot(up, less)


def p_value(limits: Limits, difference: Array) -> Array:
    """Return for each difference the level at which its interval just reaches 0: a two-sided p-value.

    Examples
    --------
    >>> from mechdesign.collect.intervals import NormalLimits
    >>> p_value(NormalLimits(np.array([1.0, 1.0])), np.array([1.959964, 0.0])).round(4)
    array([0.05, 1.  ])
    """
    distance = np.abs(difference)
    low, high = np.full(distance.shape, -700.0), np.full(distance.shape, math.log(0.5))
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        reached = np.empty(distance.shape, dtype=bool)
        for place, tail in enumerate(np.exp(middle).ravel().tolist()):
            down, up = limits.distances(max(tail, 1e-300))
            wide = np.where(difference > 0.0, down, up)
            reached.flat[place] = bool((wide >= distance).ravel()[place])
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    result: Array = np.where(distance == 0.0, 1.0, np.minimum(1.0, 2.0 * np.exp(low)))
    return result


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values that hold together, whatever their dependence (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    result, largest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        result[place] = largest
    return result
