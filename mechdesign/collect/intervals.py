"""Confidence limits by inverting a score test of sums of independent scores; those of frequencies.

The interval of level 1 - 2 t holds every hypothesis under which neither tail, at or beyond what was
observed, has a chance below t.

The sum has, under the hypothesis, a known mean and a variance and a third moment that
are known or bounded given the hypothesis; its law is taken as Pearson's type III (a shifted gamma) with these
three, which is the normal one without skewness, nearly Poisson's for rare reports of one size, and between
them in general. Half a step (the distance of two sums next to each other, or third moment over variance,
which is the size of a rare report) is taken off the observed distance, as for every continuous law that
stands for a discrete one. The moments are those of the *hypothesis*, not of the estimate: near an end of the
range a report is rare under the hypothesis and perhaps absent among those observed.

The estimate of the frequency f of an answer is an average of scores, E[score] = 1 for a user who gave the
answer and 0 for all others. Under the hypothesis f the first three cumulants of a score are therefore known:

- users at hand: a share f has the cumulants of ``own``, the rest those of ``others``;
- a population: the users are a draw, and the score is a mixture of the two.

``others`` averages over the other answers by their estimated frequencies; for a k-ary response it is the same
for all of them, except for the one that the others are mapped to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.validation import in_range
from mechdesign.core.values import changed, frozen_value

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
    from mechdesign.exact.gamma import gamma_tail  # not where a mechanism is only built

    chance = np.empty(np.shape(distance))
    chance[~skewed] = tail_chance(distance[~skewed], skewness[~skewed])
    size = np.abs(skewness[skewed])
    shape = 4.0 / size**2
    above = skewness[skewed] > 0.0
    place = shape + np.where(above, 1.0, -1.0) * distance[skewed] * (2.0 / size)
    chance[skewed] = gamma_tail(shape, np.maximum(place, 0.0), above)
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
        with suppress(ImportError):  # on a light server the standard library takes longer
            from scipy.special import ndtr

            return np.asarray(ndtr(-place))
    values = [0.5 * math.erfc(each * math.sqrt(0.5)) for each in place.ravel().tolist()]
    return np.array(values, dtype=np.float64).reshape(place.shape)


STEPS = 32
"""Halvings of a bracket: the limits are then known to 2**-32 of their distance from the estimate."""

TOGETHER = 256
"""Most hypotheses that are tested in one call: a call with this many takes hardly longer than with one."""

ROUNDING = 1e-15
"""Variances of scores near 1 below this are rounding errors, as are other cumulants next to them."""

DOUBLINGS = 200
"""A bracket is doubled at most this often."""


class Limits(ABC):
    """Distances of the limits of an interval from the estimate."""

    @abstractmethod
    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances down and up, each >= 0, for the probability ``tail`` of each side."""

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches truths with this difference from the estimate.

        The same as comparing with the distances; where these are searched for, a test is quicker.
        """
        return within(difference, *self.distances(tail))


def tail_of(level: float, tests: int = 1) -> float:
    """Return the probability of each side for intervals of a level in (0, 1), all of ``tests`` together.

    Examples
    --------
    >>> round(tail_of(0.95), 6)
    0.025
    """
    checked = in_range("level", level, 0.0, 1.0, low_open=True, high_open=True)
    return (1.0 - checked) / (2.0 * tests)


def normal_quantile(share: float) -> float:
    """Return the number that a standard normal variable is below with this probability."""
    from statistics import NormalDist  # building a mechanism needs none

    return NormalDist().inv_cdf(share)


@frozen_value()
class NormalLimits(Limits):
    """A normal quantile times the standard error."""

    standard_error: Any

    def distances(self, tail: float) -> tuple[Array, Array]:
        width = -normal_quantile(tail) * np.asarray(self.standard_error)
        return width, width


@frozen_value(eq=False)
class ScalarLimits(Limits):
    """The limits of a single mean, as numbers."""

    limits: Limits

    def distances(self, tail: float) -> tuple[Any, Any]:
        down, up = self.limits.distances(tail)
        return down[0], up[0]

    def reach(self, difference: Any, tail: float) -> NDArray[np.bool_]:
        reached: NDArray[np.bool_] = self.limits.reach(np.atleast_1d(difference), tail)[0]
        return reached


def within(difference: Array, down: Array, up: Array) -> NDArray[np.bool_]:
    """Return whether differences from the estimate lie between the limits."""
    inside: NDArray[np.bool_] = (-down <= difference) & (difference <= up)
    return inside


@frozen_value()
class AverageLaw:
    """The distribution of an estimate under hypotheses: what the score test compares the distance with.

    Attributes
    ----------
    deviation : array
    skewness : array
        Towards the estimate: positive when the tail that the estimate lies in is the longer one.
    kurtosis : array
        The excess beyond that of a Pearson type III law with this skewness.
    half_step : array
    freedom : float or array
        Degrees of freedom of an estimated variance; infinite where it is known.
    """

    deviation: Array
    skewness: Array
    kurtosis: Array
    half_step: Array
    freedom: Any = np.inf

    def scaled(self, factor: Any) -> AverageLaw:
        """Return the distribution of a multiple of the estimate, with a positive factor."""
        return changed(self, deviation=self.deviation * factor, half_step=self.half_step * factor)


def law_of_average(
    count: Any, variance: Array, third: Array, fourth: Array, step: Any, freedom: Any = np.inf
) -> AverageLaw:
    """Return the distribution of an average of ``count`` independent scores with these cumulants and step.

    A tail that is shorter than the normal one is taken for normal: small noise may still reach
    beyond the end that a shifted gamma has on that side.
    """
    safe = np.where(variance > 0.0, variance, 1.0)
    skewness = third / (safe**1.5 * np.sqrt(count))
    kurtosis = np.maximum(fourth / (safe**2 * count) - 1.5 * skewness**2, 0.0)
    half = np.maximum(step, np.maximum(third, 0.0) / safe) / (2.0 * np.asarray(count))
    return AverageLaw(np.sqrt(variance / count), np.maximum(skewness, 0.0), kurtosis, half, freedom)


def rare_step(step: Any, variance: Array, fourth: Array) -> Array:
    """Return the distance of two sums next to each other, for scores of a few kinds.

    At least the size of a rare report, which the fourth cumulant over the second one tells also where rare
    reports of both signs leave no skewness.

    Examples
    --------
    >>> rare_step(0.0, np.array([0.02]), np.array([0.02]))  # +1 or -1, each with a chance of 1%
    array([1.])
    """
    square = np.divide(fourth, variance, out=np.zeros_like(variance), where=variance > ROUNDING)
    result: Array = np.maximum(step, np.sqrt(np.maximum(square, 0.0)))
    return result


def not_rejected(law: AverageLaw, distance: Array, tail: float) -> NDArray[np.bool_]:
    """Return the hypotheses at a distance from the estimate that the score test does not reject.

    Kurtosis enters as in the expansion of Cornish and Fisher, an estimated variance as in that of Student's
    law: the quantile z grows by (z^3 - 3 z) kurtosis/24 and (z^3 + z)/(4 freedom); distances count for less.
    """
    square = normal_quantile(tail) ** 2
    heavier, student = max(0.0, square - 3.0) / 24.0, (square + 1.0) / 4.0
    rest = np.maximum(distance - law.half_step, 0.0)
    scale = law.deviation * (1.0 + heavier * law.kurtosis + student / law.freedom)
    standard = np.divide(rest, scale, out=np.where(rest > 0.0, np.inf, 0.0), where=scale > 0.0)
    accepted: NDArray[np.bool_] = (rest == 0.0) | (tail_chance(standard, law.skewness) >= tail)
    return accepted


def score_distances(
    law: Callable[[Array, Array], AverageLaw], start: Array, tail: float
) -> tuple[Array, Array]:
    """Return the distances below and above the estimate at which the score test begins to reject.

    The distance is doubled until it is rejected, then bisected; the next halvings of small arrays are
    tested together, which gives the same limits sooner.

    Parameters
    ----------
    law : callable
        The law under the hypotheses at distances (..., 2, ...) from the estimate, on the sides -1 and 1.
        The axes before that of the sides, if any, are of many distances for one estimate.
    start : array
        A guess of the distance, of the shape of the results.
    tail : float
    """
    guess = np.asarray(start, dtype=np.float64)
    side = _sides(guess)

    def accepted(distance: Array) -> NDArray[np.bool_]:
        return not_rejected(law(distance, side), distance, tail)

    outside = np.stack([np.maximum(guess, np.finfo(np.float64).tiny)] * 2)
    inside = np.zeros_like(outside)
    for _ in range(DOUBLINGS):
        more = accepted(outside)
        if not more.any():
            break
        inside, outside = np.where(more, outside, inside), np.where(more, 2.0 * outside, outside)
    left = STEPS
    while left:
        levels = min(left, halvings_together(outside.size))
        inside, outside = bisected(accepted, inside, outside, levels)
        left -= levels
    return outside[0], outside[1]


def _sides(values: Array) -> Array:
    """Return -1 and 1 along an axis before those of the values."""
    return np.array([-1.0, 1.0]).reshape(2, *(1 for _ in values.shape))


def halvings_together(size: int) -> int:
    """Return the number of halvings to test in one call, given the number of brackets.

    Examples
    --------
    >>> [halvings_together(size) for size in (2, 20, 100, 10**6)]
    [7, 3, 1, 1]
    """
    return max(1, (TOGETHER // max(size, 1)).bit_length() - 1)


def bisected(
    accepted: Callable[[Array], NDArray[np.bool_]], inside: Array, outside: Array, levels: int
) -> tuple[Array, Array]:
    """Return the brackets after ``levels`` halvings, testing all possible midpoints in one call.

    Parameters
    ----------
    accepted : callable
        Which of the distances, along a first axis, are not rejected.
    inside, outside : array
        The ends of the brackets; those inside are accepted, those outside rejected.
    levels : int
        Number of halvings.
    """
    if levels == 1:
        middle = (inside + outside) / 2.0
        further = accepted(middle)
        return np.where(further, middle, inside), np.where(further, outside, middle)
    width = 2**levels
    ends = np.empty((width + 1, inside.size))
    ends[0], ends[-1] = inside.ravel(), outside.ravel()
    for halving in range(levels):
        apart = width >> halving
        ends[apart // 2 :: apart] = (ends[:-1:apart] + ends[apart::apart]) / 2.0
    inside_set = accepted(ends[1:-1].reshape(-1, *inside.shape)).reshape(-1, inside.size)
    brackets = np.arange(inside.size)
    place = np.zeros(inside.size, dtype=np.intp)
    for halving in range(levels):
        apart = width >> halving
        place += apart // 2 * inside_set[place + apart // 2 - 1, brackets]
    low, high = (ends[index, brackets].reshape(inside.shape) for index in (place, place + 1))
    return low, high


class ScoreTestLimits(Limits):
    """Limits by inverting score tests: those hypotheses that the estimate does not reject.

    A subclass has the law of the estimate under hypotheses, and standard errors from which the search starts;
    ``rounding`` is how far the estimate may be off by rounding reports before they were added.
    """

    rounding: float = 0.0

    @abstractmethod
    def standard_error(self) -> Array:
        """Return the standard errors."""

    @abstractmethod
    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law under the hypotheses at distances from the estimate, on the sides -1 and 1."""

    @cached_property
    def _searched(self) -> dict[float, tuple[Array, Array]]:
        return {}

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimates; searched for once a tail."""
        if tail not in self._searched:
            start = np.maximum(self.standard_error(), np.finfo(np.float64).tiny)
            self._searched[tail] = score_distances(self.law, start, tail)
        down, up = self._searched[tail]
        return down + self.rounding, up + self.rounding

    def widest(self, tail: float) -> Array:
        """Return upper bounds of the widths of the intervals, by the first steps of the search alone.

        The search doubles its start up to a distance that is rejected, and then halves: for the first four
        multiples of the start their verdicts are all it looks at. Infinite where an interval is wider.
        """
        start = np.maximum(self.standard_error(), np.finfo(np.float64).tiny)
        side, multiples = _sides(start), np.array([1.0, 2.0, 3.0, 4.0])
        distance = np.multiply.outer(multiples, np.stack([start, start]))
        one, two, three, four = ~not_rejected(self.law(distance, side), distance, tail)
        most = np.select([one, two, four & three, four], [1.0, 2.0, 3.0, 4.0], np.inf)
        width: Array = (most[0] + most[1]) * start
        return width

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        distance = np.maximum(np.abs(difference) - self.rounding, 0.0)
        return not_rejected(self.law(distance, np.sign(difference)), distance, tail)


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

    def _of_kinds(
        self, hypothesis: Array, second: Array, third: Array, fourth: Array
    ) -> tuple[Array, Array, Array]:
        """Return cumulants where a hypothesis says how many users there are of each kind.

        They are given averaged over users at hand, whose answers are fixed. For a population moments about 0
        are given: the users are then a draw, and the score is a mixture.
        """
        if self.population:
            second, third, fourth = cumulants(hypothesis, second, third, fourth)
        return np.maximum(second, 0.0), third, fourth

    def _possible(self, hypothesis: Array) -> Array:
        """Return hypotheses moved to what is possible: of shares, from 0 to 1."""
        return np.clip(hypothesis, 0.0, 1.0)

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to what is possible."""
        errors: Array = np.sqrt(self._cumulants(self._possible(self.value))[0] / self.users)
        return errors

    def law(self, distance: Array, side: Array) -> AverageLaw:
        second, third, fourth = self._cumulants(self._possible(self.value + side * distance))
        freedom = self.users - 1.0 if self.population and self.users > 1 else np.inf
        step = rare_step(self.step, second, fourth)
        return law_of_average(self.users, second, -side * third, fourth, step, freedom)


@frozen_value(eq=False)
class FrequencyLimits(AverageLimits):
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

    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        moved = np.maximum(np.clip(self.value, 0.0, 1.0) - hypothesis, 0.0)
        rest = 1.0 - hypothesis - moved
        second, third, fourth = (
            hypothesis * own + rest * others + moved * worst for own, others, worst in self._curves
        )
        return self._of_kinds(hypothesis, second, third, fourth)


@frozen_value(eq=False)
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
    >>> quantile_ends(np.array([0.2, 0.5, 0.8]), NormalLimits(0.05), 0.5, 0.025)
    (1, 2)
    """
    maybe = limits.reach(share - value, tail)
    below, above = np.append(True, (value <= share) | maybe), np.append((value >= share) | maybe, True)
    possible = np.flatnonzero(below & above)
    return int(possible.min()), int(possible.max())
