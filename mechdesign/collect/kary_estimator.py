"""The unbiased frequency estimator of a k-ary response, with its variance, in O(n).

A kept answer j other than the shared delegate reports itself with own + high and all others report it
with low; an answer that is not kept reports itself with own. So both kinds are shifted and scaled shares
of reports, and the delegate's frequency is what is left of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.tables import require_no_mask
from mechdesign.core.values import frozen_value
from mechdesign.exact.randomness import TOTAL

if TYPE_CHECKING:
    from mechdesign.collect.frequency_limits import RepeatedLimits

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@frozen_value()
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
        """Difference of the probabilities of the own report and of another one; of integers."""
        return (self.own + self.high - self.low) / TOTAL if len(self.kept) > 1 else 1.0

    def estimate(self, counts: NDArray[np.int64], population: bool) -> tuple[Array, Array, RepeatedLimits]:
        """Return the unbiased estimates, their standard errors and limits, for n answers.

        Answers of one kind with equal counts share their limits.

        Parameters
        ----------
        counts : (n,) int array
            Of each report.
        population : bool
            Whether the users count as a random draw from the population of interest.
        """
        from mechdesign.collect.frequency_limits import FrequencyLimits, RepeatedLimits

        require_no_mask(counts, "counts")
        users = int(counts.sum())
        (inner, outside), index, delegate = self._kinds(counts), np.empty(len(counts), dtype=np.int64), 0
        values, moments, steps, shares = [], [], [], []
        for members, numbers, place, start, factor, chance in (inner, outside):
            value = (numbers / users - start) / factor
            scores = np.array([-start / factor, (1.0 - start) / factor])
            mine, theirs = (power_means(scores, [1.0 - hit, hit]) for hit in (chance, start))
            index[members] = delegate + place
            delegate += len(numbers)
            values.append(value)
            moments.append(np.repeat(np.stack([mine, theirs, theirs])[:, :, None], len(numbers), axis=2))
            steps.append(np.full(len(numbers), np.ptp(scores)))
            shares.append(math.fsum(value[place]))
        index[self.kept[0]] = delegate
        both, last = self._delegate(*shares)
        value = np.concatenate([*values, [1.0 - math.fsum(shares)]])
        own, others, worst = np.concatenate([*moments, both[:, :, None]], axis=2)
        step = np.concatenate([*steps, [last]])
        limits = FrequencyLimits(value, users, own, others, worst, step, population)
        return value[index], limits.standard_error()[index], RepeatedLimits(limits, index)

    def _kinds(self, counts: Index) -> list[tuple[Index, Index, Index, float, float, float]]:
        """Return for the kept answers but the delegate, and for those that are not kept, what estimates need.

        These are: which they are, their different counts and where each is among them, the chance that
        another answer is reported so, the gain over it, and the chance of a true report.
        """
        low, own = self.low / TOTAL, self.own / TOTAL
        kinds = []
        for members, start, factor, chance in (
            (self.kept[1:], low, self.gain, own + self.high / TOTAL),
            (self.outside, 0.0, own or 1.0, own),
        ):
            numbers, place = np.unique(counts[members], return_inverse=True)
            kinds.append((members, numbers, place.ravel(), start, factor, chance))
        return kinds

    def typical_variance(self) -> float:
        """Return the largest variance of a category's score for one of many users who answer evenly."""
        (inner, outside), by_answer = self._by_report(), self._by_answer()
        part = 1.0 / (len(self.kept) + len(self.outside))
        parts = [part * mine + (1.0 - part) * theirs for mine, theirs in (inner, outside)]
        weights = (1.0, len(self.kept) - 1.0, float(len(self.outside)))
        parts.append(part * sum(weight * one for weight, one in zip(weights, by_answer, strict=True)))
        return max(parts)

    def largest_variance(self) -> float:
        """Return the largest variance of a category's score for one user, over all answers."""
        inner, outside = self._by_report()
        return max(*inner, *outside, *self._by_answer())

    def _by_report(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the variance of the score of a kept answer, and of another, for who gave it and who did not.

        The delegate's is not among them; 0 where there is no such answer.
        """
        own, high, low = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL
        inner = outside = (0.0, 0.0)
        if len(self.kept) > 1:
            true, false = own + high, low
            inner = true * (1.0 - true) / self.gain**2, false * (1.0 - false) / self.gain**2
        if len(self.outside):
            outside = (1.0 - own) / own, 0.0
        return inner, outside

    def _by_answer(self) -> tuple[float, float, float]:
        """Return the variance of the delegate's score for who answers it, another kept answer, another."""
        own, high, low, k = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL, len(self.kept)
        kept_score, outside_score = 1.0 / self.gain, 1.0 / own if own and len(self.outside) else 0.0
        chance_kept = (k - 1) * low  # of a report among the kept ones other than the delegate

        def variance(kept_chance: float, outside_chance: float) -> float:
            mean = kept_chance * kept_score + outside_chance * outside_score
            return kept_chance * kept_score**2 + outside_chance * outside_score**2 - mean**2

        return (
            variance(chance_kept, 0.0),
            variance(own + high + (k - 2) * low, 0.0) if k > 1 else 0.0,
            variance(chance_kept, own) if len(self.outside) else 0.0,
        )

    def _delegate(self, inner: float, outside: float) -> tuple[Array, float]:
        """Return moments (3, 3) and the step of the delegate's score: own, of the others, and of the worst.

        Parameters
        ----------
        kept, outside : float
            The estimated shares of the other kept answers and of those that are not kept.
        """
        from mechdesign.collect.frequency_limits import score_steps

        own, low, k = self.own / TOTAL, self.low / TOTAL, len(self.kept)
        top = 1.0 + (k - 1) * low / self.gain
        scores = np.array([top, top - 1.0 / self.gain, top - (1.0 / own if len(self.outside) else 0.0)])
        rest = (k - 1) * low  # the chance of a report among the kept ones other than the delegate
        mine = power_means(scores, [1.0 - rest, rest, 0.0])
        theirs = power_means(scores, [low, 1.0 - low, 0.0])
        dropped = power_means(scores, [1.0 - own - rest, rest, own])
        likely, unlikely = max(inner, 0.0), max(outside, 0.0)
        if likely + unlikely == 0.0:
            likely, unlikely = float(k - 1), float(len(self.outside))
        total = likely + unlikely
        mixed = (likely * theirs + unlikely * dropped) / total if total else np.zeros(3)
        worst = dropped if len(self.outside) else theirs if k > 1 else np.zeros(3)
        columns = scores if len(self.outside) else scores[:2]
        return np.stack([mine, mixed, worst]), float(score_steps(columns[None])[0])


def power_means(scores: Array, chances: Sequence[float]) -> Array:
    """Return the second, third and fourth moments of scores with these probabilities, shape (3,).

    Examples
    --------
    >>> power_means(np.array([-1.0, 2.0]), [0.5, 0.5])
    array([2.5, 3.5, 8.5])
    """
    moments: Array = np.stack([scores**power for power in (2, 3, 4)]) @ np.asarray(chances)
    return moments


def split_weights(rest: int, kept: int, exponential: Fraction) -> tuple[int, int]:
    """Return (low, high) with high + (kept - 1) low = rest and high <= E low."""
    low = math.ceil(rest / (exponential + kept - 1))
    return low, rest - (kept - 1) * low
