"""Presence: users who hold a value send it, and so do nearly all others; only their number counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import binomial_mass
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.count_limits import Group, NoiseLimits, Sum
from mechdesign.families.shuffle.divergence import pair_divergence, shift_divergence
from mechdesign.families.shuffle.noise import LEAP, Allowed, Messages, Noise, bits, chance, least_within, part
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, remedy
from mechdesign.families.shuffle.tasks import (
    Array,
    CountProtocol,
    HistogramEstimate,
    HistogramProtocol,
    TotalEstimate,
)


@frozen_value()
class Presence(Noise):
    """A message from every user but for the probability silent / 2**62, from 1 to 2**61."""

    silent: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check_weight("silent", 1, TOTAL // 2)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        build = partial(cls, promise, size)
        silent = least_within(
            lambda weight: build(weight).least_delta, promise.delta, 1, TOTAL // 2, leap=LEAP
        )
        if silent is None:
            most = remedy(promise, lambda other: cls(other, size, TOTAL // 2).holds)
            raise OutOfReachError(
                f"a coin of each of {promise.honest_users} users is too little noise", remedy=most
            )
        return build(silent)

    @property
    def chance(self) -> Fraction:
        """The probability that no further message is sent, 1 - p."""
        return chance(self.silent)

    @property
    @abstractmethod
    def least_messages(self) -> int:
        """Those of who is silent."""

    @property
    def limits(self) -> Sum:
        """The distribution of the messages that are sent next to the true ones."""
        return Sum((Group.bits(self.promise.users, 1 - self.chance),))

    def senders(self, users: int, source: BitSource) -> int:
        """Return the number of these users who are not silent."""
        return users - int(bits(users, self.silent, source).sum())


@frozen_value()
class OnePresence(Presence):
    """For a bit: users who hold 1 send a message next to."""

    proof = "divergence of a binomial number and the same plus one"

    @cached_property
    def least_delta(self) -> float:
        return shift_divergence(binomial_mass(self.promise.honest_users, self.chance), self.promise.epsilon)

    @property
    def least_messages(self) -> int:
        return 0

    @property
    def most_messages(self) -> int:
        return 2

    @property
    def mean_messages(self) -> float:
        return 2.0 - float(self.chance)

    @property
    def alphabets(self) -> tuple[int, ...]:
        return (1,)

    def client_parts(self) -> list[Steps]:
        return [part("presence", size=1, silent=whole_hex(self.silent))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        sent = int(values.sum()) + self.senders(len(values), source)
        return np.zeros((sent, 1), dtype=np.int64)


class Cnt2M(CountProtocol):
    """Users who hold 1 send a message, and everybody sends another one but for the chance silent / 2**62.

    At most as many messages as users are taken for a count of 0, so that 0 is always estimated as 0: the
    price is a bias for small counts.

    Notes
    -----
    Source: Balcer and Cheu (2020), zero-sum protocol.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> exact, published = Cnt2M.calibrated(promise), Cnt2M.published(promise)
    >>> round(1e6 * float(exact.noise.chance), 1), round(1e6 * float(published.noise.chance), 1)
    (38.8, 895.6)
    """

    type: ClassVar[str] = "cnt-2m"
    noise: OnePresence
    _hiding = OnePresence
    _one_each: ClassVar[bool] = True
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "many or few messages in all",
    }

    @cached_property
    def rmse(self) -> float:
        """The largest over all counts c: c^2 Pr[silent >= c] + E[(silent - n q)^2; silent < c]."""
        return truncated_rmse(self.promise.users, self.noise.chance)

    def rmse_at(self, ones: float) -> float:
        """Return the error when this share of the users holds 1: small counts are taken for 0."""
        count = np.array([float(round(ones * self.promise.users))])
        return math.sqrt(float(truncated_squares(self.promise.users, self.noise.chance, count)[0]))

    def messages_at(self, ones: float) -> float:
        """Return the expected messages of a user: one for a 1, and one of those who are not silent."""
        return ones + 1.0 - float(self.noise.chance)

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        return np.array([len(messages)], dtype=np.int64)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the count; the interval is exact, and holds for small counts as well."""
        users, chance = self.promise.users, self.noise.chance
        value = 0.0 if messages <= users else float(messages - users * (1 - chance))
        error = float(truncated_errors(users, chance, np.array([value]), self.rmse)[0])
        notes = () if messages > users else ("no more messages than users: the count is taken for 0",)
        return self.total(value, messages, NoiseLimits(self.noise.limits, messages - value), error, notes)


@frozen_value()
class EachPresence(Presence):
    """For categories: the user's own, and each of all from every user who is not silent about it."""

    proof = "two binomial numbers, the one or the other with one more"

    @cached_property
    def least_delta(self) -> float:
        law = binomial_mass(self.promise.honest_users, self.chance)
        more = law.shifted(1)
        return pair_divergence((more, law), (law, more), self.promise.epsilon)

    @property
    def least_messages(self) -> int:
        return 1

    @property
    def most_messages(self) -> int:
        return 1 + self.size

    @property
    def mean_messages(self) -> float:
        return 1.0 + self.size * (1.0 - float(self.chance))

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        return (Group.bits(self.promise.users * self.size, 1 - self.chance),)

    def client_parts(self) -> list[Steps]:
        return [part("presence", size=self.size, silent=whole_hex(self.silent))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the user's categories, then for each category as many messages as users are not silent."""
        sent = [self.senders(len(values), source) for _ in range(self.size)]
        return np.concatenate([values, np.repeat(np.arange(self.size, dtype=np.int64), sent)]).reshape(-1, 1)


class HistMM(HistogramProtocol):
    """:class:`Cnt2M` for every category: the own one, and each of all but for the chance silent / 2**62.

    Small counts are taken for 0, so that the estimate is not linear.

    Notes
    -----
    Source: Balcer and Cheu (2020). The paper gives each category half of epsilon and delta; the certificate
    takes the two counts that a user changes together.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = HistMM.calibrated(promise, 10)
    >>> round(1e6 * protocol.noise.silent / TOTAL, 1), protocol.most_messages
    (50.2, 11)
    """

    type: ClassVar[str] = "hist-mm"
    noise: EachPresence
    _hiding = EachPresence

    def variance_of(self, count: Array) -> Array:
        chance = self.noise.chance
        return np.full(len(count), self.promise.users * float(chance * (1 - chance)))

    def squares_at(self, count: Array) -> Array:
        """Return the mean squared error of categories that ``count`` users hold; small counts become 0."""
        return truncated_squares(self.promise.users, self.noise.chance, np.floor(count))

    @cached_property
    def rmse(self) -> float:
        """The worst over all counts: small ones are taken for 0, and 0 itself has no error at all."""
        return truncated_rmse(self.promise.users, self.noise.chance)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the counts; those of at most as many messages as users are 0, with exact intervals all."""
        users, chance = self.promise.users, self.noise.chance
        value = np.where(sums > users, sums - users * (1.0 - float(chance)), 0.0)
        errors = truncated_errors(users, chance, value, self.rmse)
        hidden = int((sums <= users).sum())
        notes: tuple[str, ...] = (
            (f"{hidden} categories are taken for 0, up to about {self.rmse:.4g} users",) if hidden else ()
        )
        notes += self._message_notes(messages)
        return self.counts(value, messages, NoiseLimits(self.noise.limits, sums - value), errors, notes)


def truncated_rmse(users: int, chance: Fraction) -> float:
    """Return the worst root mean squared error of a count that is taken for 0 up to the number of users.

    Parameters
    ----------
    users : int
    chance : Fraction
        Of each user's staying silent.

    Examples
    --------
    >>> round(truncated_rmse(2, Fraction(1, 2)) ** 2, 12)  # of two: 2^2 with 1/4, (0 - 1)^2 with 1/4
    1.25
    """
    law = binomial_mass(users, chance)
    numbers = law.low + np.arange(len(law.mass) + 1, dtype=np.float64)
    return math.sqrt(float(truncated_squares(users, chance, numbers).max()))


def truncated_errors(
    users: int, chance: Fraction, values: NDArray[np.float64], worst: float
) -> NDArray[np.float64]:
    """Return the root mean squared errors at estimates; of those taken for 0 the worst of any count.

    Examples
    --------
    >>> truncated_errors(2, Fraction(1, 2), np.array([0.0, 2.0]), 1.2).round(3).tolist()
    [1.2, 1.118]
    """
    at_value = truncated_squares(users, chance, np.floor(np.maximum(values, 0.0)))
    return np.where(values > 0.0, np.sqrt(at_value), worst)


def truncated_squares(users: int, chance: Fraction, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean squared error of each count that is taken for 0 up to the number of users.

    It is c^2 Pr[S >= c] + E[(S - n q)^2; S < c] for S users who stay silent.

    Parameters
    ----------
    users : int
    chance : Fraction
        q, of each user's staying silent.
    counts : (k,) array
        c, whole numbers.

    Examples
    --------
    >>> truncated_squares(2, Fraction(1, 2), np.array([0.0, 1.0, 2.0])).round(12).tolist()
    [0.0, 1.0, 1.25]
    """
    law = binomial_mass(users, chance)
    numbers = law.low + np.arange(len(law.mass), dtype=np.float64)
    above = np.append(np.cumsum(law.mass[::-1])[::-1], 0.0)
    squares = law.mass * (numbers - users * float(chance)) ** 2
    before = np.append(0.0, np.cumsum(squares))
    place = np.clip(counts - law.low, 0, len(numbers)).astype(np.int64)
    result: NDArray[np.float64] = counts**2 * above[place] + before[place]
    return result
