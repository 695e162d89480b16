"""The unbiased frequency estimator of a k-ary response, with its variance, in O(n).

A kept answer j other than the shared delegate reports itself with own + high and all others report it
with low; an answer that is not kept reports itself with own. So both kinds are shifted and scaled shares
of reports, and the delegate's frequency is what is left of 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.randomness import TOTAL

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class KaryEstimator:
    """Estimates frequencies from the shares of reports.

    Parameters
    ----------
    own, high, low : int
        The integer weights of the channel.
    kept : (k,) int array
        The kept answers, the shared delegate first.
    outside : int array
        The other answers.
    """

    own: int
    high: int
    low: int
    kept: Index
    outside: Index

    @property
    def gain(self) -> float:
        """How much likelier a kept answer is reported by itself than by another; differences of integers."""
        return (self.own + self.high - self.low) / TOTAL if len(self.kept) > 1 else 1.0

    def estimate(self, shares: Array, population: bool) -> tuple[Array, Array]:
        """Return the unbiased estimates and their variances for one user, each of shape (n,).

        Parameters
        ----------
        shares : (n,) array
            Of each report among all reports.
        population : bool
            Whether the users count as a random draw from the population of interest.
        """
        own, high, low = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL
        value, variance = np.empty(len(shares)), np.empty(len(shares))
        delegate, others = int(self.kept[0]), self.kept[1:]
        value[others] = (shares[others] - low) / self.gain
        spread = _indicator_variance(value[others], shares[others], own + high, low, population)
        variance[others] = spread / self.gain**2
        if len(self.outside):
            value[self.outside] = shares[self.outside] / own
            spread = _indicator_variance(value[self.outside], shares[self.outside], own, 0.0, population)
            variance[self.outside] = spread / own**2
        value[delegate] = 1.0 - math.fsum(value[others]) - math.fsum(value[self.outside])
        variance[delegate] = self._of_reports(value)
        if population:
            variance[delegate] = max(variance[delegate], self._of_draw(shares))
        return value, variance

    def typical_variance(self) -> float:
        """Return the largest variance of a category for one of many users who answer evenly."""
        size = len(self.kept) + len(self.outside)
        shares = np.full(size, self.own / TOTAL / size)
        shares[self.kept] += self.low / TOTAL + (self.high - self.low) / TOTAL / size
        shares[self.kept[0]] += (self.high - self.low) / TOTAL * len(self.outside) / size
        return float(self.estimate(shares, False)[1].max())

    def largest_variance(self) -> float:
        """Return the largest variance of a category for one user, over all answers."""
        own, high, low = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL
        found = list(self._by_answer())
        if len(self.kept) > 1:
            found += [chance * (1.0 - chance) / self.gain**2 for chance in (own + high, low)]
        if len(self.outside):
            found.append((1.0 - own) / own)
        return max(found)

    def _scores(self) -> tuple[float, float]:
        """Return the scores of a kept report and of one that is not kept; that of the delegate is 0.

        The delegate's estimate is a constant minus the average score.
        """
        own = self.own / TOTAL
        return 1.0 / self.gain, 1.0 / own if own and len(self.outside) else 0.0

    def _of_reports(self, value: Array) -> float:
        """Return the variance of one user's score for the users at hand."""
        kept_answers = min(1.0, max(0.0, math.fsum(value[self.kept[1:]])))
        outside_answers = min(1.0 - kept_answers, max(0.0, math.fsum(value[self.outside])))
        weights = (1.0 - kept_answers - outside_answers, kept_answers, outside_answers)
        return sum(weight * part for weight, part in zip(weights, self._by_answer(), strict=True))

    def _by_answer(self) -> tuple[float, float, float]:
        """Return the variance of the score of one who answers the delegate, another kept answer, another."""
        own, high, low, k = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL, len(self.kept)
        kept_score, outside_score = self._scores()
        chance_kept = (k - 1) * low  # of a report among the kept ones other than the delegate

        def variance(kept_chance: float, outside_chance: float) -> float:
            mean = kept_chance * kept_score + outside_chance * outside_score
            return kept_chance * kept_score**2 + outside_chance * outside_score**2 - mean**2

        return (
            variance(chance_kept, 0.0),
            variance(own + high + (k - 2) * low, 0.0) if k > 1 else 0.0,
            variance(chance_kept, own) if len(self.outside) else 0.0,
        )

    def _of_draw(self, shares: Array) -> float:
        """Return the variance of one user's score for users drawn at random."""
        kept_score, outside_score = self._scores()
        share_kept = max(0.0, math.fsum(shares[self.kept[1:]]))
        share_outside = max(0.0, math.fsum(shares[self.outside]))
        mean = share_kept * kept_score + share_outside * outside_score
        return share_kept * kept_score**2 + share_outside * outside_score**2 - mean**2


def _indicator_variance(
    value: Array, shares: Array, inside: float, outside: float, population: bool
) -> Array:
    """Return the variance of one user's indicator of a report.

    A draw of users adds variance; reports that happen to be all alike must not hide that of the reports.
    """
    likely = np.clip(value, 0.0, 1.0)
    of_reports: Array = likely * inside * (1.0 - inside) + (1.0 - likely) * outside * (1.0 - outside)
    return np.maximum(shares * (1.0 - shares), of_reports) if population else of_reports
