"""Confidence limits of averages of coins: exact for a binomial share, of many reports those of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.collect.intervals import Array, AverageLaw, Limits, law_of_average


@dataclass(frozen=True)
class BinomialLimits(Limits):
    """Exact limits for a count, mapped to the estimate's units.

    Parameters
    ----------
    count, trials : int or array
    factor : float or array
        Units of the estimate for a probability of 1; positive.
    least, most : float
        What the chance is known to be between; the limits do not use it, the standard error does.
    """

    count: Any
    trials: Any
    factor: Any
    least: float = 0.0
    most: float = 1.0

    def standard_error(self) -> Array:
        """Return that of a binomial share, moved to what is possible and 1/(n + 1) away from 0 and 1."""
        edge = 1.0 / (np.asarray(self.trials) + 1.0)
        share = np.asarray(self.count) / self.trials
        share = np.clip(share, np.maximum(self.least, edge), np.minimum(self.most, 1.0 - edge))
        error: Array = np.sqrt(share * (1.0 - share) / self.trials) * self.factor
        return error

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the estimate under hypotheses at distances from it, on the sides -1 and 1."""
        p = np.clip(np.asarray(self.count) / self.trials + side * distance / self.factor, 0.0, 1.0)
        variance = p * (1.0 - p)
        third, fourth = variance * (1.0 - 2.0 * p), variance * (1.0 - 6.0 * variance)
        return law_of_average(self.trials, variance, -side * third, fourth, 1.0).scaled(self.factor)

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of Clopper and Pearson's limits from the share."""
        low, high = binomial_limits(self.count, self.trials, tail)
        share = np.asarray(self.count) / self.trials
        down, up = (np.maximum(distance, 0.0) * self.factor for distance in (share - low, high - share))
        return down, up


def binomial_limits(count: Any, trials: Any, tail: float) -> tuple[Array, Array]:
    """Return the limits of Clopper and Pearson for a probability.

    Examples
    --------
    >>> low, high = binomial_limits(0, 10, 0.025)
    >>> float(low), round(float(high), 4)  # 1 - 0.025**(1/10)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    hits, misses = np.asarray(count, dtype=np.float64), np.asarray(trials) - np.asarray(count, dtype=float)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 0.5), misses + 1.0, tail), 0.0)
    high = np.where(misses > 0, 1.0 - betaincinv(np.maximum(misses, 0.5), hits + 1.0, tail), 1.0)
    return low, high
