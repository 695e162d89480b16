"""What several mechanisms reveal about a user who answers all of them: totals of epsilon and delta.

For epsilon with delta 0 the total is the sum, which no proof can improve. For a total delta above 0 it is
the least of what is proven: the sum, or the law of the sum of all privacy losses
(:class:`Losses`). Each collection may be chosen with a look at what the earlier ones gave; for
the law of the sum their number and epsilons have to be fixed beforehand, for the sum not even these. Where
they are not, see :mod:`mechdesign.ledger.renyi_filter`.

Laws of privacy losses that bound those of mechanisms, and their sums: what several collections reveal.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.collect.base import Randomizer
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Exact, Guarantee
from mechdesign.core.validation import delta_number, in_range, integer
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.randomness import exp_lower, exp_upper, float_up
from mechdesign.families.shuffle.promise import profile

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
        losses = self
        while losses.exponent < exponent:
            losses = losses.coarser()
        return losses.finer(exponent) if losses.exponent > exponent else losses

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
        total = Losses(
            exponent,
            one.first + two.first,
            np.convolve(one.mass, two.mass),
            one.infinite + two.infinite + UNDERFLOW,
            one.error + two.error + 2.0 * (shorter + 8) * UNIT,
        ).trimmed(cut)
        return total.coarser() if len(total.mass) > POINTS else total

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


NOTHING = "no report"
PROMISES = "the sum of what is promised"

LARGEST = 700.0
"""A report with a larger epsilon reveals everything, as far as totals with a delta go."""
SEARCH = 40
FINE = 1024.0
"""Points of a lattice in a standard deviation of the total."""
MOST_TIMES = 1 << 30


@frozen_value()
class Collected:
    """Reports that a user makes with one mechanism.

    Attributes
    ----------
    name : str
        What they are called.
    epsilon, delta : float
        Of one of them, proven.
    times : int
        How many there are.
    exact : bool
        Whether the proof is without tolerance.
    users : int
        Honest users whose reports a shuffler mixes each time; 0 without one.
    size : int
        k, where reports are those of a k-ary response with this epsilon; else 0. Only after a shuffler.
    guarantee : Guarantee, optional
        Of one of them, exactly, where epsilon and delta are its numbers rounded up; by default the numbers
        are taken as the doubles that they are.
    promise : Guarantee, optional
        Where epsilon has delta 0 and another epsilon with a delta was promised: that pair, proven.
    """

    name: str
    epsilon: float = value_field(partial(in_range, low=0.0, high=math.inf))
    delta: float = value_field(partial(in_range, low=0.0, high=1.0), default=0.0)
    times: int = value_field(partial(integer, low=1, high=MOST_TIMES), default=1)
    exact: bool = True
    users: int = 0
    size: int = 0
    guarantee: Guarantee | None = None
    promise: Guarantee | None = None

    @classmethod
    def of(cls, name: str, guarantee: Guarantee, **others: Any) -> Collected:
        """Return reports with this exact guarantee each.

        Examples
        --------
        >>> total([Collected.of("m.json", Guarantee("0.1"), times=10)]).epsilon
        1.0
        """
        return cls(
            name, float_up(guarantee.epsilon), float_up(guarantee.delta), guarantee=guarantee, **others
        )

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as plain values, without the exact guarantees."""
        return {name: value for name, value in vars(self).items() if name not in ("guarantee", "promise")}

    @property
    def as_promised(self) -> Collected:
        """The same reports, counted by the pair of epsilon and delta that is promised."""
        if self.promise is None:
            return self
        numbers = {"epsilon": float_up(self.promise.epsilon), "delta": float_up(self.promise.delta)}
        return changed(self, **numbers, guarantee=self.promise, promise=None)

    @property
    def together(self) -> Guarantee | None:
        """The exact guarantee of all of them; None where epsilon is infinite."""
        if self.guarantee is not None:
            return self.guarantee.times(self.times)
        if math.isinf(self.epsilon):
            return None
        return Guarantee(self.epsilon, self.delta).times(self.times)


@dataclass(frozen=True)
class Total:
    """Guarantee that is proven for all reports of a user together.

    Attributes
    ----------
    epsilon, delta : float
        The sums.
    within : float
        The delta that was asked for; 0 for none.
    composed : float
        The least proven epsilon with that delta; infinite where there is none.
    by : str
        What it was proven by.
    exact : bool
        Whether the sums are without tolerance: whether each mechanism is audited so.
    guarantee : Guarantee or None
        The sums, exactly; None where epsilon is infinite.
    """

    epsilon: float
    delta: float
    within: float
    composed: float
    by: str
    exact: bool
    guarantee: Guarantee | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {name: value for name, value in vars(self).items() if name != "guarantee"}


def total(collected: Sequence[Collected], within: Exact = 0.0, shuffled: bool = False) -> Total:
    """Return the guarantee that is proven for all reports of a user together.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the total may have; a double is taken as the decimal that it is written as.
    shuffled : bool
        Whether it is about what is known after the shufflers, rather than about the reports themselves.

    Examples
    --------
    >>> year = total([Collected("daily", 0.1, times=365)], within=1e-6)
    >>> year.epsilon, round(year.composed, 2), year.by
    (36.5, 10.31, 'distribution of the total loss')
    """
    allowed = delta_number(Decimal(repr(within)) if isinstance(within, float) else within)
    if allowed == 1:
        raise ParameterError("delta", "1 is outside [0, 1)", "a delta of 1 promises nothing")
    guarantee, most = guarantee_of(collected), float(allowed)
    exact = sum((_delta(one) for one in collected), Fraction(0))
    epsilon, delta = (
        (math.inf if guarantee is None else float_up(guarantee.epsilon)),
        min(1.0, float_up(exact)),
    )
    composed, by = (epsilon, "the sum") if exact <= allowed else (math.inf, "nothing")
    pairs = promised_pair(collected)
    if pairs is not None and pairs.delta <= allowed and float_up(pairs.epsilon) < composed:
        composed, by = float_up(pairs.epsilon), PROMISES
    if most > 0.0 and delta < most:
        least = _composed(collected, most, shuffled)
        if least < composed:
            composed, by = least, "distribution of the total loss"
    return Total(epsilon, delta, most, composed, by, all(one.exact for one in collected), guarantee)


def promised_pair(collected: Sequence[Collected]) -> Guarantee | None:
    """Return the exact sum of the promised pairs of epsilon and delta; None where there are none.

    Examples
    --------
    >>> one = Collected.of("m.json", Guarantee("0.7"), promise=Guarantee("0.1", "1e-7"), times=10)
    >>> print(promised_pair([one]))
    epsilon = 1, delta = 0.000001, all reports of a user
    """
    if all(one.promise is None for one in collected):
        return None
    return guarantee_of([one.as_promised for one in collected])


def guarantee_of(collected: Sequence[Collected]) -> Guarantee | None:
    """Return the exact sum of all guarantees; None where one has an infinite epsilon.

    What protects a user's own reports protects as much after a shuffler: where some guarantees are about what
    is seen there, so is the sum.
    """
    parts = [one.together for one in collected]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if not known:
        return Guarantee(0, covers=NOTHING)
    if any(part.notion == "central" for part in known):
        known = [changed(part, notion="central") for part in known]
    return Guarantee.total(known, covers="all reports of a user")


def _delta(one: Collected) -> Fraction:
    return (Fraction(one.delta) if one.guarantee is None else one.guarantee.delta) * one.times


def _composed(collected: Sequence[Collected], within: float, shuffled: bool) -> float:
    """Return the least epsilon that the distribution of the sum of all losses has with this delta."""
    count = sum(one.times for one in collected)
    cut = within * PART / (4.0 * count)
    mixed = [one for one in collected if shuffled and one.users]
    bounds = {one: profile(one.users, Randomizer(one.epsilon, one.size), cut) for one in set(mixed)}
    reach = {one: _reach(bounds[one], one.epsilon, cut) for one in bounds}
    spread = sum(one.times * (reach[one] / 7.0 if one in reach else one.epsilon) ** 2 for one in collected)
    if spread == 0.0 or not all(one.epsilon <= LARGEST for one in collected):
        return 0.0 if spread == 0.0 else math.inf
    exponent = math.floor(math.log2(math.sqrt(spread) / FINE))
    law = no_loss(exponent)
    for one in collected:
        if one.epsilon > 0.0:
            part = _law(one, bounds.get(one), reach.get(one, 0.0), exponent, cut)
            law = law.plus(part, cut)
        law = Losses(law.exponent, law.first, law.mass, law.infinite + one.times * one.delta, law.error)
    return law.epsilon(within * (1.0 - 1e-12))


def _law(
    one: Collected, bound: Callable[[float], float] | None, reach: float, exponent: int, cut: float
) -> Losses:
    if bound is None:
        return pure_losses(one.epsilon, one.times, exponent, cut)
    own = math.floor(math.log2(reach / PLACES))
    return losses_of(bound, reach, own).on(min(own, exponent)).times(one.times, cut)


def _reach(bound: Callable[[float], float], local: float, cut: float) -> float:
    """Return an epsilon with next to no delta: from the local one on, there is none."""
    low, high = 0.0, local * (1.0 + 1e-9)
    for _ in range(SEARCH):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if bound(middle) <= cut else (middle, high)
        if high - low < 0.02 * high:
            break
    return high
