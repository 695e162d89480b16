"""Score limits for means and for noisy sums: the moments of the estimate under each hypothesis.

Let c = x - offset be a centred value and y = slope r a centred, unbiased report, E[y | c] = c. A mechanism
is described by the curves s(c) = E[y^2 | c] and E[y^3 | c]. The values of the users are unknown; but if their
mean is m and the average of s over them is S, then

- S lies between the convex and the concave envelope of s at m;
- avg(c^2) >= k S + (convex envelope of c^2 - k s)(m) for every number k.

Both are Jensen's inequality. k is the slope of c^2 against s; with s = A + B c^2, k = 1/B gives equality.

Under the hypothesis that the mean is m,

    n Var = S - f avg(c^2) - (1 - f) m^2,

f = 1 for the users at hand, whose values are fixed, f = 0 for a population, and n/N when n users were drawn
from the N of interest. S is observed, and moved to what a mean of m allows. For a population, a hypothesis
beyond the estimate also changes S: it is mixed with the end of the range it lies towards, by the share that
moves the mean from the estimate to m; users whom nobody of the sample resembles count only so.

The law of a noisy sum of rounded numbers depends on all numbers, of which only the sum is asked for. Its
second to fourth cumulants are taken at their largest over all data, the third one in both directions: where
the data are others, the intervals are wider than need be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import AverageLaw, Limits, ScoreTestLimits, law_of_average, score_distances

Array = NDArray[np.float64]

FLAT = 1e-9
"""A change of the second moment below this part of its largest value is taken for rounding."""

PLACES = 257
"""Places at which polynomials are held; an odd number, so that the middle is one."""

KEPT = 16
"""Number of curves of sampled reports that are kept."""

SLOPES = 9
"""How many slopes of c^2 against s are tried."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Second and third moments of a centred report at increasing centred values, linear in between.

    Parameters
    ----------
    places : (g,) array
        Centred values, the ends of the range first and last.
    second, third, fourth : (g,) array
        E[y^2 | c], E[y^3 | c] and E[y^4 | c].
    step : float
        The distance of two sums of reports next to each other; 0 where there is none.
    """

    places: Array
    second: Array
    third: Array
    fourth: Array
    step: float = 0.0

    def sampled(self, times: float) -> Self:
        """Return the curves of a report made with probability 1/times, and then multiplied by ``times``."""
        if times == 1.0:
            return self
        if times not in self._sampled:
            if len(self._sampled) >= KEPT:
                self._sampled.clear()
            self._sampled[times] = self._made(times)
        return self._sampled[times]

    @cached_property
    def _sampled(self) -> dict[float, Self]:
        """The latest of them, whose envelopes are then found once."""
        return {}

    def _made(self, times: float) -> Self:
        second, third, fourth = self.second * times, self.third * times**2, self.fourth * times**3
        return type(self)(self.places, second, third, fourth, self.step * times)

    def second_at(self, mean: Array, square: Array) -> Array:
        """Return S moved to what the mean allows."""
        knots, least = self._least_second
        lowest = np.interp(mean, knots, least)
        knots, most = self._most_second
        possible: Array = np.clip(square, lowest, np.maximum(np.interp(mean, knots, most), lowest))
        return possible

    def least_square(self, mean: Array, second: Array) -> Array:
        """Return a lower bound of avg(c^2), at most what the ends of the range allow.

        Between two places c^2 is below its chord by at most a quarter of the squared gap.
        """
        least, chord = mean**2, float(np.diff(self.places).max()) ** 2 / 4.0
        for slope, (knots, envelope) in self._bounds:
            least = np.maximum(least, slope * second + np.interp(mean, knots, envelope) - chord)
        most = (self.places[0] + self.places[-1]) * mean - self.places[0] * self.places[-1]
        bound: Array = np.minimum(least, np.maximum(most, mean**2))
        return bound

    def step_at(self, variance: Array, fourth: Array) -> Any:
        """Return the distance of two sums of reports next to each other, given cumulants of a report."""
        return self.step

    @cached_property
    def least_variance(self) -> float:
        """The least variance of a report."""
        return max(0.0, float((self.second - self.places**2).min()))

    @cached_property
    def _cumulants(self) -> tuple[Array, Array]:
        """The third and the fourth cumulant of a report for each value."""
        c, variance = self.places, self.second - self.places**2
        third = self.third - 3.0 * c * self.second + 2.0 * c**3
        central = self.fourth - 4.0 * c * self.third + 6.0 * c**2 * self.second - 3.0 * c**4
        return third, central - 3.0 * variance**2

    def cumulants(self, mean: Array) -> tuple[Array, Array]:
        """Return the third and fourth cumulants of a report, each of shape (2, ...).

        Averages over the users: first when all values are ``mean``, then when all are at the two ends.
        """
        share = (mean - self.places[0]) / (self.places[-1] - self.places[0])
        third, fourth = (
            np.stack([np.interp(mean, self.places, curve), curve[0] + share * (curve[-1] - curve[0])])
            for curve in self._cumulants
        )
        return third, fourth

    @cached_property
    def _least_second(self) -> tuple[Array, Array]:
        return lower_envelope(self.places, self.second)

    @cached_property
    def _most_second(self) -> tuple[Array, Array]:
        knots, negative = lower_envelope(self.places, -self.second)
        return knots, -negative

    @cached_property
    def _bounds(self) -> list[tuple[float, tuple[Array, Array]]]:
        """The slopes k with the convex envelopes of c^2 - k s."""
        bounds = []
        for slope in self._slopes():
            envelope = lower_envelope(self.places, self.places**2 - slope * self.second)
            bounds.append((slope, envelope))
        return bounds

    def _slopes(self) -> list[float]:
        """Return slopes of c^2 against s between pairs of places, where s changes at all."""
        pick = np.unique(np.linspace(0, len(self.places) - 1, SLOPES).astype(int))
        first, last = np.triu_indices(len(pick), 1)
        change = self.second[pick[last]] - self.second[pick[first]]
        squares = self.places[pick[last]] ** 2 - self.places[pick[first]] ** 2
        steep = np.abs(change) > FLAT * np.abs(self.second).max()
        if not steep.any():
            return []
        slopes = np.unique(squares[steep] / change[steep])
        chosen: list[float] = np.unique(np.quantile(slopes, np.linspace(0.0, 1.0, SLOPES))).tolist()
        return chosen


def lower_envelope(places: Array, values: Array) -> tuple[Array, Array]:
    """Return the corners of the convex envelope of points.

    Examples
    --------
    >>> lower_envelope(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    (array([0., 2.]), array([0., 0.]))
    """
    corners: list[tuple[float, float]] = []
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        while len(corners) > 1:
            (left, low), (middle, high) = corners[-2:]
            if (high - low) * (place - left) < (value - low) * (middle - left):
                break
            corners.pop()
        corners.append((place, value))
    table = np.array(corners)
    return table[:, 0], table[:, 1]


@dataclass(frozen=True, eq=False)
class ReportSums:
    """State of the server: number of reports, averages of y and y^2; floats or arrays of one shape.

    Parameters
    ----------
    count : float or array
    mean, square : float or array
    share : float or array
        Which part of the users of interest reported: 1 for the users at hand, 0 for the mean of a population,
        in between when only a random part of the users was asked.
    """

    count: Any
    mean: Any
    square: Any
    share: Any


@dataclass(frozen=True, eq=False)
class ScoreLimits(ScoreTestLimits):
    """The limits of the score test; they work on arrays of sums.

    Parameters
    ----------
    curves : Curves
    sums : ReportSums
    rounding : float
        How far a report was rounded before it was added.
    """

    curves: Curves
    sums: ReportSums
    rounding: float = 0.0

    def standard_error(self) -> Array:
        mean = np.asarray(self.sums.mean, dtype=np.float64)
        error: Array = np.sqrt(self._moments(mean)[0] / self.sums.count) + self.rounding
        return error

    def _moments(self, hypothesis: Array) -> tuple[Array, Array]:
        """Return n Var and the variance of the values that is part of it."""
        sums, places = self.sums, self.curves.places
        low, high = places[0], places[-1]
        mean, share = np.asarray(sums.mean, dtype=np.float64), np.asarray(sums.share, dtype=np.float64)
        m = np.clip(hypothesis, low, high)
        count = np.asarray(sums.count, dtype=np.float64)
        spread = np.maximum(sums.square - mean**2, 0.0) / np.maximum(count - 1.0, 1.0)
        draws = np.where(count > 1.0, (1.0 - share) * spread, np.where(share < 1.0, np.inf, 0.0))
        second = sums.square + draws
        up = hypothesis > mean
        gap = np.where(up, high - mean, low - mean)
        moved = np.divide(m - mean, gap, out=np.ones_like(m), where=gap != 0.0)
        moved = np.where(np.where(up, high > mean, low < mean), np.clip(moved, 0.0, 1.0), 1.0)
        end = np.where(up, self.curves.second[-1], self.curves.second[0])
        second = self.curves.second_at(m, second)
        second = self.curves.second_at(m, second + (1.0 - share) * moved * (end - second))
        square = self.curves.least_square(m, second)
        variance = second - share * square - (1.0 - share) * m**2
        values = (1.0 - share) * (square - m**2)
        return np.maximum(variance, self.curves.least_variance), values

    def law(self, distance: Array, side: Array) -> AverageLaw:
        places, share = self.curves.places, np.asarray(self.sums.share, dtype=np.float64)
        hypothesis = self.sums.mean + side * distance
        m = np.clip(hypothesis, places[0], places[-1])
        variance, values = self._moments(hypothesis)
        noise, fourth = self.curves.cumulants(m)
        towards = np.where(side > 0, m - places[0], places[-1] - m)
        spread = np.divide(values, 1.0 - share, out=np.zeros_like(m), where=share < 1.0)
        draws = spread * (towards - np.divide(spread, towards, out=np.zeros_like(m), where=towards > 0.0))
        third = (-side * noise).max(axis=0) + np.maximum((1.0 - share) * (1.0 - 2.0 * share), 0.0) * draws
        count = np.asarray(self.sums.count)
        freedom = np.where(share < 1.0, np.maximum(count - 1.0, 1.0), np.inf)
        fourth = fourth.max(axis=0)
        step = self.curves.step_at(variance, fourth)
        return law_of_average(count, variance, third, fourth, step, freedom)


Cumulants = tuple[float, float, float]
"""The second, third and fourth cumulant."""


@dataclass(frozen=True)
class WorstLimits(Limits):
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
        distance = np.asarray(_distance(self, tail))
        return distance, distance


@lru_cache(maxsize=256)
def _distance(limits: WorstLimits, tail: float) -> float:
    second, third, fourth = (np.array([part]) for part in (limits.second, limits.third, limits.fourth))
    law = law_of_average(1, second, third, fourth, limits.step)
    start = np.array([math.sqrt(limits.second)])
    return float(score_distances(lambda distance, side: law, start, tail)[1][0])


def added(parts: Sequence[tuple[Cumulants, float]]) -> Cumulants:
    """Return the cumulants of a sum of independent parts, each with its factor.

    Examples
    --------
    >>> added([((1.0, 0.0, 2.0), 2.0), ((1.0, 1.0, 0.0), 1.0)])
    (5.0, 1.0, 32.0)
    """
    second, third, fourth = (
        math.fsum(cumulants[order - 2] * factor**order for cumulants, factor in parts) for order in (2, 3, 4)
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
