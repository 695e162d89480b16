"""Histogram by hashing with shufflers that add fake messages: users keep more of the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import crowd_divergence
from mechdesign.core.errors import DataError
from mechdesign.core.randomness import TOTAL, BitSource, Rng
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import Group
from mechdesign.mechanisms.oracles.draws import below
from mechdesign.mechanisms.oracles.family import prime_from
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.hist_kr import least_other, most_other
from mechdesign.mechanisms.shuffle.promise import MOST_USERS, OutOfReachError, Promise, least_passing
from mechdesign.mechanisms.shuffle.solh import MOST_BUCKETS, ROUNDS, SOLH

SHARE = 100
"""A shuffler adds one fake message for so many users."""

MOST_SHUFFLERS = 100


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
    >>> protocol.fakes, protocol.rmse < SOLH.calibrated(promise, 10_000).rmse
    (1000, True)
    """

    type: ClassVar[str] = "murs"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        buckets: int,
        other: int,
        fakes: int,
        shufflers: int = 1,
    ) -> None:
        super().__init__(promise, calibration, categories, labels, buckets=buckets, other=other)
        self.fakes = integer("fakes", fakes, 1, MOST_USERS)
        self.shufflers = integer("shufflers", shufflers, 1, MOST_SHUFFLERS)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        local_cap: float | None = None,
        labels: Sequence[str] | None = None,
        shufflers: int = 1,
    ) -> Self:
        """Return the one of least error of some numbers of buckets, with one fake message for 100 users."""
        fakes, most = -(-promise.users // SHARE), min(prime_from(categories), MOST_BUCKETS)
        made = partial(cls, promise, "exact", categories, labels, fakes=fakes, shufflers=shufflers)
        found: list[Self] = []
        buckets = max(2, min(most, round(best_buckets(promise.users, 100.0))))
        for _ in range(ROUNDS):
            least, top = least_other(local_cap, buckets), most_other(buckets)
            size = buckets
            other = (
                None
                if least > top
                else least_passing(partial(_is_private, made, size), least, top, end=TOTAL // buckets)
            )
            if other is None:
                raise OutOfReachError("epsilon is too small for weights of 62 digits; give a larger one")
            found.append(made(buckets=buckets, other=other))
            coins = promise.users * (2.0 * other / TOTAL) + 2.0 * fakes / buckets
            wanted = max(2, min(most, round(best_buckets(promise.users + fakes, coins))))
            if wanted == buckets:
                break
            buckets = wanted
        return min(found, key=lambda protocol: protocol.rmse)

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        local_cap: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with the constant of the paper: (n - 1)/s + fakes/d' = 14 ln(2/delta) / epsilon^2.

        s = e^local + d' - 1 for d' buckets, of least error for a rare category.
        """
        if promise.epsilon > 1.0:
            raise OutOfReachError("its theorem is for epsilon up to 1; give a smaller one")
        fakes, most = -(-promise.users // SHARE), min(prime_from(categories), MOST_BUCKETS)
        wanted = 14.0 * math.log(2.0 / promise.delta) / promise.epsilon**2
        buckets = np.arange(2, most + 1, dtype=np.float64)
        lacking = np.maximum(wanted - fakes / buckets, 1e-12 * wanted)
        inverse = lacking / max(1, promise.honest_users - 1)
        gap = 1.0 - buckets * inverse  # p - 1/d', up to its factor 1 - 1/d'
        error = np.where(gap > 0.0, 1.0 / (buckets - 1.0) / np.where(gap > 0.0, gap, 1.0) ** 2, np.inf)
        best = int(error.argmin())
        if not math.isfinite(error[best]):
            raise OutOfReachError(
                f"its theorem wants more than {promise.honest_users} honest users; give more users"
            )
        size = int(buckets[best])
        other = max(math.ceil(inverse[best] * TOTAL), least_other(local_cap, size))
        if other > most_other(size):
            raise OutOfReachError("no response is as private as that; give a larger local_cap")
        return cls(promise, "published", categories, labels, buckets=size, other=other, fakes=fakes)

    def parameters(self) -> dict[str, Any]:
        """Return the number of buckets, the weight of another bucket and the number of fakes."""
        several = {} if self.shufflers == 1 else {"shufflers": self.shufflers}
        return {**super().parameters(), "fakes": self.fakes, **several}

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories, of users and of shufflers."""
        own, other = self._apart * Fraction(self.own, TOTAL), self._apart * Fraction(self.other, TOTAL)
        crowds = (
            (self.promise.honest_users - 1, 2 * other),
            (self.fakes, 2 * self._apart / self.family.buckets),
        )
        return crowd_divergence(crowds, own, other, self.promise.epsilon)

    proof = "blanket of fair coins of users and shufflers that fit one of two categories"

    @property
    def _fake_variance(self) -> float:
        fit = 1.0 / self.family.buckets
        return self.fakes * self.shufflers * fit * (1.0 - fit)

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of unbiased counts of categories that so many users hold."""
        p, q = self._shares
        result: NDArray[np.float64] = super().variance_of(count) + self._fake_variance / (p - q) ** 2
        return result

    @property
    def fitting_fakes(self) -> tuple[Group, ...]:
        """The fakes that fit a category."""
        return (Group.bits(self.fakes * self.shufflers, Fraction(1, self.family.buckets)),)

    @property
    def message_range(self) -> tuple[int, int]:
        """One message of each user, and the fakes."""
        return (self.promise.users + self.fakes * self.shufflers,) * 2

    def with_fakes(self, messages: Messages, rng: Rng) -> Messages:
        """Return the messages with the fakes of all shufflers; those of all users are wanted, each once."""
        if len(messages) != self.promise.users:
            raise DataError(
                f"messages: {len(messages)}, and {self.promise.users} users send one each; shuffle those "
                "of all users together, once"
            )
        return self._added(messages, self.fakes * self.shufflers, self.source(rng, "shuffle"))

    def mix(self, messages: Any, rng: Rng = None) -> Messages:
        """Return what one of the shufflers passes on: its fakes added, and all messages sorted.

        The shufflers stand in a row: each mixes what the one before has passed on, and the analyzer gets the
        messages of the last one.

        Raises
        ------
        DataError
            For a number of messages that no shuffler in the row gets.
        """
        checked, users = self.checked_messages(messages), self.promise.users
        if len(checked) not in range(users, users + self.fakes * self.shufflers, self.fakes):
            raise DataError(
                f"messages: {len(checked)}, and a shuffler in the row gets {users} and {self.fakes} for each "
                "one before it; give those"
            )
        mixed = self._added(checked, self.fakes, self.source(rng, f"shuffle {len(checked)}"))
        return mixed[np.lexsort(mixed.T[::-1])]

    def _added(self, messages: Messages, fakes: int, source: BitSource) -> Messages:
        seeds = below(self.family.seeds, fakes, source)
        buckets = below(self.family.buckets, fakes, source)
        return np.concatenate([messages, np.stack([seeds, buckets], axis=1)])


def _is_private(made: Any, buckets: int, other: int) -> bool:
    private: bool = made(buckets=buckets, other=other).holds
    return private


def best_buckets(messages: int, coins: float) -> float:
    """Return about the best number of buckets when so many coins between two categories are needed.

    With a chance w of each other bucket, w = coins / (2 messages), it is (1/w + 2) / 3.

    Examples
    --------
    >>> best_buckets(1000, 20.0)
    34.0
    """
    return (2.0 * messages / max(coins, 1e-9) + 2.0) / 3.0
