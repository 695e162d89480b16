"""Counting with binomial noise: true bits, hidden among fair coins that some users add."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import Group, NoiseLimits, Sum
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.counts import CountProtocol
from mechdesign.mechanisms.shuffle.draws import bits, checked_weight
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy

MOST_TRIALS = 1 << 10
"""No user adds more coins."""


class CntBN(CountProtocol):
    """Every user sends the true bit, and ``trials`` times a fair coin with the chance coin / 2**62.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    trials : int
        1 unless there are too few users; at most 1024.
    coin : int
        A weight from 1 to 2**62.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), with the number of coins a user adds made random, so that
    many users together add no more than is needed.

    Examples
    --------
    >>> protocol = CntBN.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> round(1e6 * float(protocol.chance)), round(protocol.rmse, 2), round(protocol.mean_messages, 6)
    (100, 5.01, 1.0001)
    """

    type: ClassVar[str] = "cnt-bn"

    def __init__(self, promise: Promise, calibration: str, trials: int, coin: int) -> None:
        super().__init__(promise, calibration)
        self.trials = integer("trials", trials, 1, MOST_TRIALS)
        self.coin = checked_weight("coin", coin, 1, TOTAL)

    @classmethod
    def calibrated(cls, promise: Promise, max_messages: int | None = None) -> Self:
        """Return the one with about the fewest coins whose divergence is proven to be small enough."""
        most = min(MOST_TRIALS, MOST_TRIALS if max_messages is None else max_messages - 1)
        if most < 1:
            raise OutOfReachError("it needs 2 messages a user; allow as many")
        trials = least_passing(lambda count: cls(promise, "exact", count, TOTAL).holds, 1, most, 40)
        if trials is None:
            way = remedy(promise, lambda other: cls(other, "exact", most, TOTAL).holds)
            coins = "1 coin" if most == 1 else f"{most} coins"
            raise OutOfReachError(f"{coins} of each of {promise.honest_users} users are too few; {way}")
        coin = least_passing(lambda weight: cls(promise, "exact", trials, weight).holds, 1, TOTAL)
        assert coin is not None  # the largest weight passed above
        return cls(promise, "exact", trials, coin)

    @classmethod
    def published(cls, promise: Promise, max_messages: int | None = None) -> Self:
        """Return the one with the constant of the survey's theorem 6 for half of delta.

        The other half is the chance that too few coins are added: Chernoff's bound says how many it takes.
        """
        exponential = math.exp(promise.epsilon)
        needed = 20.0 * ((exponential + 1.0) / (exponential - 1.0)) ** 2 * math.log(4.0 / promise.delta)
        slack = math.log(2.0 / promise.delta)
        mean = needed + slack + math.sqrt(slack * slack + 2.0 * slack * needed)
        trials = math.ceil(mean / promise.honest_users)
        most = MOST_TRIALS if max_messages is None else max_messages - 1
        if trials > min(most, MOST_TRIALS):
            raise OutOfReachError(
                f"its theorem wants {trials + 1} messages a user; allow them, or give more users"
            )
        return cls(promise, "published", trials, math.ceil(mean / (trials * promise.honest_users) * TOTAL))

    def parameters(self) -> dict[str, Any]:
        """Return the number of trials and the weight of a coin."""
        return {"trials": self.trials, "coin": self.coin}

    @property
    def chance(self) -> Fraction:
        """The chance that a trial adds a coin."""
        return Fraction(self.coin, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for one true bit among the honest users' coins; how many there are is seen."""
        trials = self.promise.honest_users * self.trials
        return blanket_divergence(trials, self.chance, Fraction(1), Fraction(0), self.promise.epsilon)

    @property
    def holds(self) -> bool:
        """Whether the promise is proven."""
        return self.least_delta <= self.promise.delta

    proof = "one bit among a binomial number of fair coins; the others' bits may be known"
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "many ones among the coins",
    }

    @property
    def rmse(self) -> float:
        """Half the root of the expected number of coins: unbiased, and the same for all data."""
        return math.sqrt(self.promise.users * self.trials * float(self.chance)) / 2.0

    @property
    def least_messages(self) -> int:
        """The true bit."""
        return 1

    @property
    def most_messages(self) -> int:
        """The true bit and all coins."""
        return 1 + self.trials

    @property
    def mean_messages(self) -> float:
        """One and the expected number of coins."""
        return 1.0 + self.trials * float(self.chance)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """The coins."""
        return (Group.bits(self.promise.users * self.trials, self.chance),)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each user the bit, then the coins."""
        added = bits(len(values) * self.trials, self.coin, source).reshape(-1, self.trials).sum(axis=1)
        messages = np.empty(len(values) + int(added.sum()), dtype=np.int64)
        own = np.arange(len(values)) + np.cumsum(added) - added
        is_own = np.zeros(len(messages), dtype=np.bool_)
        is_own[own] = True
        messages[own] = values
        messages[~is_own] = bits(len(messages) - len(own), TOTAL // 2, source)
        return messages.reshape(-1, 1)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the count: the ones less half the coins, with exact limits for that many coins."""
        users = self.promise.users
        coins = messages - users
        limits = NoiseLimits(Sum((Group.bits(coins, 0.5),)), coins / 2.0)
        value = int(sums[0]) - coins / 2.0
        notes = self.message_notes(messages)
        return TotalEstimate("count", value, math.sqrt(coins) / 2.0, users, messages, limits, notes)
