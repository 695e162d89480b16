"""Laws of privacy losses that bound those of mechanisms, and their sums: what several reports reveal.

A law of losses puts mass P(l) on l = ln P/Q, and dominates a mechanism when

    delta(eps) = P(infinity) + sum over l of P(l) (1 - e^(eps - l))_+

bounds its delta at every eps. Mechanisms that are used one after the other, each chosen with a look at what
the others gave but dominated by a law that was fixed beforehand, are dominated by the law of the sum (Zhu,
Dong, Wang 2022, on the composition of dominating pairs). Losses are moved to a lattice so that delta only
grows: a mass goes to the two points around it such that the sums of P and of P e^-l stay, and delta is convex
in e^-l. All terms are positive, so that rounding errors are relative and counted; what is cut off above
counts as infinite, what is cut off below is moved up.

The law of a finite channel comes from its own integer weights (:class:`LossCurve`): the largest hockey-stick
divergence over all pairs of inputs, as a function of e^eps. No pair has to dominate the others: the supremum
of convex functions is convex, and so is the curve of a law of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.channel import set_wise_delta
from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.core.errors import CertificateError
from mechdesign.core.values import decimal_context, frozen_value, value_field
from mechdesign.exact.randomness import Weights, exp_lower, exp_upper, float_up

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
FINE = 1024.0
"""Points of a lattice in a standard deviation of the total."""
LARGEST = 700.0
"""A report with a larger epsilon reveals everything, as far as totals with a delta go."""
MOST_POINTS = 128
"""Points at which the curve of a channel is evaluated."""
FEW_POINTS = 32
"""The same for a large channel."""
LITTLE_WORK = 1 << 18
MOST_WORK = 1 << 24
"""Entries of all pairs of rows; of larger channels the curve is that of their epsilon."""
BINARY = 1e-12
"""Two losses are all where the others have less mass than this: then epsilon says as much as the channel."""
APART = 1e-13
"""Points are at least as far apart, relatively."""
NEGLIGIBLE = 1e-15
"""A delta of which products cut off a small part."""
DIGITS = 40

Point = tuple[Fraction, Fraction, int]
"""e^epsilon, a bound of delta there, and a number."""
Pair = Sequence[tuple[int, int, int]]
"""Reports under two inputs: how many are alike, and their weights for the first and the second."""


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
    losses = (2.0 * window.values - count) * epsilon
    law = on_lattice(losses, window.probability, exponent)
    law.mass[0] += window.below
    return replace(law, infinite=window.above, error=window.error + law.error)


def on_lattice(losses: Doubles, probability: Doubles, exponent: int) -> Losses:
    """Return the law of losses that do not lie on a lattice, moved there so that delta only grows.

    Parameters
    ----------
    losses : (n,) array
        Rising; true up to a part of 4 units of rounding.
    probability : (n,) array
    exponent : int
        Of the lattice's step.

    Examples
    --------
    >>> law = on_lattice(np.array([-0.75, 0.75]), np.array([0.25, 0.75]), -1)
    >>> law.first, law.mass.round(3)
    (-2, array([0.109, 0.141, 0.   , 0.328, 0.422]))
    """
    step = math.ldexp(1.0, exponent)
    losses = losses + 4.0 * UNIT * np.abs(losses)
    places = np.floor(losses / step)
    weight = np.expm1(places * step - losses) / math.expm1(-step)
    weight = np.clip(weight * (1.0 + 64.0 * UNIT) + 1e-15, 0.0, 1.0)
    first = int(places[0])
    mass = np.zeros(int(places[-1]) - first + 2)
    spots = (places - first).astype(np.int64)
    np.add.at(mass, spots, probability * (1.0 - weight + 2e-15))
    np.add.at(mass, spots + 1, probability * weight)
    return Losses(exponent, first, mass, 0.0, 8.0 * (len(losses) + 16) * UNIT)


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
    points: list[Point] = [(Fraction(0), Fraction(1), 0)]
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
    mass = np.zeros(count + size + 1)
    atoms, infinite = _atoms(points)
    for number, chance in atoms:
        mass[number + count] = float_up(chance)
    return Losses(exponent, -count, mass, float_up(infinite), 4.0 * UNIT)


def _atoms(points: Sequence[Point]) -> tuple[list[tuple[int, Fraction]], Fraction]:
    """Return the masses P of the law whose delta is the largest convex function below points, by number.

    And its mass at infinity. The points rise; the first is at 0 and no atom.
    """
    hull: list[Point] = []
    for point in points:
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    atoms = []
    for place in range(1, len(hull)):
        grown, _, number = hull[place]
        after = _slope(hull[place], hull[place + 1]) if place + 1 < len(hull) else Fraction(0)
        atoms.append((number, max(Fraction(0), grown * (after - _slope(hull[place - 1], hull[place])))))
    return atoms, hull[-1][1]


def _slope(one: Point, two: Point) -> Fraction:
    return (two[1] - one[1]) / (two[0] - one[0])


def _curve_points(field: str, value: Any) -> tuple[tuple[float, float], ...]:
    points = tuple((float(grown), float(delta)) for grown, delta in value)
    rising = all(one[0] < two[0] and one[1] >= two[1] for one, two in pairwise(points))
    if not points or points[0][0] != 1.0 or not rising or not 0.0 <= points[-1][1] <= points[0][1] <= 1.0:
        raise CertificateError("losses", "the curve of delta does not fall from e^epsilon = 1 on", "rebuild")
    return points


@frozen_value()
class LossCurve:
    """The largest delta of one report over all pairs of inputs, as a function of a = e^epsilon.

    Between the points the bound is the chord, as the curve is convex; beyond the last one it stays. Below 1
    it is 1 - a + a delta(1 / a), that of the pairs in the other order.

    Parameters
    ----------
    points : sequence of (float, float)
        a, rising from 1, and delta there, rounded up.

    Examples
    --------
    >>> curve = LossCurve.of_pairs([[(1, 3, 1), (1, 1, 3), (2, 2, 2)]])
    >>> curve.points
    ((1.0, 0.25), (3.0, 0.0))
    >>> round(composed_epsilon([curve.part(20)], 1e-6), 3) < 20 * math.log(3.0)
    True
    """

    points: tuple[tuple[float, float], ...] = value_field(_curve_points)

    @classmethod
    def of_pairs(cls, pairs: Iterable[Pair]) -> LossCurve:
        """Return the curve of pairs of inputs that stand for all pairs, from integer weights; both orders."""
        known = [[atom for atom in pair if atom[0]] for pair in pairs]
        known += [[(count, two, one) for count, one, two in pair] for pair in known]
        ratios = {Fraction(one, two) for pair in known for _, one, two in pair if one > two > 0}

        def delta(grown: Fraction) -> Fraction:
            return max(_hockey_stick(pair, grown) for pair in known)

        return cls._evaluated([float_up(ratio) for ratio in ratios], delta)

    @classmethod
    def of_rows(cls, weights: Weights) -> LossCurve | None:
        """Return the curve of a channel of integer weights, over all pairs of rows; None of a large one."""
        rows, reports = weights.shape
        if rows * rows * reports > MOST_WORK:
            return None
        ratios: set[float] = set()
        for column in weights.T:
            values = np.unique(column[column > 0])
            if len(values) > 1:
                ratios.add(float_up(Fraction(int(values[-1]), int(values[0]))))
                if len(ratios) <= MOST_POINTS:
                    quotients = (values[:, None] / values[None, :]).ravel()
                    ratios |= set(np.nextafter(quotients[quotients > 1.0], np.inf).tolist())
        most = MOST_POINTS if rows * rows * reports <= LITTLE_WORK else FEW_POINTS
        return cls._evaluated(ratios, lambda grown: set_wise_delta(weights, grown)[0], most)

    @classmethod
    def _evaluated(
        cls, ratios: Iterable[float], delta: Callable[[Fraction], Fraction], most: int = MOST_POINTS
    ) -> LossCurve:
        chosen = [1.0]
        for grown in sorted(ratios):  # the larger of two that are next to each other: none is left out above
            if grown > 1.0 + APART:
                near = len(chosen) > 1 and grown <= chosen[-1] * (1.0 + APART)
                chosen[len(chosen) - near :] = [grown]
        if len(chosen) > most:
            between = np.geomspace(1.0, chosen[-1], most)[1:-1]
            chosen = sorted({1.0, *between.tolist(), chosen[-1]})
        values = [float_up(delta(Fraction(grown))) for grown in chosen]
        return cls(tuple(zip(chosen, values, strict=True)))

    @classmethod
    def of_law(cls, law: Losses, end: float | None) -> LossCurve:
        """Return the curve of a law; from the epsilon ``end`` on there is no delta."""
        last = (law.first + len(law.mass)) * law.step if end is None else end
        epsilons = np.linspace(0.0, last, MOST_POINTS).tolist()
        grown = [1.0, *(float_up(exp_upper(epsilon)) for epsilon in epsilons[1:])]
        values = [law.delta(epsilon) for epsilon in epsilons]
        values[-1] = values[-1] if end is None else 0.0
        falling = np.minimum.accumulate(values).tolist()
        return cls(tuple(zip(grown, falling, strict=True)))

    @classmethod
    def product(cls, curves: Sequence[LossCurve]) -> LossCurve:
        """Return the curve of independent reports, one of each mechanism."""
        if len(curves) == 1:
            return curves[0]
        end = None if any(curve.points[-1][1] for curve in curves) else sum(curve.end for curve in curves)
        return cls.of_law(law_of([curve.part(1) for curve in curves], NEGLIGIBLE), end)

    @classmethod
    def mixed(cls, parts: Sequence[tuple[Fraction, LossCurve]]) -> LossCurve:
        """Return the curve of a mechanism that draws one of several, whatever the input, and names it."""
        grown = [place for _, curve in parts for place, _ in curve.points]
        return cls._evaluated(
            grown, lambda place: sum((share * curve.at(place) for share, curve in parts), Fraction(0))
        )

    def at(self, grown: Fraction) -> Fraction:
        """Return the bound of delta at e^epsilon >= 1."""
        for (left, high), (right, low) in pairwise(self.points):
            if grown <= right:
                part = (grown - Fraction(left)) / (Fraction(right) - Fraction(left))
                return Fraction(high) + part * (Fraction(low) - Fraction(high))
        return Fraction(self.points[-1][1])

    @property
    def end(self) -> float:
        """The epsilon from which on delta does not fall, rounded up."""
        return math.log(self.points[-1][0]) * (1.0 + 4.0 * UNIT)

    def _law(self) -> tuple[list[tuple[Fraction, Fraction]], Fraction]:
        """Return e^loss and P of every atom, rising, and the mass at infinity, exactly."""
        exact = [(Fraction(grown), Fraction(delta)) for grown, delta in self.points]
        points: list[Point] = [(Fraction(0), Fraction(1), -1)]
        places = []
        for grown, delta in reversed(exact[1:]):
            places.append(1 / grown)
            points.append((1 / grown, 1 - 1 / grown + delta / grown, len(places) - 1))
        for grown, delta in exact:
            places.append(grown)
            points.append((grown, delta, len(places) - 1))
        atoms, infinite = _atoms(points)
        return [(places[number], chance) for number, chance in atoms if chance], infinite

    def part(self, times: int) -> LossPart:
        """Return that many reports as a part of a total."""
        atoms, infinite = self._law()
        losses = np.array([math.log(grown) for grown, _ in atoms])
        chances = np.array([float_up(chance) for _, chance in atoms])
        mean = float(chances @ losses)
        spread = math.sqrt(max(0.0, float(chances @ (losses - mean) ** 2)))

        def law(exponent: int, cut: float) -> Losses:
            if infinite == 0 and float(chances[1:-1].sum()) < BINARY:  # then the sum is a binomial
                return pure_losses(self.end, times, exponent, cut)
            own = min(exponent, math.floor(math.log2(max(spread, self.end / PLACES) / PLACES * 4.0)))
            return on_lattice(losses, chances, own).times(times, cut)

        return LossPart(times, spread, law, float_up(infinite))

    def renyi(self, order: float) -> float:
        """Return an upper bound of the Renyi divergence of an order above 1 over all pairs; see filters."""
        atoms, infinite = self._law()
        if infinite:
            return math.inf
        up, down = (decimal_context(DIGITS, rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR))
        mean = Decimal(0)
        for grown, chance in atoms:
            rounded = up.divide(grown.numerator, grown.denominator)
            power = up.next_plus(up.multiply(up.next_plus(up.ln(rounded)), _less_one(order, grown >= 1)))
            weight = up.divide(chance.numerator, chance.denominator)
            mean = up.add(mean, up.multiply(weight, up.next_plus(up.exp(power))))
        logarithm = max(Decimal(0), up.next_plus(up.ln(mean)))
        return float_up(Fraction(up.divide(logarithm, down.subtract(Decimal(order), 1))))

    def as_json(self) -> list[list[float]]:
        """Return the points as plain values, which are these numbers exactly."""
        return [list(point) for point in self.points]


def _less_one(order: float, upwards: bool) -> Decimal:
    """Return an order minus 1, rounded so that its product with a loss is rounded up."""
    return decimal_context(DIGITS, ROUND_CEILING if upwards else ROUND_FLOOR).subtract(Decimal(order), 1)


def _hockey_stick(pair: Pair, grown: Fraction) -> Fraction:
    """Return the sum of (P - a Q)_+ of a pair, exactly."""
    above = sum((count * max(Fraction(0), one - grown * two) for count, one, two in pair), Fraction(0))
    return above / sum(count * one for count, one, _ in pair)


@dataclass(frozen=True)
class LossPart:
    """Reports of one kind in a total.

    Attributes
    ----------
    times : int
    spread : float
        The standard deviation of the loss of one of them, about; it only chooses the lattice.
    law : callable
        From a lattice's exponent and the mass that may be cut off to the law of all of them.
    infinite : float
        The mass at infinity of each, besides that of the law.
    """

    times: int
    spread: float
    law: Callable[[int, float], Losses]
    infinite: float = 0.0


def pure_part(epsilon: float, delta: float, times: int) -> LossPart:
    """Return reports of which an epsilon and a delta are known, and nothing else."""
    return LossPart(times, epsilon, lambda exponent, cut: pure_losses(epsilon, times, exponent, cut), delta)


def composed_epsilon(parts: Sequence[LossPart], within: float) -> float:
    """Return an epsilon that all reports together have with this delta, next to the least; or infinity.

    Parameters
    ----------
    parts : sequence of LossPart
    within : float
        Above 0.

    Examples
    --------
    >>> round(composed_epsilon([pure_part(0.1, 0.0, 365)], 1e-6), 2)
    10.31
    """
    return law_of(parts, within).epsilon(within * (1.0 - 1e-12))


def law_of(parts: Sequence[LossPart], within: float) -> Losses:
    """Return the law of the sum of all losses; what it cuts off is a small part of the delta ``within``."""
    cut = cut_of(sum(part.times for part in parts), within)
    spread = sum(part.times * part.spread**2 for part in parts)
    exponent = math.floor(math.log2(math.sqrt(spread) / FINE)) if spread else 0
    law = no_loss(exponent)
    for part in parts:
        if part.spread > 0.0:
            law = law.plus(part.law(exponent, cut), cut)
        law = replace(law, infinite=law.infinite + part.times * part.infinite)
    return law


def cut_of(count: int, within: float) -> float:
    """Return the mass that each step of a total of that many reports may cut off."""
    return within * PART / (4.0 * count)
