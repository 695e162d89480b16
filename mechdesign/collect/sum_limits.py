"""Limits for sums of rounded numbers: the score test with the worst moments over all data.

The law of the noisy sum depends on all numbers, of which only the sum is asked for. Its second to fourth
cumulants are taken at their largest over all data, the third one in both directions: where the data are
others, the intervals are wider than need be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import law_of_average, score_distances, within

Array = NDArray[np.float64]

Cumulants = tuple[float, float, float]
"""The second, third and fourth cumulant."""


@dataclass(frozen=True)
class WorstLimits:
    """Limits of a sum whose law depends on all data: the score test with the worst moments over all data.

    Parameters
    ----------
    second, third, fourth : float
        Cumulants of the sum, at their largest over all data, in units of the estimate.
    step : float
        The distance of two sums next to each other.
    """

    second: float
    third: float
    fourth: float
    step: float

    @classmethod
    def of(
        cls, parts: Sequence[tuple[Cumulants, float]], users: int, precision: int, step: float = 0.0
    ) -> WorstLimits:
        """Return the limits of a sum of numbers rounded at random to steps, from parts with their factors."""
        rounding = rounding_cumulants(users), 1.0 / precision
        return cls(*added([*parts, rounding]), step)

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the same distance twice: either tail may be the longer one."""
        distance = np.asarray(_distance(self, tail))
        return distance, distance

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches so far."""
        return within(difference, *self.distances(tail))


@lru_cache(maxsize=256)
def _distance(limits: WorstLimits, tail: float) -> float:
    second, third, fourth = (np.array([part]) for part in (limits.second, limits.third, limits.fourth))
    law = law_of_average(1, second, third, fourth, limits.step)
    start = np.array([math.sqrt(limits.second)])
    return float(score_distances(lambda distance, side: law, start, tail)[1][0])


@lru_cache(maxsize=256)
def response_cumulants(users: int, size: int, other: float) -> Cumulants:
    """Return the largest cumulants of a sum of k-ary responses with numbers from 0, over all inputs.

    Examples
    --------
    >>> response_cumulants(1, 2, 0.25)  # a bit with chance 1/4
    (0.1875, 0.09375, -0.0234375)
    """
    numbers = np.arange(size, dtype=np.float64)
    stay = 1.0 - size * other
    raw = [stay * numbers**power + other * float((numbers**power).sum()) for power in (1, 2, 3, 4)]
    mean = raw[0]
    second = raw[1] - mean**2
    third = raw[2] - 3.0 * mean * raw[1] + 2.0 * mean**3
    fourth = raw[3] - 4.0 * mean * raw[2] + 6.0 * mean**2 * raw[1] - 3.0 * mean**4 - 3.0 * second**2
    return users * float(second.max()), users * float(np.abs(third).max()), users * float(fourth.max())


def added(parts: Sequence[tuple[Cumulants, float]]) -> Cumulants:
    """Return the cumulants of a sum of independent parts, each with its factor.

    Examples
    --------
    >>> added([((1.0, 0.0, 2.0), 2.0), ((1.0, 1.0, 0.0), 1.0)])
    (5.0, 1.0, 32.0)
    """
    second, third, fourth = (
        math.fsum(found[order - 2] * factor**order for found, factor in parts) for order in (2, 3, 4)
    )
    return second, third, fourth


def rounding_cumulants(users: int) -> Cumulants:
    """Return the largest cumulants of numbers rounded at random to one of two steps, in steps.

    f (1 - f) is at most 1/4, f (1 - f) (1 - 2 f) at most 1 / (6 sqrt 3), the fourth one at most 1/24.

    Examples
    --------
    >>> rounding_cumulants(24)[::2]
    (6.0, 1.0)
    """
    return users / 4.0, users / (6.0 * math.sqrt(3.0)), users / 24.0
