"""Errors and confidence limits of unbiased joint shares: a score test with the moments of the hypothesis.

For a target (v, c), the value v of some attributes given the value c of others (perhaps of none), and a
user, let Z and Y be the products of the debiased bits at v and at c, brought to the sum 1 over each
attribute. Their means are 1 where the user has v, or c, and 0 otherwise; so for the true share theta of v
among the users with c, the sum of Y (Z - theta) over users has the mean 0, and theta is rejected when it is
too far off. Users are of three classes: with c and v, with c alone, without c. The hypothesis gives the first
two the parts theta and 1 - theta; everything else is taken from the estimated distribution, with one user
more who is anywhere with the same chance. So reports that are rare, and perhaps absent among those observed,
keep their weight: the squares of the observed products would not know of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import AverageLimits
from mechdesign.families.joint.one_hot import AttributeBits

Array = NDArray[np.float64]

ORDERS = 4
"""Moments that are used."""


@dataclass(frozen=True)
class BitMoments:
    """Moments 0 to 4 of a sum-to-one debiased bit of an attribute, for the user's own value and for another.

    Of u[b] = (1 - 1/k) t[b] - (sum of the other t)/k + 1/k, the bits t being independent.

    Examples
    --------
    >>> BitMoments.of(np.array([[0.25, 0.75], [0.75, 0.25]]), 0.75, 0.25, 2).true.tolist()
    [1.0, 1.0, 1.375, 1.9375, 2.875]
    """

    true: Array
    false: Array

    @classmethod
    def of_attribute(cls, attribute: AttributeBits) -> BitMoments:
        """Return those of an attribute's bits; of one bit, those of both values taken together.

        With a true 1 the value 1 has the debiased bit t and the value 0 has 1 - t. Of a symmetric bit, t of a
        true 1 and 1 - t of a true 0 have the same distribution.
        """
        noise = attribute.noise
        if not attribute.alone:
            return cls.of(noise.chances, noise.own, noise.other, attribute.size)
        one, zero = _bit_moments(noise.chances, noise.own, noise.other)
        turned_one, turned_zero = (_plus(np.ones(ORDERS + 1), _times(each, -1.0)) for each in (one, zero))
        true, false = (one + turned_zero) / 2.0, (zero + turned_one) / 2.0
        true[:2], false[:2] = 1.0, (1.0, 0.0)
        return cls(true, false)

    @classmethod
    def of(cls, chances: Array, own: float, other: float, size: int) -> BitMoments:
        """Return them from the probabilities (2, R + 1) of each sequence of R reports, by its number of ones.

        Parameters
        ----------
        chances : (2, R + 1) array
        own, other : float
            q* and p*.
        size : int
            k, how many values the attribute has.
        """
        one, zero = _bit_moments(chances, own, other)
        here, there = 1.0 - 1.0 / size, -1.0 / size
        shift = _times(np.ones(ORDERS + 1), 1.0 / size)
        true = _plus(shift, _times(one, here), *[_times(zero, there)] * (size - 1))
        rest = [_times(zero, there)] * (size - 2)
        false = _plus(shift, _times(zero, here), _times(one, there), *rest)
        true[:2], false[:2] = 1.0, (1.0, 0.0)
        return cls(true, false)


def _bit_moments(chances: Array, own: float, other: float) -> tuple[Array, Array]:
    """Return the moments 0 to 4 of a debiased bit, the mean of R reports: of a true 1, and of a true 0."""
    reports = chances.shape[1] - 1
    ways = np.array([float(math.comb(reports, ones)) for ones in range(reports + 1)])
    debiased = (np.arange(reports + 1) / reports - other) / (own - other)
    powers = debiased[None, :] ** np.arange(ORDERS + 1)[:, None]
    one, zero = powers @ (ways * chances).T[:, 0], powers @ (ways * chances).T[:, 1]
    one[:2], zero[:2] = 1.0, (1.0, 0.0)  # exactly
    return one, zero


def _times(moments: Array, factor: float) -> Array:
    """Return the moments of a multiple."""
    scaled: Array = moments * factor ** np.arange(ORDERS + 1)
    return scaled


def _plus(first: Array, *others: Array) -> Array:
    """Return the moments of a sum of independent variables."""
    total: Array = np.asarray(first, dtype=np.float64)
    for other in others:
        total = np.array(
            [
                sum(math.comb(order, low) * total[low] * other[order - low] for low in range(order + 1))
                for order in range(ORDERS + 1)
            ]
        )
    return total


@dataclass(frozen=True, eq=False)
class ShareLimits(AverageLimits):
    """The limits of the score test for every share of a table.

    Parameters
    ----------
    value : array
        The unbiased shares, or quotients of them, one axis an attribute: first those asked for, then those
        given.
    base : array
        The unbiased shares of the conditions, of the same shape; 1 without conditions.
    likeliest : array
        The most likely distribution of the same attributes.
    outer_count : int
        How many attributes are given.
    bits : sequence of BitMoments
        Those of each axis.
    users : int
    population : bool
        Whether the requested shares are those of the population the users were drawn from.

    Examples
    --------
    >>> bits = BitMoments.of(np.array([[0.25, 0.75], [0.75, 0.25]]), 0.75, 0.25, 2)
    >>> share = np.array([1.0, 0.0])
    >>> ShareLimits.of(share, np.ones(2), share, 0, [bits], 10**6, False).standard_error().round(9)
    array([0.000612, 0.000612])
    """

    value: Array
    base: Array
    users: int
    population: bool
    both: Array  # moments of Y^k Z^l, summed over users of a class, by [k, l] ...
    alone: Array
    without: Array
    mass: Array  # of the condition
    step: float = 0.0

    @classmethod
    def of(
        cls,
        value: Array,
        base: Array,
        likeliest: Array,
        outer_count: int,
        bits: Sequence[BitMoments],
        users: int,
        population: bool,
    ) -> ShareLimits:
        """Return the limits, with the moments of the three classes computed once."""
        smooth = (users * likeliest + 1.0 / likeliest.size) / (users + 1.0)
        inner, axes = likeliest.ndim - outer_count, tuple(range(likeliest.ndim))
        shape = (ORDERS + 1, ORDERS + 1, *likeliest.shape)
        both, alone, without = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        hit = [math.prod(float(each.true[order]) for each in bits[:inner]) for order in range(ORDERS + 1)]
        met = [math.prod(float(each.true[order]) for each in bits[inner:]) for order in range(ORDERS + 1)]
        mass = np.broadcast_to(smooth.sum(axis=axes[:inner], keepdims=True), smooth.shape)
        for low in range(ORDERS + 1):
            among = _moments(smooth, axes[:inner], bits, low)
            alone_low = (among - smooth * hit[low]) / (mass - smooth)
            for high in range(max(2, low), ORDERS + 1):
                own = met[high]
                both[high, low] = own * hit[low]
                alone[high, low] = own * alone_low
                if outer_count:
                    without[high, low] = _moments(among, axes[inner:], bits, high) - own * among
        return cls(value, base, users, population, both, alone, without, np.asarray(mass))

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to [0, 1]."""
        second = self._differences(np.clip(self.value, 0.0, 1.0))[0]
        errors: Array = np.sqrt(second / self.users) / self.base
        return errors

    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        second, third, fourth = (
            cumulant / self.base ** (2 + order)
            for order, cumulant in enumerate(self._differences(hypothesis))
        )
        return second, third, fourth

    def _differences(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of a user's Y (Z - theta), averaged over users."""
        expansions = {order: _factors(theta, order) for order in (2, 3, 4)}
        classes = [
            (self.both, self.mass * theta, 1.0 - theta),
            (self.alone, self.mass * (1.0 - theta), -theta),
        ]
        if self.without.any():  # where nothing is given all users have it
            classes.append((self.without, np.ones_like(theta), np.zeros_like(theta)))
        second, third, fourth = (np.zeros_like(theta) for _ in range(3))
        for moments, weight, mean in classes:
            two, three, four = (
                reduce(np.add, (factor * moments[order, low] for low, factor in enumerate(factors)))
                for order, factors in expansions.items()
            )
            if self.population:
                second, third, fourth = second + weight * two, third + weight * three, fourth + weight * four
                continue
            spread = two - mean**2
            second = second + weight * spread
            third = third + weight * (three - 3.0 * mean * two + 2.0 * mean**3)
            central = four - 4.0 * mean * three + 6.0 * mean**2 * two - 3.0 * mean**4
            fourth = fourth + weight * (central - 3.0 * spread**2)
        if self.population:
            fourth = fourth - 3.0 * second**2
        return np.maximum(second, 0.0), third, fourth


def _moments(table: Array, axes: Sequence[int], bits: Sequence[BitMoments], order: int) -> Array:
    """Return for every cell the sum over all cells of their mass times the moment of the product there."""
    for axis in axes:
        false, more = bits[axis].false[order], bits[axis].true[order] - bits[axis].false[order]
        table = false * table.sum(axis=axis, keepdims=True) + more * table
    return table


def _factors(theta: Array, order: int) -> list[Array]:
    """Return the factors of the moments of Y^order Z^l, l = 0 to order, in that of (Y Z - theta Y)^order."""
    return [math.comb(order, low) * (-theta) ** (order - low) for low in range(order + 1)]
