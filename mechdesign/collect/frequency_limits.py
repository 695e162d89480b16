"""Confidence limits of frequencies, quantiles and noisy sums, and notes on estimates that cannot be true.

The estimate of the frequency f of an answer is an average of scores, E[score] = 1 for a user who gave the
answer and 0 for all others. Under the hypothesis f the first three cumulants of a score are therefore known:

- users at hand: a share f has the cumulants of ``own``, the rest those of ``others``;
- a population: the users are a draw, and the score is a mixture of the two.

``others`` averages over the other answers by their estimated frequencies; for a k-ary response it is the same
for all of them, except for the one that the others are mapped to.

The law of a noisy sum of rounded numbers depends on all numbers, of which only the sum is asked for. Its
second to fourth cumulants are taken at their largest over all data, the third one in both directions: where
the data are others, the intervals are wider than need be.

An interval of a quantile holds the values whose cumulative share may be that of the quantile, by the test of
the share. An estimate far outside of where the truth must lie belongs to other reports.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import (
    AverageLaw,
    Limits,
    ScoreTestLimits,
    law_of_average,
    rare_step,
    score_distances,
)

Array = NDArray[np.float64]

FEWEST = 30
"""Coverage of the limits is measured from this number of users on."""


class AverageLimits(ScoreTestLimits):
    """The limits of the score test for averages of independent scores of users, one estimate each.

    A subclass is a dataclass with the fields below.

    Attributes
    ----------
    value : (n,) array
        The estimates.
    users : int
    step : (n,) array or float
        The distance of two sums of scores next to each other; 0 where scores are of many kinds.
    population : bool
    """

    value: Array
    users: int
    step: Any
    population: bool

    @abstractmethod
    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of a score under possible hypotheses."""

    def _possible(self, hypothesis: Array) -> Array:
        """Return hypotheses moved to what is possible: of shares, from 0 to 1."""
        return np.clip(hypothesis, 0.0, 1.0)

    def law(self, distance: Array, side: Array) -> AverageLaw:
        second, third, fourth = self._cumulants(self._possible(self.value + side * distance))
        freedom = self.users - 1.0 if self.population and self.users > 1 else np.inf
        step = rare_step(self.step, second, fourth)
        return law_of_average(self.users, second, -side * third, fourth, step, freedom)


class MixtureLimits(AverageLimits):
    """Limits for users of several kinds, of whom a hypothesis says how many there are of each.

    A subclass states the cumulants of a score under a hypothesis as they are for users at hand, whose answers
    are fixed; for a population its moments about 0, as the users are then a draw and the scores a mixture.
    """

    @abstractmethod
    def _parts(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        """Return the cumulants of a score, averaged over users; for a population its moments about 0."""

    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        second, third, fourth = self._parts(hypothesis)
        if self.population:
            second, third, fourth = cumulants(hypothesis, second, third, fourth)
        return np.maximum(second, 0.0), third, fourth


@dataclass(frozen=True, eq=False)
class FrequencyLimits(MixtureLimits):
    """The limits of the score test for one frequency each.

    Parameters
    ----------
    value : (n,) array
    users : int
    own, others, worst : (3, n) array
        Second, third and fourth moments of the score for users who gave the answer, for the others on
        average, and for that other answer at which the second moment is largest.
    step : (n,) array
        The distance of two sums of scores next to each other; 0 where scores are of many kinds.
    population : bool
    """

    value: Array
    users: int
    own: Array
    others: Array
    worst: Array
    step: Array
    population: bool

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to [0, 1].

        Where these say that nothing is random, one user of n + 1 is taken to have given the answer (or not).
        """
        edge = 1.0 / (self.users + 1.0)
        variance = self._cumulants(np.clip(self.value, 0.0, 1.0))[0]
        inside = self._cumulants(np.clip(self.value, edge, 1.0 - edge))[0]
        errors: Array = np.sqrt(np.where(variance > 0.0, variance, inside) / self.users)
        return errors

    def at(self, index: NDArray[np.int64]) -> FrequencyLimits:
        """Return the limits of the answers at these indices."""
        own, others, worst = (moments[:, index] for moments in (self.own, self.others, self.worst))
        value, step = self.value[index], self.step[index]
        return FrequencyLimits(value, self.users, own, others, worst, step, self.population)

    @cached_property
    def _curves(self) -> Array:
        """Return the linear parts of cumulants by moment, kind of user and answer (population: moments)."""
        curves = np.stack([self.own, self.others, self.worst], axis=1)
        if self.population:
            return curves
        means = np.array([1.0, 0.0, 0.0]).reshape(-1, *(1 for _ in curves.shape[2:]))
        return np.stack(cumulants(means, *curves))

    def _parts(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        moved = np.maximum(np.clip(self.value, 0.0, 1.0) - hypothesis, 0.0)
        rest = 1.0 - hypothesis - moved
        second, third, fourth = (
            hypothesis * own + rest * others + moved * worst for own, others, worst in self._curves
        )
        return second, third, fourth


@dataclass(frozen=True, eq=False)
class RepeatedLimits(Limits):
    """Limits that many answers share: those of ``limits`` at the places ``index``."""

    limits: FrequencyLimits
    index: NDArray[np.int64]

    def at(self, index: NDArray[np.int64]) -> RepeatedLimits:
        """Return the limits of the answers at these indices."""
        unique, place = np.unique(self.index[index], return_inverse=True)
        return RepeatedLimits(self.limits.at(unique), place.ravel())

    def distances(self, tail: float) -> tuple[Array, Array]:
        down, up = self.limits.distances(tail)
        return down[self.index], up[self.index]

    def widest(self, tail: float) -> Array:
        """Return upper bounds of the widths of the intervals, without searching for them."""
        return self.limits.widest(tail)[self.index]

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        return self.limits.at(self.index).reach(difference, tail)


def cumulants(mean: Array | float, second: Array, third: Array, fourth: Array) -> tuple[Array, Array, Array]:
    """Return the second to fourth cumulants, given the mean and the moments about 0."""
    variance = second - mean**2
    central = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4
    return variance, third - 3.0 * mean * second + 2.0 * mean**3, central - 3.0 * variance**2


def quantile_ends(value: Array, limits: Limits, share: float, tail: float) -> tuple[int, int]:
    """Return the first and the last category that a quantile may be.

    A category j is possible when the share below j may be less than ``share`` and the share up to j may be at
    least that (Woodruff 1952): a test of one category, so no correction for their number is needed. Only
    ``share`` itself is tested, so the limits of the cumulative shares need not be searched for.

    Parameters
    ----------
    value : (k - 1,) array
        The estimated share up to each category but the last one.
    limits : Limits
        Those of the estimates.
    share : float
    tail : float
        The probability of each side.

    Examples
    --------
    >>> from mechdesign.collect.intervals import NormalLimits
    >>> quantile_ends(np.array([0.2, 0.5, 0.8]), NormalLimits(0.05), 0.5, 0.025)
    (1, 2)
    """
    maybe = limits.reach(share - value, tail)
    below, above = np.append(True, (value <= share) | maybe), np.append((value >= share) | maybe, True)
    possible = np.flatnonzero(below & above)
    return int(possible.min()), int(possible.max())


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


FAR = 5.0
"""Largest possible standard errors outside of what is possible from which an estimate is flagged.

For a normal estimate the chance is below 1e-6, whatever the data.
"""


def implausible(
    names: Sequence[str], value: Any, error: Any, low: Any, high: Any, users: Any = FEWEST
) -> tuple[str, ...]:
    """Return a note when estimates lie many standard errors outside of what is possible, naming the worst.

    Parameters
    ----------
    names : sequence of str
        What each estimate is of.
    value, error : (n,) array
        Estimates, and the largest standard errors they can have.
    low, high : float or (n,) array
        Between which the truth lies.
    users : int or (n,) array
        How many reports each rests on.

    Examples
    --------
    >>> for note in implausible(["no", "yes"], [1.6, -0.6], [0.01, 0.01], 0.0, 1.0):
    ...     print(note)
    2 estimates are impossible, the worst 'no' with 1.6 (60 standard errors above 1): are these its reports?
    >>> implausible(["no", "yes"], [1.02, -0.02], [0.01, 0.01], 0.0, 1.0)
    ()
    """
    estimates, errors = np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(error, float))
    if not ((estimates < low) | (estimates > high)).any():
        return ()
    bounds = [np.broadcast_to(np.asarray(end, float), estimates.shape) for end in (low, high)]
    outside = np.maximum(bounds[0] - estimates, estimates - bounds[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(errors > 0.0, outside / errors, np.where(outside > 0.0, np.inf, 0.0))
    far = np.where(np.broadcast_to(np.asarray(users), far.shape) >= FEWEST, far, 0.0)
    wrong = far > FAR
    if not wrong.any():
        return ()
    worst = int(np.argmax(far))
    below = estimates[worst] < bounds[0][worst]
    where = f"below {bounds[0][worst]:g}" if below else f"above {bounds[1][worst]:g}"
    head = "the estimate is" if len(estimates) == 1 else f"{int(wrong.sum())} estimates are"
    whose = "" if len(estimates) == 1 else f" the worst '{names[worst]}' with"
    return (
        f"{head} impossible,{whose} {estimates[worst]:.4g} ({far[worst]:.0f} standard errors {where}): "
        "are these its reports?",
    )
