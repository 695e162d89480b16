"""Sum by unary bits: as many bits a user as there are steps, each flipped now and then."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import group_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import Group
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight, flags
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing
from mechdesign.mechanisms.shuffle.sums import SumProtocol
from mechdesign.mechanisms.sum_limits import WorstLimits

MOST_BITS = 1 << 10
"""More bits a user are refused."""

FINEST = 128
"""No more bits are tried when the precision is left open."""


class RSumRR(SumProtocol):
    """Every user sends one bit a step, as many ones as steps, each flipped with the chance flip / 2**62.

    Notes
    -----
    Source: Cheu, Smith, Ullman, Zeber, Zhilyaev (2019). The paper splits epsilon among the bits; the
    certificate takes all of a user's bits together.

    Examples
    --------
    >>> protocol = RSumRR.calibrated(Promise(100_000, 0.9, 1e-6), 20)
    >>> round(protocol.rmse, 1), protocol.most_messages
    (10.3, 20)
    """

    type: ClassVar[str] = "rsum-rr"

    def __init__(self, promise: Promise, calibration: str, precision: int, *, flip: int) -> None:
        super().__init__(promise, calibration, precision)
        if self.precision > MOST_BITS:
            raise OutOfReachError(f"it is for at most {MOST_BITS} steps; give a smaller precision")
        self.flip = checked_weight("flip", flip, 1, TOTAL // 2 - (1 << 20))

    @classmethod
    def calibrated(cls, promise: Promise, precision: int = 0, max_messages: int | None = None) -> Self:
        """Return the one with about the least noise; with precision 0 of about epsilon sqrt(n) / 10 steps."""
        steps = precision or max(1, min(FINEST, round(promise.epsilon * math.sqrt(promise.users) / 10.0)))
        if not precision and max_messages is not None:
            steps = min(steps, max_messages)
        made, most = partial(cls, promise, "exact", steps), TOTAL // 2 - (1 << 20)
        flip = least_passing(lambda weight: made(flip=weight).holds, 1, most, 7, end=TOTAL // 2)
        if flip is None:
            raise OutOfReachError("epsilon is too small for weights of 62 digits; give a larger one")
        return made(flip=flip)

    def parameters(self) -> dict[str, Any]:
        """Return the weight of a flip."""
        return {"flip": self.flip}

    @property
    def chance(self) -> Fraction:
        """The chance of a flip."""
        return Fraction(self.flip, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of all ones and all zeros of a user, among the coins of the others' bits."""
        trials = (self.promise.honest_users - 1) * self.precision
        return group_divergence(trials, self.chance, self.precision, self.promise.epsilon)

    proof = "all of a user's bits among fair coins; 1 and 0 are the worst pair of values"

    @property
    def rmse(self) -> float:
        """The worst over all data: the flips' standard deviation, and rounding halfway between two steps."""
        q, steps = float(self.chance), self.precision
        flips = q * (1.0 - q) / (steps * (1.0 - 2.0 * q) ** 2)
        return math.sqrt(self.promise.users * (flips + 1.0 / (4.0 * steps * steps)))

    @property
    def most_messages(self) -> int:
        """One bit a step."""
        return self.precision

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is a bit."""
        return (2,)

    def encode_piece(self, values: NDArray[np.float64], source: BitSource) -> Messages:
        """Return each user's bits, flipped."""
        bits = np.arange(self.precision) < self.steps(values, source)[:, None]
        flipped = bits.ravel() ^ flags(bits.size, self.flip, source).astype(np.bool_)
        return flipped.astype(np.int64).reshape(-1, 1)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of ones."""
        return np.array([int(messages.sum())], dtype=np.int64)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum."""
        users, q = self.promise.users, self.chance
        value = float((int(sums[0]) - users * self.precision * q) / (1 - 2 * q) / self.precision)
        flips = Group.bits(users * self.precision, q).cumulants()[1:]
        unit = 1.0 / (self._gain * self.precision)
        limits = WorstLimits.of([(flips, unit)], users, self.precision, unit)
        return TotalEstimate("sum", value, self.rmse, users, messages, limits)

    @property
    def _gain(self) -> float:
        return float(1 - 2 * self.chance)
