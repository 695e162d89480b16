"""Hashing: a hash function of the user's own, a response on its few buckets, and fakes of the shufflers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.client import Steps
from mechdesign.core.errors import DataError
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.draws import AffineFamily, below, collision, prime_from
from mechdesign.exact.exponential import float_up, log_ratio
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource, Rng
from mechdesign.families.shuffle.count_limits import TwoKinds, two_kinds
from mechdesign.families.shuffle.fair_coins import blanket_divergence, crowd_divergence
from mechdesign.families.shuffle.noise import (
    Allowed,
    Messages,
    Noise,
    NoiseClass,
    chance,
    least_weight,
    part,
    response_ends,
)
from mechdesign.families.shuffle.promise import USERS_LIMIT, Promise
from mechdesign.families.shuffle.responses import least_other, most_other, responses
from mechdesign.families.shuffle.tasks import HistogramProtocol

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
