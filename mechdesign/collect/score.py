"""Score limits for means: variance and skewness of the estimate under each hypothesis about the mean.

Under the hypothesis that the mean is m, with S the average of s(c) = E[y^2 | c] over the users,

    n Var = S - f avg(c^2) - (1 - f) m^2,

f = 1 for the users at hand, whose values are fixed, f = 0 for a population, and n/N when n users were drawn
from the N of interest. S is observed, and moved to what a mean of m allows. For a population, a hypothesis
beyond the estimate also changes S: it is mixed with the end of the range it lies towards, by the share that
moves the mean from the estimate to m; users whom nobody of the sample resembles count only so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.curves import Curves, ReportSums
from mechdesign.collect.intervals import (
    AverageLaw,
    BinomialLimits,
    law_of_average,
    not_rejected,
    score_distances,
)

Array = NDArray[np.float64]

FEWEST = 30
"""Coverage of the score limits is measured from this number of reports on."""

MAY_MISS = "the interval may miss the mean more often than stated"


@dataclass(frozen=True, eq=False)
class ScoreLimits:
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

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimate."""
        down, up = score_distances(self.law, self.standard_error(), tail)
        return down + self.rounding, up + self.rounding

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches so far."""
        distance = np.maximum(np.abs(difference) - self.rounding, 0.0)
        return not_rejected(self.law(distance, np.sign(difference)), distance, tail)

    def standard_error(self) -> Array:
        """Return the standard deviation of the estimate under the hypothesis that it is right."""
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
        drawn = np.where(count > 1.0, (1.0 - share) * spread, np.where(share < 1.0, np.inf, 0.0))
        second = sums.square + drawn
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
        """Return the distribution of the estimate under hypotheses at a distance from it."""
        places, share = self.curves.places, np.asarray(self.sums.share, dtype=np.float64)
        hypothesis = self.sums.mean + side * distance
        m = np.clip(hypothesis, places[0], places[-1])
        variance, values = self._moments(hypothesis)
        noise, fourth = self.curves.cumulants(m)
        towards = np.where(side > 0, m - places[0], places[-1] - m)
        spread = np.divide(values, 1.0 - share, out=np.zeros_like(m), where=share < 1.0)
        drawn = spread * (towards - np.divide(spread, towards, out=np.zeros_like(m), where=towards > 0.0))
        third = (-side * noise).max(axis=0) + np.maximum((1.0 - share) * (1.0 - 2.0 * share), 0.0) * drawn
        count = np.asarray(self.sums.count)
        freedom = np.where(share < 1.0, np.maximum(count - 1.0, 1.0), np.inf)
        fourth = fourth.max(axis=0)
        step = self.curves.step_at(variance, fourth)
        return law_of_average(count, variance, third, fourth, step, freedom)


@dataclass(frozen=True, eq=False)
class ColumnLimits:
    """The limits of many columns, each in its own units; where nothing is known, those of the whole range.

    Parameters
    ----------
    limits : ScoreLimits or BinomialLimits
    factor : (m,) array
        The units of the columns in those of ``limits``.
    unknown : (m,) bool array
    half : (m,) array
        Half the widths of the ranges.
    """

    limits: ScoreLimits | BinomialLimits
    factor: Array
    unknown: NDArray[np.bool_]
    half: Array

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimates."""
        down, up = (self._known(distance) for distance in self.limits.distances(tail))
        return down, up

    def standard_error(self) -> Array:
        """Return the standard errors; half the range, the largest error possible, where nothing is known."""
        return self._known(self.limits.standard_error())

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the intervals reach so far."""
        distance = np.divide(difference, self.factor, out=np.zeros_like(self.half), where=~self.unknown)
        known = self.limits.reach(distance, tail)
        reached: NDArray[np.bool_] = np.where(self.unknown, np.abs(difference) <= self.half, known)
        return reached

    def _known(self, distance: Array) -> Array:
        known: Array = np.where(self.unknown, self.half, distance * self.factor)
        return known


def few_reports(limits: ScoreLimits | BinomialLimits) -> tuple[str, ...]:
    """Return the note for an interval whose coverage is not promised."""
    if isinstance(limits, BinomialLimits) or limits.sums.count >= FEWEST:
        return ()
    return (f"fewer than {FEWEST} reports: {MAY_MISS}",)
