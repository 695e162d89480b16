"""Laws of privacy losses that bound those of mechanisms, and their sums: what several collections reveal.

A law of losses puts mass P(l) on l = ln P/Q, and dominates a mechanism when

    delta(eps) = P(infinity) + sum over l of P(l) (1 - e^(eps - l))_+

bounds its delta at every eps. Mechanisms that are used one after the other, each chosen with a look at what
the others gave but dominated by a law that was fixed beforehand, are dominated by the law of the sum (Zhu,
Dong, Wang 2022, on the composition of dominating pairs). Losses are moved to a lattice so that delta only
grows: a mass goes to the two points around it such that the sums of P and of P e^-l stay, and delta is convex
in e^-l. All terms are positive, so that rounding errors are relative and counted; what is cut off above
counts as infinite, what is cut off below is moved up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.binomials import UNIT, binomial_window
from mechdesign.exact.exponential import exp_lower, exp_upper, float_up

Doubles = NDArray[np.float64]

UNDERFLOW = 1e-280
"""More than all probabilities that are too small for doubles."""
POINTS = 1 << 15
"""The most points of a lattice before it is made coarser."""
PLACES = 200
"""Points on which the bound of delta of a mechanism is looked at."""
PART = 1e-6
"""Which part of delta may be cut off by everything together."""
BISECTIONS = 200


@dataclass(frozen=True)
class Losses:
    """A law on ``2**exponent * (first, first + 1, ...)`` and infinity, with a relative ``error``.

    Attributes
    ----------
    exponent : int
        Of the lattice's step, a power of two: multiples of it are exact.
    first : int
    mass : array
        At most a part ``error`` below those of a law that dominates.
    infinite : float
        The mass of infinity.
    error : float
    """

    exponent: int
    first: int
    mass: Doubles
    infinite: float
    error: float

    @property
    def step(self) -> float:
        """The distance of the points."""
        return math.ldexp(1.0, self.exponent)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at an epsilon >= 0."""
        points = (self.first + np.arange(len(self.mass), dtype=np.float64)) * self.step
        above = points - epsilon
        above += 4.0 * UNIT * (np.abs(points) + epsilon)
        excess = -np.expm1(-np.maximum(above, 0.0))
        total = float((excess * self.mass).sum()) * (1.0 + 4.0 * (len(points) + 16) * UNIT)
        return min(1.0, (total + self.infinite) * (1.0 + 2.0 * self.error) + UNDERFLOW)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon >= 0 whose delta is at most this one, next to the least; infinite without one."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(0.0, (self.first + len(self.mass)) * self.step)
        if self.delta(high) > delta:
            return math.inf
        for _ in range(BISECTIONS):
            middle = low + (high - low) / 2.0
            if not low < middle < high:
                break
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def coarser(self) -> Losses:
        """Return the distribution on a lattice of twice the step."""
        upper = float_up(Fraction(1.0 / (1.0 + math.exp(-self.step)))) * (1.0 + 8.0 * UNIT)
        start = self.first % 2
        padded = np.zeros(2 * ((len(self.mass) + start + 1) // 2))
        padded[start : start + len(self.mass)] = self.mass
        moved = np.append(padded[0::2] + (1.0 - upper) * (1.0 + 32.0 * UNIT) * padded[1::2], 0.0)
        moved[1:] += upper * padded[1::2]
        return Losses(
            self.exponent + 1, (self.first - start) // 2, moved, self.infinite, self.error + 8.0 * UNIT
        )

    def finer(self, exponent: int) -> Losses:
        """Return the same law on a lattice with a step of 2**exponent, which is not larger."""
        times = 1 << (self.exponent - exponent)
        mass = np.zeros((len(self.mass) - 1) * times + 1)
        mass[::times] = self.mass
        return replace(self, exponent=exponent, first=self.first * times, mass=mass)

    def on(self, exponent: int) -> Losses:
        """Return the distribution on the lattice with a step of 2**exponent."""
        found = self
        while found.exponent < exponent:
            found = found.coarser()
        return found.finer(exponent) if found.exponent > exponent else found

    def trimmed(self, cut: float) -> Losses:
        """Return the law without tails of this mass: the lower one moved up, the upper one infinite."""
        low = int(np.searchsorted(np.cumsum(self.mass), cut, side="right"))
        high = len(self.mass) - int(np.searchsorted(np.cumsum(self.mass[::-1]), cut, side="right"))
        low = min(low, len(self.mass) - 1)
        high = max(high, low + 1)
        mass = self.mass[low:high].copy()
        mass[0] += float(self.mass[:low].sum())
        infinite = self.infinite + 1.01 * float(self.mass[high:].sum())
        return replace(
            self,
            first=self.first + low,
            mass=mass,
            infinite=infinite,
            error=self.error + 2.0 * (low + 2) * UNIT,
        )

    def plus(self, other: Losses, cut: float) -> Losses:
        """Return the distribution of the sum of two independent losses; tails of mass ``cut`` are cut off."""
        exponent = max(self.exponent, other.exponent)
        one, two = self.on(exponent), other.on(exponent)
        shorter = min(len(one.mass), len(two.mass))
        found = Losses(
            exponent,
            one.first + two.first,
            np.convolve(one.mass, two.mass),
            one.infinite + two.infinite + UNDERFLOW,
            one.error + two.error + 2.0 * (shorter + 8) * UNIT,
        ).trimmed(cut)
        return found.coarser() if len(found.mass) > POINTS else found

    def times(self, count: int, cut: float) -> Losses:
        """Return the law of the sum of ``count`` losses, by squaring; each step cuts off a mass ``cut``."""
        single, result, power, size = self, None, count, 1  # type: Losses, Losses | None, int, int
        while True:
            if power & 1:
                result = single if result is None else result.plus(single, cut * size)
            power >>= 1
            if power == 0:
                assert result is not None  # the highest digit of a positive number is 1
                return result
            single, size = single.plus(single, cut * size), 2 * size


def no_loss(exponent: int) -> Losses:
    """Return the distribution of a loss that is always 0."""
    return Losses(exponent, 0, np.ones(1), 0.0, 0.0)


def pure_losses(epsilon: float, count: int, exponent: int, cut: float) -> Losses:
    """Return the law of ``count`` reports at this epsilon and delta 0: binary randomized responses are worst.

    Their losses are epsilon or -epsilon (Kairouz, Oh, Viswanath 2015, theorem 3.3), their sum (2 j - k)
    epsilon with a binomial number j.

    Parameters
    ----------
    epsilon : float
        Above 0, at most 700.
    count : int
        k.
    exponent : int
        Of the lattice's step.
    cut : float
        The mass that may be cut off on each side.

    Examples
    --------
    >>> law = pure_losses(0.1, 365, -10, 1e-15)
    >>> round(law.epsilon(1e-6), 2)
    10.3
    """
    window = binomial_window(count, math.exp(epsilon), cut)
    step = math.ldexp(1.0, exponent)
    losses = (2.0 * window.values - count) * epsilon
    losses += 4.0 * UNIT * np.abs(losses)
    places = np.floor(losses / step)
    weight = np.expm1(places * step - losses) / math.expm1(-step)
    weight = np.clip(weight * (1.0 + 64.0 * UNIT) + 1e-15, 0.0, 1.0)
    first = int(places[0])
    mass = np.zeros(int(places[-1]) - first + 2)
    spots = (places - first).astype(np.int64)
    np.add.at(mass, spots, window.probability * (1.0 - weight + 2e-15))
    np.add.at(mass, spots + 1, window.probability * weight)
    mass[0] += window.below
    error = window.error + 8.0 * (len(losses) + 16) * UNIT
    return Losses(exponent, first, mass, window.above, error)


def losses_to(bound: Callable[[float], float], reach: float, exponent: int, end: float) -> Losses:
    """Return the law of :func:`losses_of` for a mechanism that has no delta from an epsilon ``end`` on.

    So it has no mass at infinity.
    """
    last = math.ceil(Fraction(end) / Fraction(2) ** exponent) + 1
    return losses_of(lambda epsilon: 0.0 if epsilon >= end else bound(epsilon), reach, exponent, last)


def losses_of(
    bound: Callable[[float], float], reach: float, exponent: int, last: int | None = None
) -> Losses:
    """Return a law that dominates every pair of inputs of a mechanism with a proven bound of delta.

    Parameters
    ----------
    bound : callable
        An upper bound of delta at an epsilon >= 0, for both orders of every pair.
    reach : float
        The largest epsilon that is looked at; beyond it delta stays what it is there.
    exponent : int
        Of the lattice's step.
    last : int, optional
        The number of a point beyond ``reach`` where delta is 0.

    Notes
    -----
    As a function of a = e^eps, delta is convex, 1 at a = 0, and not below 0; for a < 1 it is
    1 - a + a delta(1/a) of the other order. So it is below the largest convex function that is at most the
    bounds at some points, and that is the delta of a law on these points: its masses Q are the changes of
    the slope, P is a Q. Points, bounds and masses are exact fractions.
    """
    step = Fraction(2) ** exponent
    count = max(1, math.ceil(reach / float(step)))
    points: list[tuple[Fraction, Fraction, int]] = [(Fraction(0), Fraction(1), 0)]
    values = [
        min(Fraction(1), Fraction(bound(float(number * step) * (1.0 - 1e-12)))) for number in range(count + 1)
    ]
    for number in range(-count, count + 1):
        grown = 1 / exp_upper(-number * step) if number < 0 else exp_lower(number * step)
        value = values[abs(number)]
        points.append((grown, 1 - grown + grown * value if number < 0 else value, number))
    size = count
    if last is not None and last > count:
        points.append((exp_lower(last * step), Fraction(0), last))
        size = last
    hull: list[tuple[Fraction, Fraction, int]] = []
    for point in points:
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    mass = np.zeros(count + size + 1)
    for place in range(1, len(hull)):
        grown, _, number = hull[place]
        after = _slope(hull[place], hull[place + 1]) if place + 1 < len(hull) else Fraction(0)
        mass[number + count] = float_up(
            max(Fraction(0), grown * (after - _slope(hull[place - 1], hull[place])))
        )
    return Losses(exponent, -count, mass, float_up(hull[-1][1]), 4.0 * UNIT)


def _slope(one: tuple[Fraction, Fraction, int], two: tuple[Fraction, Fraction, int]) -> Fraction:
    return (two[1] - one[1]) / (two[0] - one[0])
