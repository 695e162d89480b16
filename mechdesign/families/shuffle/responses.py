"""Responses: k-ary randomized response, one message per user; private already before the shuffler.

Hashing: a hash function of the user's own, a response on its few buckets, and fakes of the shufflers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import DataError
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import plain_int, prime_from
from mechdesign.exact.randomness import TOTAL, BitSource, Rng, exp_lower, float_up, log_ratio
from mechdesign.families.shuffle.count_limits import TwoKinds, two_kinds
from mechdesign.families.shuffle.divergence import response_cumulants
from mechdesign.families.shuffle.fair_coins import blanket_divergence, crowd_divergence
from mechdesign.families.shuffle.noise import (
    Allowed,
    Digit,
    Messages,
    Noise,
    NoiseClass,
    chance,
    least_weight,
    part,
    response_ends,
)
from mechdesign.families.shuffle.promise import USERS_LIMIT, OutOfReachError, Promise
from mechdesign.families.shuffle.tasks import HistogramProtocol, SumProtocol
from mechdesign.primitives.hashing import AffineFamily, collision

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
        least, most = least_other(allowed.local_cap, size), most_other(size)
        if least > most:
            raise OutOfReachError(
                "local_cap is too small for weights of 62 digits", remedy="give a larger one"
            )
        return least_weight(partial(cls, promise, size), least, most, size)

    @property
    def own(self) -> int:
        """The weight of the user's value."""
        return TOTAL - (self.size - 1) * self.other

    @cached_property
    def least_delta(self) -> float:
        """The divergence for a message among those of the others' that may stand for either of two values."""
        own, other, trials = chance(self.own), chance(self.other), self.promise.honest_users - 1
        return blanket_divergence(trials, 2 * other, own, other, self.promise.epsilon)

    proof = "blanket of fair coins between any two categories, all other messages revealed"

    @property
    def local_epsilon(self) -> float:
        return float_up(log_ratio(self.own, self.other))

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users, chance(self.own), chance(self.other))

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

    @property
    def rmse(self) -> float:
        """The root of users times the largest variance of one report."""
        return math.sqrt(self.promise.users * worst_variance(self.size - 1, self.other / TOTAL))

    @property
    def sum_digits(self) -> Sequence[Digit]:
        users, size, other = self.promise.users, self.size, chance(self.other)
        spread = response_cumulants(users, size, float(other))
        return (Digit(1, other * size * (size - 1) / 2, 1 - size * other, 1, spread),)


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
    def _most_added(self) -> int:
        return self.precision


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


MOST_BUCKETS = 1 << 20
ROUNDS = 3
"""Rounds that set the number of buckets to the best one for the noise that the last number needed."""

SHARE = 100
"""Number of users for each fake message of a shuffler."""

MOST_SHUFFLERS = 100


@frozen_value()
class HashedResponses(Noise):
    """A hash function with the user's bucket, or another bucket with the probability other / 2**62 each.

    The hash functions are affine maps of a prime field: any two categories share a bucket with the same
    chance, exactly.
    """

    buckets: int = value_field(plain_int)
    other: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check("buckets", 2, most_buckets(self.size))
        self.check_weight("other", 1, most_other(self.buckets))

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise of about the least error whose divergence is proven to be small enough.

        The noise needed hardly depends on the number of buckets g, and with a chance w of each other bucket
        the best one is (1/w + 2) / 3.
        """
        most, buckets, noises = most_buckets(size), 2, list[Self]()
        for _ in range(ROUNDS):
            build = partial(cls, promise, size, buckets)
            least = least_other(allowed.local_cap, buckets)
            noises.append(least_weight(build, least, most_other(buckets), buckets))
            better = min(most, max(2, round((TOTAL / noises[-1].other + 2.0) / 3.0)))
            if better == buckets:
                break
            buckets = better
        return min(noises, key=lambda noise: noise.rmse)

    @property
    def own(self) -> int:
        """The weight of the user's bucket."""
        return TOTAL - (self.buckets - 1) * self.other

    @cached_property
    def family(self) -> AffineFamily:
        """The hash functions."""
        return AffineFamily(prime_from(self.size), self.buckets)

    @cached_property
    def apart(self) -> Fraction:
        """The probability that a hash function tells two categories apart."""
        return 1 - collision(self.family.prime, self.buckets)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories; the others are told."""
        own, other = self.apart * chance(self.own), self.apart * chance(self.other)
        trials = self.promise.honest_users - 1
        return blanket_divergence(trials, 2 * other, own, other, self.promise.epsilon)

    proof = "blanket of fair coins among messages that fit one of two categories, the others revealed"

    @property
    def local_epsilon(self) -> float:
        return float_up(log_ratio(self.own, self.other))

    @cached_property
    def fits(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a message fits the user's category, and another one."""
        own, other = chance(self.own), chance(self.other)
        return own, (1 - self.apart) * own + self.apart * other

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users, *self.fits)

    @property
    def rmse(self) -> float:
        """The standard deviation of a category that no user holds."""
        return math.sqrt(float(self.decoder(0).variance(np.zeros(1))[0]))

    @property
    def alphabets(self) -> tuple[int, ...]:
        return self.family.seeds, self.buckets

    def client_parts(self) -> list[Steps]:
        shape = {"prime": self.family.prime, "buckets": self.buckets}
        return [part("hashed", **shape, **response_ends(self.buckets, self.other))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        seeds = below(self.family.seeds, len(values), source)
        own = self.family.buckets_of(seeds, values)
        return np.stack([seeds, responses(own, self.other, self.buckets, source)], axis=1)


class SOLH(HistogramProtocol):
    """Every user draws a hash function and sends it with the bucket, or another bucket, other / 2**62 each.

    A message counts for all categories that its hash function sends to the bucket.

    Notes
    -----
    Source: Wang, Ding, Zhou, Xu, Li, Jha (2020), with affine maps of a prime field as hash functions.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = SOLH.calibrated(promise, 100_000)
    >>> protocol.noise.buckets, round(protocol.rmse, 1), round(SOLH.published(promise, 100_000).rmse, 1)
    (6763, 17.6, 41.0)
    """

    type: ClassVar[str] = "solh"
    _message_parts: ClassVar[tuple[str, ...]] = ("hash", "bucket")
    _one_each: ClassVar[bool] = False
    noise: HashedResponses
    _hiding: ClassVar[NoiseClass] = HashedResponses

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of messages that each category fits; the whole work of the analyzer."""
        return self.noise.family.supports(messages[:, 0], messages[:, 1], self.labels.size)


@frozen_value()
class FakeResponses(HashedResponses):
    """:class:`HashedResponses` and ``fakes`` uniform messages of each of some ``shufflers``."""

    fakes: int = value_field(plain_int)
    shufflers: int = value_field(plain_int, default=1)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.check("fakes", 1, USERS_LIMIT)
        self.check("shufflers", 1, MOST_SHUFFLERS)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed, shufflers: int = 1) -> Self:
        """Return the noise of least error of some numbers of buckets, with one fake for 100 users."""
        fakes, most = -(-promise.users // SHARE), most_buckets(size)
        noises: list[Self] = []
        buckets = max(2, min(most, round(best_buckets(promise.users, 100.0))))
        for _ in range(ROUNDS):
            build = partial(cls, promise, size, buckets, fakes=fakes, shufflers=shufflers)
            least = least_other(allowed.local_cap, buckets)
            noises.append(least_weight(build, least, most_other(buckets), buckets))
            coins = promise.users * (2.0 * noises[-1].other / TOTAL) + 2.0 * fakes / buckets
            better = max(2, min(most, round(best_buckets(promise.users + fakes, coins))))
            if better == buckets:
                break
            buckets = better
        return min(noises, key=lambda noise: noise.rmse)

    def parameters(self) -> dict[str, Any]:
        parameters = super().parameters()
        if self.shufflers == 1:
            del parameters["shufflers"]
        return parameters

    @property
    def all_fakes(self) -> int:
        """Those of all shufflers."""
        return self.fakes * self.shufflers

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories, of users and of a shuffler."""
        own, other = self.apart * chance(self.own), self.apart * chance(self.other)
        crowds = ((self.promise.honest_users - 1, 2 * other), (self.fakes, 2 * self.apart / self.buckets))
        return crowd_divergence(crowds, own, other, self.promise.epsilon)

    proof = "blanket of fair coins of users and shufflers that fit one of two categories"

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users, *self.fits, self.all_fakes, Fraction(1, self.buckets))

    def added(self, messages: Messages, fakes: int, source: BitSource) -> Messages:
        """Return messages and ``fakes`` fakes."""
        seeds = below(self.family.seeds, fakes, source)
        buckets = below(self.buckets, fakes, source)
        return np.concatenate([messages, np.stack([seeds, buckets], axis=1)])


class MURS(SOLH):
    """:class:`SOLH` with ``fakes`` uniform messages that the shufflers add, and that hide users as well.

    The shufflers are trusted to add them, and not to tell which they are. Several ``shufflers`` in a row add
    ``fakes`` each: one of them has to be honest, the others may collude with the analyzer.

    Notes
    -----
    Source: Wang, Ding, Zhou, Xu, Li, Jha (2020).

    Examples
    --------
    >>> promise = Promise(100_000, 0.9, 1e-6)
    >>> protocol = MURS.calibrated(promise, 10_000)
    >>> protocol.noise.fakes, protocol.rmse < SOLH.calibrated(promise, 10_000).rmse
    (1000, True)
    """

    type: ClassVar[str] = "murs"
    noise: FakeResponses
    _hiding = FakeResponses

    @property
    def _message_range(self) -> tuple[int, int]:
        return (self.promise.users + self.noise.all_fakes,) * 2

    def with_fakes(self, messages: Messages, rng: Rng) -> Messages:
        """Return the messages with the fakes of all shufflers; those of all users are wanted, each once."""
        if len(messages) != self.promise.users:
            raise DataError(
                "messages",
                f"{len(messages)}, and {self.promise.users} users send one each",
                "shuffle those of all users together, once",
            )
        return self.noise.added(messages, self.noise.all_fakes, self.source(rng, "shuffle"))

    def mix(self, messages: Any, rng: Rng = None) -> Messages:
        """Return the output of one of the shufflers: its fakes added, and all messages sorted.

        The shufflers stand in a row: each mixes what the one before has passed on, and the analyzer gets the
        messages of the last one.

        Raises
        ------
        DataError
            For a number of messages that no shuffler in the row gets.
        """
        checked, users = self._checked_messages(messages), self.promise.users
        if len(checked) not in range(users, users + self.noise.all_fakes, self.noise.fakes):
            raise DataError(
                "messages",
                f"{len(checked)}, and a shuffler in the row gets {users} and {self.noise.fakes} for each "
                "one before it",
                "give those",
            )
        mixed = self.noise.added(checked, self.noise.fakes, self.source(rng, f"shuffle {len(checked)}"))
        return mixed[np.lexsort(mixed.T[::-1])]


def most_buckets(categories: int) -> int:
    """Return the most buckets of a hash function on ``categories`` categories."""
    return min(prime_from(categories), MOST_BUCKETS)


def best_buckets(messages: int, coins: float) -> float:
    """Return about the best number of buckets when ``coins`` coins between two categories are needed.

    With a chance w of each other bucket, w = coins / (2 messages), it is (1/w + 2) / 3.

    Examples
    --------
    >>> best_buckets(1000, 20.0)
    34.0
    """
    return (2.0 * messages / max(coins, 1e-9) + 2.0) / 3.0
