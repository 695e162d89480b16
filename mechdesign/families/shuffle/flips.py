"""Flips: bits that are flipped now and then; one of a count, unary ones of a sum."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.frequency_limits import WorstLimits
from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import ParameterError
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.exponential import exp_lower, float_up, log_ratio
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.client import flags, flips_part
from mechdesign.families.shuffle.count_limits import CountLimits, Group, two_kinds
from mechdesign.families.shuffle.estimates import TotalEstimate
from mechdesign.families.shuffle.fair_coins import blanket_divergence, group_divergence
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, chance, least_weight
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.tasks import CountProtocol, SumProtocol

MOST_FLIP = TOTAL // 2 - (1 << 20)
"""Above this a bit says next to nothing, and the estimate would lose its digits."""

MOST_BITS = 1 << 10
"""More bits of a number are refused."""

FINEST = 128
"""No more bits are tried when the precision is left open."""

MOST_MESSAGES = 1 << 27
"""More messages of all users together are refused: they would not fit into memory."""


@frozen_value()
class Flips(Noise):
    """Bits, each flipped with the probability flip / 2**62."""

    flip: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check_weight("flip", 1, MOST_FLIP)

    @property
    def chance(self) -> Fraction:
        """The probability of a flip."""
        return chance(self.flip)

    @property
    def gain(self) -> float:
        """By how much more often a bit is 1 when it was 1 before."""
        return float(1 - 2 * self.chance)

    @property
    def variance(self) -> float:
        """Of the unbiased number of ones among a bit of each user, whatever they are."""
        q = float(self.chance)
        return self.promise.users * q * (1.0 - q) / (1.0 - 2.0 * q) ** 2


@frozen_value()
class BitFlips(Flips):
    """One bit of each user."""

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise whose divergence is proven to be small enough."""
        least = _least_flip(allowed.local_cap)
        return least_weight(partial(cls, promise, size), least, MOST_FLIP, 2, "bits")

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the constants of the paper: survey, eq. (11)."""
        log, users = math.log(4.0 / promise.delta), promise.honest_users
        if promise.epsilon >= math.sqrt(192.0 * log / users):
            share = 64.0 * log / (users * promise.epsilon**2)
        else:
            share = 1.0 - promise.epsilon * math.sqrt(users) / math.sqrt(432.0 * log)
        flip = max(_least_flip(allowed.local_cap), math.ceil(share / 2.0 * TOTAL))
        return cls(promise, size, min(MOST_FLIP, flip))

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
    def telling_delta(self) -> float:
        """The first of the two that is small enough, in the order of the time that they take."""
        if self._among_coins <= self.promise.delta:
            return self._among_coins
        return min(self._among_coins, self._over_all.until(self.promise.epsilon, self.promise.delta))

    proof = "binary responses over all data of the others"

    @property
    def local_epsilon(self) -> float:
        """ln((1 - q) / q), rounded up."""
        return float_up(log_ratio(TOTAL - self.flip, self.flip))

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [flips_part(1, "below", False, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the flipped bits."""
        return (values ^ flags(len(values), self.flip, source)).reshape(-1, 1)


class CntRR(CountProtocol):
    """Every user sends one bit, flipped with the probability flip / 2**62.

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
    noise: BitFlips
    _hiding = BitFlips

    @property
    def rmse(self) -> float:
        """The standard deviation sqrt(n q (1 - q)) / (1 - 2 q): unbiased, and the same for all data."""
        q = self.noise.chance
        return math.sqrt(self.promise.users * float(q * (1 - q))) / self.noise.gain

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased count; the interval is exact."""
        users, q = self.promise.users, self.noise.chance
        value = float(int(sums[0]) - users * q) / self.noise.gain
        limits = CountLimits.of(int(sums[0]), value, users, two_kinds(users, 1 - q, q))
        return self.total(value, messages, limits)


@frozen_value()
class UnaryFlips(Flips):
    """As many bits of each user as there are steps, as many ones as the number has."""

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise; with size 0 of about epsilon sqrt(n) / 10 steps."""
        steps = size - 1
        if not size:
            steps = max(1, min(FINEST, round(promise.epsilon * math.sqrt(promise.users) / 10.0)))
            steps = min(steps, allowed.max_messages or steps)
        require_bits(steps)
        return least_weight(partial(cls, promise, steps + 1), 1, MOST_FLIP, 2, digits=7)

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the paper's constants for each bit; with size 0 of epsilon sqrt(n) steps.

        Each of r bits has epsilon/r and delta/r by basic composition, or epsilon/sqrt(8 r ln(2/delta)) and
        delta/(2 r) by advanced composition, whichever flips less.
        """
        steps = size - 1
        if not size:
            steps = max(1, math.ceil(promise.epsilon * math.sqrt(promise.users)))
            steps = min(steps, MOST_BITS, allowed.max_messages or steps)
        advanced = promise.epsilon / math.sqrt(8.0 * steps * math.log(2.0 / promise.delta))
        flips = []
        for epsilon, part in ((promise.epsilon / steps, steps), (advanced, 2 * steps)):
            with suppress(ParameterError):  # a part that is too small for a promise of its own
                bit = changed(promise, epsilon=min(epsilon, promise.epsilon), delta=promise.delta / part)
                flips.append(BitFlips.printed(bit, 2, Allowed()).flip)
        if not flips:
            raise OutOfReachError(f"epsilon is too small for {steps} bits", remedy="give a smaller precision")
        return cls(promise, steps + 1, min(flips))

    @cached_property
    def least_delta(self) -> float:
        """The divergence of all ones and all zeros of a user, among the coins of the others' bits."""
        trials = (self.promise.honest_users - 1) * self.most_messages
        return group_divergence(trials, self.chance, self.most_messages, self.promise.epsilon)

    proof = "all of a user's bits among fair coins; 1 and 0 are the worst pair of values"

    @property
    def most_messages(self) -> int:
        """One bit a step."""
        return self.size - 1

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is a bit."""
        return (2,)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [flips_part(self.size - 1, "below", False, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return each user's bits, flipped."""
        bits = np.arange(self.size - 1) < values[:, None]
        flipped = bits.ravel() ^ flags(bits.size, self.flip, source).astype(np.bool_)
        return flipped.astype(np.int64).reshape(-1, 1)


class RSumRR(SumProtocol):
    """Every user sends one bit a step, as many ones as steps, each flipped with the probability flip / 2**62.

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
    noise: UnaryFlips
    _hiding = UnaryFlips

    def __init__(self, promise: Promise, calibration: str, precision: int, *, flip: int) -> None:
        super().__init__(promise, calibration, precision, flip=flip)
        require_bits(self.precision)

    @property
    def rmse(self) -> float:
        """The worst over all data: the flips' standard deviation, and rounding halfway between two steps."""
        q, steps = float(self.noise.chance), self.precision
        flips = q * (1.0 - q) / (steps * (1.0 - 2.0 * q) ** 2)
        return math.sqrt(self.promise.users * (flips + 1.0 / (4.0 * steps * steps)))

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum."""
        users, q = self.promise.users, self.noise.chance
        value = float((int(sums[0]) - users * self.precision * q) / (1 - 2 * q) / self.precision)
        flips = Group.bits(users * self.precision, q).cumulants()[1:]
        unit = 1.0 / (self.noise.gain * self.precision)
        return self.total(value, messages, WorstLimits.of([(flips, unit)], users, self.precision, unit))


def _least_flip(local_cap: float | None) -> int:
    """Return the least weight of a flip that is private by itself at this epsilon; 1 without one.

    Examples
    --------
    >>> _least_flip(math.log(3.0)) / TOTAL
    0.25
    """
    return 1 if local_cap is None else max(1, math.ceil(TOTAL / (exp_lower(local_cap) + 1)))


def require_bits(steps: int) -> None:
    """Raise OutOfReachError for more bits of a user than are taken."""
    if steps > MOST_BITS:
        raise OutOfReachError(f"it is for at most {MOST_BITS} steps", remedy="give a smaller precision")


def require_sent(messages: float) -> None:
    """Raise OutOfReachError for more messages of all users than fit into memory."""
    if messages > MOST_MESSAGES:
        raise OutOfReachError(
            f"it sends {messages:.10g} messages in all, at most {MOST_MESSAGES}",
            remedy="give fewer users or categories",
        )
