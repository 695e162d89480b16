"""Responses: k-ary randomized response, one message per user; private already before the shuffler."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.client import Steps
from mechdesign.collect.frequency_limits import WorstLimits
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.exponential import exp_lower, float_up, log_ratio
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.count_limits import CountLimits, two_kinds
from mechdesign.families.shuffle.divergence import response_cumulants
from mechdesign.families.shuffle.fair_coins import blanket_divergence
from mechdesign.families.shuffle.noise import (
    Allowed,
    Messages,
    Noise,
    chance,
    least_weight,
    part,
    response_ends,
)
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.tasks import (
    Array,
    HistogramEstimate,
    HistogramProtocol,
    SumProtocol,
    TotalEstimate,
)

FINEST = 1 << 12
"""No more steps are tried when the precision is left open."""


@frozen_value()
class Responses(Noise):
    """The user's value, or another one with the probability other / 2**62 each."""

    other: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check_weight("other", 1, most_other(self.size))

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise whose divergence is proven to be small enough."""
        least, most = least_other(allowed.local_cap, size), most_other(size)
        if least > most:
            raise OutOfReachError(
                "local_cap is too small for weights of 62 digits", remedy="give a larger one"
            )
        return least_weight(partial(cls, promise, size), least, most, size)

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the constants of the paper: survey, eq. (8)."""
        share = published_share(promise, size)
        other = max(least_other(allowed.local_cap, size), math.ceil(share * TOTAL / size))
        if other > most_other(size):
            raise OutOfReachError(
                "local_cap is too small for weights of 62 digits", remedy="give a larger one"
            )
        return cls(promise, size, other)

    @property
    def own(self) -> int:
        """The weight of the user's value."""
        return TOTAL - (self.size - 1) * self.other

    @cached_property
    def least_delta(self) -> float:
        """The divergence for a message among those of the others' that may stand for either of two values."""
        return response_delta(self.promise, chance(self.own), chance(self.other))

    proof = "blanket of fair coins between any two categories, all other messages revealed"

    @property
    def local_epsilon(self) -> float:
        """ln(own / other), rounded up."""
        return float_up(log_ratio(self.own, self.other))

    def client_parts(self) -> list[Steps]:
        return [part("response", **response_ends(self.size, self.other))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        return responses(values, self.other, self.size, source).reshape(-1, 1)


class HistKR(HistogramProtocol):
    """Every user sends the category, or another one with the probability other / 2**62 each.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2019); the certificate tells the adversary every message that stands
    for neither of two categories, docs/families/shuffle_protocols.md.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> round(HistKR.calibrated(promise, 10).rmse, 1), round(HistKR.published(promise, 10).rmse, 1)
    (7.1, 15.9)
    """

    type: ClassVar[str] = "hist-kr"
    noise: Responses
    _hiding = Responses

    @property
    def _gain(self) -> float:
        return (self.noise.own - self.noise.other) / TOTAL

    def variance_of(self, count: Array) -> Array:
        other = self.noise.other
        p, q = self.noise.own / TOTAL, other / TOTAL
        rest = self.promise.users - count
        result: Array = (
            count * p * (((self.labels.size - 1) * other) / TOTAL) + rest * q * (1.0 - q)
        ) / self._gain**2
        return result

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        users = self.promise.users
        value = (sums - users * (self.noise.other / TOTAL)) / self._gain
        law = two_kinds(users, chance(self.noise.own), chance(self.noise.other))
        return self.counts(value, messages, CountLimits(sums, value, users, law))


@frozen_value()
class SumResponses(Responses):
    """:class:`Responses` for a number of steps."""

    proof = "blanket of fair coins between any two numbers, all other messages revealed"

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise; with size 0 also of about the best number of steps.

        The chance of another number that is needed hardly depends on how many there are, unless it is what
        makes a report private by itself: then a few numbers are best.
        """
        if size:
            return cls._of_steps(promise, size - 1, allowed)
        first = cls._of_steps(promise, 8, allowed)
        noises = [cls._of_steps(promise, best_precision(promise.users, first.other / TOTAL), allowed)]
        if allowed.local_cap is not None:
            noises += [cls._of_steps(promise, steps, allowed) for steps in range(1, 8)]
        return min(noises, key=lambda noise: noise.rmse)

    @classmethod
    def _of_steps(cls, promise: Promise, steps: int, allowed: Allowed) -> Self:
        size = steps + 1
        least = least_other(allowed.local_cap, size)
        return least_weight(partial(cls, promise, size), least, most_other(size), size)

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the constants of the paper, and with size 0 its precision, a cube root."""
        if not size:
            log = math.log(2.0 / promise.delta)
            steps = np.cbrt(3.0 * promise.honest_users * promise.epsilon**2 / (28.0 * log))
            size = max(1, round(steps)) + 1
        share = published_share(promise, size)
        return cls(promise, size, min(most_other(size), math.ceil(share * TOTAL / size)))

    @property
    def rmse(self) -> float:
        """The root of users times the largest variance of one report."""
        return math.sqrt(self.promise.users * worst_variance(self.size - 1, self.other / TOTAL))


class RSumKR(SumProtocol):
    """Every user sends the number of steps, or another one with the probability other / 2**62 each.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2019).

    Examples
    --------
    >>> protocol = RSumKR.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> protocol.precision, round(protocol.rmse, 1)
    (31, 27.9)
    """

    type: ClassVar[str] = "rsum-kr"
    noise: SumResponses
    _hiding = SumResponses

    @property
    def rmse(self) -> float:
        """The root of users times the largest variance of one report."""
        return self.noise.rmse

    @property
    def _most_added(self) -> int:
        return self.precision

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        users, steps, other = self.promise.users, self.precision, chance(self.noise.other)
        offset = users * other * steps * (steps + 1) / 2
        value = float((int(sums[0]) - offset) / (1 - (steps + 1) * other) / steps)
        unit = 1.0 / float((1 - (steps + 1) * other) * steps)
        response = response_cumulants(users, steps + 1, float(other))
        return self.total(value, messages, WorstLimits.of([(response, unit)], users, steps, unit))


def response_delta(promise: Promise, own: Fraction, other: Fraction) -> float:
    """Return the proven divergence of k-ary randomized responses with these probabilities, any k >= 2."""
    return blanket_divergence(promise.honest_users - 1, 2 * other, own, other, promise.epsilon)


def most_other(categories: int) -> int:
    """Return the largest weight of another category that leaves the user's own a little more likely."""
    return TOTAL // categories - (1 << 20)


def least_other(local_cap: float | None, categories: int) -> int:
    """Return the least weight that is private by itself at this epsilon; 1 without one.

    Examples
    --------
    >>> least_other(math.log(3.0), 2) / TOTAL
    0.25
    """
    return 1 if local_cap is None else max(1, math.ceil(TOTAL / (exp_lower(local_cap) + categories - 1)))


def published_share(promise: Promise, size: int) -> float:
    """Return lambda of the survey's eq. (8), the probability of a uniform response.

    Raises
    ------
    OutOfReachError
        Outside the theorem's conditions epsilon <= 1 and lambda <= 1, saying what would do.
    """
    if promise.epsilon > 1.0:
        raise OutOfReachError("its theorem is for epsilon up to 1", remedy="give a smaller one")
    log, others = math.log(2.0 / promise.delta), promise.honest_users - 1
    needed = size * max(14.0 * log / promise.epsilon**2, 27.0 / promise.epsilon)
    if needed >= others:
        least = math.ceil((needed + 2.0) / promise.honest)
        raise OutOfReachError(f"requires at least {least} users", remedy="give this many")
    return needed / others


def worst_variance(precision: int, other: float) -> float:
    """Return the largest variance of a report's unbiased number over all x in [0, 1].

    With g = 1 - (k + 1) w the variance at x k = X + f is
    (g (X^2 + 2 X f + f) + w sum v^2 - (g (X + f) + w sum v)^2) / (g k)^2, concave in f.

    Parameters
    ----------
    precision : int
        k.
    other : float
        w.

    Examples
    --------
    >>> worst_variance(2, 0.0)  # rounding alone, halfway between two steps
    0.0625
    """
    numbers = np.arange(precision, dtype=np.float64)
    gain = 1.0 - (precision + 1) * other
    mean = other * precision * (precision + 1) / 2.0
    square = other * precision * (precision + 1) * (2 * precision + 1) / 6.0
    part = np.clip(((2.0 * numbers + 1.0) / 2.0 - mean) / gain - numbers, 0.0, 1.0)
    second = gain * (numbers**2 + 2.0 * numbers * part + part) + square
    variance = second - (gain * (numbers + part) + mean) ** 2
    return float(variance.max()) / (gain * precision) ** 2


def best_precision(users: int, other: float) -> int:
    """Return the precision of least error when each other number has this probability."""
    most = min(FINEST, int(0.5 / other) + 1)
    errors = [worst_variance(steps, other) for steps in range(1, most + 1) if (steps + 1) * other < 0.9]
    return 1 + int(np.argmin(errors)) if errors else 1


def responses(values: NDArray[np.int64], other: int, alphabet: int, source: BitSource) -> NDArray[np.int64]:
    """Return randomized responses: every other symbol with the chance other / 2**62, else the own one.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> responses(np.array([1, 1, 1]), 1, 3, bit_source(1))
    array([1, 1, 1])
    """
    own = TOTAL - (alphabet - 1) * other
    beyond = source.integers(len(values)) - (own - other)
    # What is below own - other keeps the symbol; the rest are equal shares, one a symbol.
    result: NDArray[np.int64] = np.where(beyond < 0, values, np.maximum(beyond, 0) // other)
    return result
