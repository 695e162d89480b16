"""Counting by presence: all messages are the same, and only their number says anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import binomial, shift_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import Group, NoiseLimits, Sum
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.counts import CountProtocol
from mechdesign.mechanisms.shuffle.draws import bits, checked_weight
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy


class Cnt2M(CountProtocol):
    """Users who hold 1 send a message, and everybody sends another one but for the chance silent / 2**62.

    At most as many messages as users are taken for a count of 0, so that 0 is always estimated as 0: the
    price is a bias for small counts.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    silent : int
        From 1 to 2**61.

    Notes
    -----
    Source: Balcer and Cheu (2020), zero-sum protocol.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = Cnt2M.calibrated(promise)
    >>> round(1e6 * float(protocol.chance), 1), round(1e6 * float(Cnt2M.published(promise).chance), 1)
    (38.8, 895.6)
    """

    type: ClassVar[str] = "cnt-2m"

    def __init__(self, promise: Promise, calibration: str, silent: int) -> None:
        super().__init__(promise, calibration)
        self.silent = checked_weight("silent", silent, 1, TOTAL // 2)

    @classmethod
    def calibrated(cls, promise: Promise) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""
        weight = least_passing(lambda silent: cls(promise, "exact", silent).holds, 1, TOTAL // 2)
        if weight is None:
            most = remedy(promise, lambda other: cls(other, "exact", TOTAL // 2).holds)
            raise OutOfReachError(
                f"a coin of each of {promise.honest_users} users is too little noise; {most}"
            )
        return cls(promise, "exact", weight)

    @classmethod
    def published(cls, promise: Promise) -> Self:
        """Return the one with the constants of the paper: p = 1 - 50 ln(2/delta) / (epsilon^2 n)."""
        noise = 50.0 * math.log(2.0 / promise.delta) / promise.epsilon**2
        if promise.epsilon > 1.0:
            raise OutOfReachError("its theorem is for epsilon up to 1; give a smaller one")
        if promise.honest_users < 2.0 * noise:
            least = math.ceil(2.0 * noise / promise.honest)
            raise OutOfReachError(f"its theorem is for at least {least} users; give so many")
        return cls(promise, "published", math.ceil(noise / promise.honest_users * TOTAL))

    def parameters(self) -> dict[str, Any]:
        """Return the weight of staying silent."""
        return {"silent": self.silent}

    @property
    def chance(self) -> Fraction:
        """The chance that no further message is sent, 1 - p."""
        return Fraction(self.silent, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of a binomial number and the same number plus one."""
        return shift_divergence(binomial(self.promise.honest_users, self.chance), self.promise.epsilon)

    @property
    def holds(self) -> bool:
        """Whether the promise is proven."""
        return self.least_delta <= self.promise.delta

    proof = "divergence of a binomial number and the same plus one"
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "many or few messages in all",
    }

    @cached_property
    def rmse(self) -> float:
        """The largest over all counts c: c^2 Pr[silent >= c] + E[(silent - n q)^2; silent < c]."""
        return truncated_rmse(self.promise.users, self.chance)

    def rmse_at(self, ones: float) -> float:
        """Return the error when this share of the users holds 1: small counts are taken for 0."""
        count = np.array([float(round(ones * self.promise.users))])
        return math.sqrt(float(truncated_squares(self.promise.users, self.chance, count)[0]))

    def messages_at(self, ones: float) -> float:
        """Return the expected messages of a user: one for a 1, and one of those who are not silent."""
        return ones + 1.0 - float(self.chance)

    @property
    def least_messages(self) -> int:
        """None."""
        return 0

    @property
    def most_messages(self) -> int:
        """Two."""
        return 2

    @property
    def mean_messages(self) -> float:
        """Of a user who holds 1."""
        return 2.0 - float(self.chance)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """All messages are 0."""
        return (1,)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return one message for each one and for each user who is not silent."""
        sent = int(values.sum()) + len(values) - int(bits(len(values), self.silent, source).sum())
        return np.zeros((sent, 1), dtype=np.int64)

    one_each: ClassVar[bool] = True

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of messages."""
        return np.array([len(messages)], dtype=np.int64)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the count; the interval is exact, and holds for small counts as well."""
        users, chance = self.promise.users, self.chance
        value = 0.0 if messages <= users else float(messages - users * (1 - chance))
        error = float(truncated_errors(users, chance, np.array([value]), self.rmse)[0])
        limits = NoiseLimits(Sum((Group.bits(users, 1 - chance),)), messages - value)
        notes = () if messages > users else ("no more messages than users: the count is taken for 0",)
        return TotalEstimate("count", value, error, users, messages, limits, notes)


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
    law = binomial(users, chance)
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
    law = binomial(users, chance)
    numbers = law.low + np.arange(len(law.mass), dtype=np.float64)
    above = np.append(np.cumsum(law.mass[::-1])[::-1], 0.0)
    squares = law.mass * (numbers - users * float(chance)) ** 2
    before = np.append(0.0, np.cumsum(squares))
    place = np.clip(counts - law.low, 0, len(numbers)).astype(np.int64)
    result: NDArray[np.float64] = counts**2 * above[place] + before[place]
    return result
