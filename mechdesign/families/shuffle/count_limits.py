"""Limits for a count by inverting tests on the exact distribution of the number that was observed.

A protocol states one law: which groups of independent reports add up to the observed number T when the true
count is c. The interval of level 1 - 2 t holds every whole c under which neither Pr[T >= observed] nor
Pr[T <= observed] is t or less, so it covers with at least 1 - 2 t whatever the users hold, at every number of
users. Under all laws here T grows with c (stochastically), so that both ends are found by bisection.

*Exactness.* A law is computed from the product of the characteristic functions of its reports (to some 1e-12)
while its standard deviation is below ``SHARP`` times the largest report; beyond, its quantiles are taken from
the expansion of Cornish and Fisher with the exact first four cumulants, whose error is then far below half a
unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass
from mechdesign.collect.intervals import Limits

Array = NDArray[np.float64]

SHARP = 60.0
"""Laws of fewer standard deviations per largest report are computed in full."""

WIDE, STEPS = 12.0, 40
"""A law is computed on WIDE standard deviations plus STEPS largest reports, on each side of its mean."""

ROUNDED = 1.0 - 1e-9
"""Tails are compared with the part of a probability that rounding cannot reach: a tie is not rejected."""


NEARLY = 1e-9
"""A count that is so near to a whole number is that number."""


class CountNoise(Protocol):
    """A law on integers, as far as limits need it."""

    def quantiles(self, tail: float) -> tuple[int, int]:
        """Return the smallest number not in the lower tail and the largest not in the upper one."""
        ...


def quantiles_of(low: int, mass: Array, tail: float) -> tuple[int, int]:
    """Return the smallest number with Pr[X <= it] > tail, and the largest one with Pr[X >= it] > tail.

    Examples
    --------
    >>> quantiles_of(0, np.array([0.25, 0.5, 0.25]), 0.3)
    (1, 1)
    """
    enough = tail * ROUNDED
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    return low + int(np.argmax(below > enough)), low + int(np.flatnonzero(above > enough)[-1])


@dataclass(frozen=True)
class Group:
    """Independent reports of one kind: how many, and the probabilities that one of them adds 0, 1, 2, ...

    Examples
    --------
    >>> Group.bits(10, 0.25).cumulants()[:2]
    (2.5, 1.875)
    """

    count: int
    chances: tuple[float, ...]

    @classmethod
    def bits(cls, count: int, chance: Any) -> Group:
        """Return reports of 0 or 1; the probability may be a fraction."""
        return cls(count, (float(1 - chance), float(chance)))

    @property
    def largest(self) -> int:
        """The most that one report adds."""
        return len(self.chances) - 1

    @cached_property
    def _one(self) -> tuple[float, float, float, float]:
        if len(self.chances) == 2:  # without cancellation, however small the chance is
            q, p = self.chances
            spread = p * q
            return p, spread, spread * (q - p), spread * (1.0 - 6.0 * spread)
        numbers, chances = np.arange(len(self.chances), dtype=np.float64), np.array(self.chances)
        mean = float(numbers @ chances)
        second, third, fourth = (float((numbers - mean) ** power @ chances) for power in (2, 3, 4))
        return mean, second, third, fourth - 3.0 * second**2

    def cumulants(self) -> tuple[float, float, float, float]:
        """Return the first four cumulants of the sum."""
        first, second, third, fourth = (self.count * single for single in self._one)
        return first, second, third, fourth

    def logarithm(self, angles: NDArray[np.floating[Any]]) -> tuple[int, NDArray[np.complex128]]:
        """Return the most likely sum s, about, and ln E exp(i t (X - s)) at these angles t."""
        chances = np.array(self.chances)
        mode = int(chances.argmax())
        part = np.zeros(len(angles), dtype=np.complex128)
        for number in np.flatnonzero(chances).tolist():
            if number != mode:
                part += chances[number] * np.expm1(1j * (number - mode) * angles)
        x, y = part.real, part.imag
        with np.errstate(divide="ignore"):
            size = 0.5 * np.log1p(np.maximum(2.0 * x + x * x + y * y, -1.0))
        logarithm = np.empty(len(angles), dtype=np.complex128)
        logarithm.real = np.maximum(self.count * size, -1e4)  # exp of it is 0 in doubles
        logarithm.imag = self.count * np.arctan2(y, 1.0 + x)
        return self.count * mode, logarithm


@dataclass(frozen=True)
class Sum:
    """The sum of all reports of some groups.

    Examples
    --------
    >>> Sum((Group.bits(100, 0.5),)).quantiles(0.025)
    (40, 60)
    >>> Sum((Group.bits(10**6, 0.5),)).quantiles(0.025)  # of 1000 standard deviations: by cumulants
    (499020, 500980)
    """

    groups: tuple[Group, ...]

    @cached_property
    def cumulants(self) -> tuple[float, float, float, float]:
        """The first four cumulants."""
        each = [group.cumulants() for group in self.groups] or [(0.0, 0.0, 0.0, 0.0)]
        first, second, third, fourth = (math.fsum(column) for column in zip(*each, strict=True))
        return first, max(second, 0.0), third, fourth

    @property
    def mean(self) -> float:
        """The expected sum."""
        return self.cumulants[0]

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.cumulants[1])

    @property
    def _largest(self) -> int:
        return max((group.largest for group in self.groups), default=1)

    def quantiles(self, tail: float) -> tuple[int, int]:
        """Return the smallest number with Pr[X <= it] > tail, and the largest one with Pr[X >= it] > tail."""
        return _quantiles(self, tail)

    def law(self) -> tuple[int, Array]:
        """Return the first number and the probabilities of it and those next to it."""
        mean, variance = self.cumulants[:2]
        half = math.ceil(WIDE * math.sqrt(variance)) + STEPS * self._largest + 2
        size = 1 << (2 * half - 1).bit_length()
        places = np.arange(size // 2 + 1)
        first, shift = math.floor(mean) - size // 2, 0
        total = np.zeros(len(places), dtype=np.complex128)
        for group in self.groups:
            if group.count:
                start, logarithm = group.logarithm(2.0 * math.pi / size * places)
                total, shift = total + logarithm, shift + start
        turned = places * ((first - shift) % size) % size  # whole numbers, so that no digit is lost
        spectrum = np.exp(total - 2.0j * math.pi / size * turned)
        return first, np.maximum(np.fft.irfft(spectrum.conj(), size), 0.0)


@lru_cache(maxsize=1 << 14)
def _quantiles(law: Sum, tail: float) -> tuple[int, int]:
    """Return those of :meth:`Sum.quantiles`; categories, and repetitions, ask for the same ones."""
    mean, variance, third, fourth = law.cumulants
    deviation = math.sqrt(variance)
    if deviation < SHARP * law._largest:
        return quantiles_of(*law.law(), tail)
    z = -NormalDist().inv_cdf(tail)
    skewness, kurtosis = third / deviation**3, fourth / deviation**4
    odd = (z**3 - 3.0 * z) * kurtosis / 24.0 - (2.0 * z**3 - 5.0 * z) * skewness**2 / 36.0
    even = (z**2 - 1.0) * skewness / 6.0
    low, high = mean - deviation * (z - even + odd), mean + deviation * (z + even + odd)
    return math.ceil(low - 0.5), math.floor(high + 0.5)


@dataclass(frozen=True)
class Listed:
    """A law that is given as a list, with as many units on each side as it may be off."""

    law: Mass
    slack: int = 0

    def quantiles(self, tail: float) -> tuple[int, int]:
        """Return the numbers next to the tails."""
        bottom, top = quantiles_of(self.law.low, self.law.mass, tail)
        return bottom - self.slack, top + self.slack


@dataclass(frozen=True, eq=False)
class NoiseLimits(Limits):
    """Limits by the exact law of an additive noise: valid at every size, not only for many users.

    Parameters
    ----------
    noise : CountNoise
        Its law, in whole units.
    centre : float or (n,) array
        What is subtracted from the noisy number to get the estimate.
    scale : float
        Of the estimate for one unit.

    Examples
    --------
    >>> limits = NoiseLimits(Sum((Group.bits(100, 0.5),)), 50.0)
    >>> [float(distance) for distance in limits.distances(0.025)]
    [10.0, 10.0]
    """

    noise: CountNoise
    centre: Any
    scale: float = 1.0

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances down and up; neither side is exceeded with more than the probability ``tail``.

        An estimate that was moved away from the noisy number, to 0, stays within its interval.
        """
        bottom, top = self.noise.quantiles(tail)
        centre = np.asarray(self.centre, dtype=np.float64)
        return np.maximum(top - centre, 0.0) * self.scale, np.maximum(centre - bottom, 0.0) * self.scale


@dataclass(frozen=True, eq=False)
class CountLimits(Limits):
    """Limits for integers c from 0 to ``most``, from numbers T whose law depends on c.

    Parameters
    ----------
    observed : (n,) int array
        The numbers T.
    value : (n,) array
        The estimates; equal for equal T.
    most : int
    groups : callable
        From c to the groups of reports that make up T; T grows with c.

    Examples
    --------
    >>> flipped = lambda c: (Group.bits(c, 0.9), Group.bits(30 - c, 0.1))
    >>> limits = CountLimits(np.array([3, 27]), np.array([0.0, 30.0]), 30, flipped)
    >>> [ends.tolist() for ends in limits.distances(0.025)]
    [[0.0, 4.0], [4.0, 0.0]]
    """

    observed: NDArray[np.int64]
    value: NDArray[np.floating[Any]]
    most: int
    groups: Callable[[int], tuple[Group, ...]]

    @classmethod
    def of(
        cls, observed: int, value: float, most: int, groups: Callable[[int], tuple[Group, ...]]
    ) -> SingleLimits:
        """Return the limits of a single count."""
        return SingleLimits(cls(np.array([observed]), np.array([value]), most, groups))

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the ends from the estimates; equal numbers are looked at once."""
        numbers, first, index = np.unique(self.observed, return_index=True, return_inverse=True)
        known: dict[int, tuple[int, int]] = {}

        def accepted(count: int) -> tuple[int, int]:
            if count not in known:
                known[count] = Sum(self.groups(count)).quantiles(tail)
            return known[count]

        ends = []
        for number, value in zip(numbers.tolist(), self.value[first].tolist(), strict=True):
            guess = min(max(round(value), 0), self.most)
            low = _first(lambda c, t=number: accepted(c)[1] >= t, guess, self.most)  # type: ignore[misc]
            beyond = _first(lambda c, t=number: accepted(c)[0] > t, guess, self.most + 1)  # type: ignore[misc]
            ends.append((max(0.0, value - low), max(0.0, beyond - 1 - value)))
        down, up = np.array(ends).T
        return down[index.ravel()], up[index.ravel()]

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the intervals reach so far, for counts from 0 to ``most``.

        The ends of intervals are whole, so a count is tested at the next whole number away from the estimate.
        """
        count, below = self.value + difference, difference < 0.0
        inside: NDArray[np.bool_] = (difference == 0.0) | np.where(below, count >= 0.0, count <= self.most)
        whole = np.where(below, np.floor(count + NEARLY), np.ceil(count - NEARLY))
        tested = np.clip(whole, 0, self.most).astype(np.int64)
        for place in np.flatnonzero(inside & (difference != 0.0)).tolist():
            number, tried = int(self.observed[place]), int(tested[place])
            bottom, top = Sum(self.groups(tried)).quantiles(tail)
            inside[place] = top >= number or tried == self.most if below[place] else bottom <= number
        return inside


@dataclass(frozen=True, eq=False)
class SingleLimits(Limits):
    """The limits of one count instead of an array of one."""

    limits: CountLimits | NoiseLimits

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the ends from the estimate."""
        down, up = self.limits.distances(tail)
        return down[0], up[0]

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches so far."""
        reached: NDArray[np.bool_] = self.limits.reach(np.atleast_1d(difference), tail)[0]
        return reached


def two_kinds(reports: float, own: Any, other: Any, fakes: float = 0, fit: Any = 0) -> TwoKinds:
    """Return how many reports support a category, when each supports it or does not.

    Parameters
    ----------
    reports : number
        Of all kinds, at least as many as the largest c.
    own, other : number
        The chances of support by those who hold it, and by all others.
    fakes, fit : number
        Reports of nobody, and the chance that one of them supports it.
    """
    return TwoKinds(reports, (1 - own, own), (1 - other, other), fakes, fit)


@dataclass(frozen=True, eq=False)
class TwoKinds:
    """Reports of those who hold a value, of all others, and of nobody: decoded linearly.

    Called with a count c it returns the groups of reports that make up the sum T when c users hold the value.

    Attributes
    ----------
    reports : number
        Of users, at least as many as the largest c.
    own, other : sequence of numbers
        The chances that a report of who holds the value, or of another user, adds 0, 1, 2, ...
    fakes, fit : number
        Reports of nobody, and the chance that one of them adds 1.

    Examples
    --------
    >>> bits = two_kinds(100, 0.75, 0.25)
    >>> bits.value(np.array([25, 75])), bits.variance(np.zeros(1))
    (array([  0., 100.]), array([75.]))
    """

    reports: float
    own: Sequence[Any]
    other: Sequence[Any]
    fakes: float = 0
    fit: Any = 0

    def __call__(self, count: int) -> tuple[Group, ...]:
        """Return the groups of reports when this many users hold the value."""
        held, free = self._chances
        more = (Group.bits(int(self.fakes), self.fit),) if self.fakes else ()
        return Group(count, held), Group(int(self.reports) - count, free), *more

    @cached_property
    def _chances(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return tuple(map(float, self.own)), tuple(map(float, self.other))

    @cached_property
    def _moments(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Mean and variance of a report of either kind, as exact as the chances."""
        return _moments(self.own), _moments(self.other)

    @property
    def gain(self) -> float:
        """By how much more a report adds on average when its user holds the value."""
        (own, _), (other, _) = self._moments
        return float(own - other)

    @property
    def centre(self) -> float:
        """The expected sum when nobody holds the value."""
        return float(self.reports * self._moments[1][0] + self.fakes * self.fit)

    def value(self, sums: NDArray[np.int64]) -> Array:
        """Return the unbiased counts."""
        return np.asarray((sums - self.centre) / self.gain, dtype=np.float64)

    def variance(self, count: Array) -> Array:
        """Return the variance of the unbiased counts of values that ``count`` users hold."""
        (_, own), (_, other) = self._moments
        fit = float(self.fit)
        total = count * float(own) + (self.reports - count) * float(other) + self.fakes * fit * (1.0 - fit)
        result: Array = total / self.gain**2
        return result

    def limits(self, sums: NDArray[np.int64], value: Array, most: int) -> CountLimits | NoiseLimits:
        """Return the exact limits of counts up to ``most``; of the noise where own reports are sure."""
        if self._chances == ((0.0, 1.0), (1.0, 0.0)):
            noise = Sum((Group.bits(int(self.fakes), self.fit),))
            return NoiseLimits(noise, np.full(len(value), self.centre))
        return CountLimits(sums, value, most, self)


def _moments(chances: Sequence[Any]) -> tuple[Any, Any]:
    mean = sum(number * chance for number, chance in enumerate(chances))
    return mean, sum(number * number * chance for number, chance in enumerate(chances)) - mean**2


def _first(holds: Callable[[int], bool], guess: int, most: int) -> int:
    """Return the smallest number from 0 below ``most`` from which on a statement holds; else ``most``."""
    low, high, step = 0, most, 1  # it does not hold below low, and holds from high on
    place = min(guess, most - 1)
    while low < high:
        if holds(place):
            high = place
            place -= step
        else:
            low = place + 1
            place += step
        step *= 2
        if not low <= place < high:
            place = (low + high) // 2
    return high
