"""Counting by randomized response: one bit a user, and private already before the shuffler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.audit.shuffle_binary import BinaryDivergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import CountLimits, two_kinds
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.counts import CountProtocol
from mechdesign.mechanisms.shuffle.draws import checked_weight, flags
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing

MOST_FLIP = TOTAL // 2 - (1 << 20)
"""Above this the bit says next to nothing, and the estimate would lose its digits."""


class CntRR(CountProtocol):
    """Every user sends one bit, flipped with the chance flip / 2**62.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    flip : int
        From 1 to just below 2**61.

    Notes
    -----
    Source: Cheu, Smith, Ullman, Zeber, Zhilyaev (2019).

    Examples
    --------
    >>> protocol = CntRR.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> round(protocol.rmse, 1), round(CntRR.published(Promise(1_000_000, 0.9, 1e-6)).rmse, 1)
    (6.3, 24.5)
    """

    type: ClassVar[str] = "cnt-rr"

    def __init__(self, promise: Promise, calibration: str, flip: int) -> None:
        super().__init__(promise, calibration)
        self.flip = checked_weight("flip", flip, 1, MOST_FLIP)

    @classmethod
    def calibrated(cls, promise: Promise, local_cap: float | None = None) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""
        least = 1 if local_cap is None else least_flip(local_cap)
        flip = least_passing(
            lambda weight: cls(promise, "exact", weight).holds, least, MOST_FLIP, end=TOTAL // 2
        )
        if flip is None:
            raise OutOfReachError("epsilon is too small for bits of 62 digits; give a larger one")
        return cls(promise, "exact", flip)

    @classmethod
    def published(cls, promise: Promise, local_cap: float | None = None) -> Self:
        """Return the one with the constants of the paper: survey, eq. (11)."""
        log, users = math.log(4.0 / promise.delta), promise.honest_users
        if promise.epsilon >= math.sqrt(192.0 * log / users):
            share = 64.0 * log / (users * promise.epsilon**2)
        else:
            share = 1.0 - promise.epsilon * math.sqrt(users) / math.sqrt(432.0 * log)
        least = 1 if local_cap is None else least_flip(local_cap)
        return cls(promise, "published", min(MOST_FLIP, max(least, math.ceil(share / 2.0 * TOTAL))))

    def parameters(self) -> dict[str, Any]:
        """Return the weight of a flip."""
        return {"flip": self.flip}

    @property
    def chance(self) -> Fraction:
        """The chance of a flip."""
        return Fraction(self.flip, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The better of two bounds: over all data of the others in ranges, and among fair coins."""
        if not self._among_coins:
            return 0.0
        return min(self._among_coins, self._over_all(self.promise.epsilon))

    @cached_property
    def _among_coins(self) -> float:
        q, others = self.chance, self.promise.honest_users - 1
        return blanket_divergence(others, 2 * q, 1 - q, q, self.promise.epsilon)

    @cached_property
    def _over_all(self) -> BinaryDivergence:
        return BinaryDivergence(self.promise.honest_users, self.local_epsilon, self.promise.delta)

    @property
    def holds(self) -> bool:
        """Whether the promise is proven, asked in the order of the time that it takes."""
        promise = self.promise
        return self._among_coins <= promise.delta or self._over_all.enough(promise.epsilon, promise.delta)

    proof = "binary responses over all data of the others"
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "many ones among the coins",
    }

    @property
    def local_epsilon(self) -> float:
        """ln((1 - q) / q), rounded up."""
        return float_up(log_ratio(TOTAL - self.flip, self.flip))

    @property
    def rmse(self) -> float:
        """The standard deviation sqrt(n q (1 - q)) / (1 - 2 q): unbiased, and the same for all data."""
        return math.sqrt(self.promise.users * float(self.chance * (1 - self.chance))) / self._gain

    @property
    def _gain(self) -> float:
        return float(1 - 2 * self.chance)

    @property
    def most_messages(self) -> int:
        """One."""
        return 1

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the flipped bits."""
        return (values ^ flags(len(values), self.flip, source)).reshape(-1, 1)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased count; the interval is exact."""
        users = self.promise.users
        value = float(int(sums[0]) - users * self.chance) / self._gain
        law = two_kinds(users, 1 - self.chance, self.chance)
        limits = CountLimits.of(int(sums[0]), value, users, law)
        return TotalEstimate("count", value, self.rmse, users, messages, limits)


def least_flip(local_cap: float) -> int:
    """Return the least weight of a flip that is private by itself at this epsilon.

    Examples
    --------
    >>> least_flip(math.log(3.0)) / TOTAL
    0.25
    """
    return max(1, math.ceil(TOTAL / (exp_lower(local_cap) + 1)))
