"""Secure noise: discrete Laplace noise of all users together, in sums that split-mix keeps secret.

Number of categories that users hold: noisy parities, one per category, hidden by shares of one bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.errors import CertificateError
from mechdesign.core.values import Forecast, frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource, exp_lower, exp_upper, float_up
from mechdesign.families.shuffle.count_limits import CountLimits, Group, Listed, NoiseLimits, Sum, two_kinds
from mechdesign.families.shuffle.flips import MOST_FLIP
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, chance, flags, part, require_sent
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, least_passing, remedy
from mechdesign.families.shuffle.secure_sums import (
    DEEPEST,
    LEAST_SHARES,
    LEAST_USERS,
    MOST_MODULUS,
    MOST_SHARES,
    depth_for,
    least_shares,
    least_variation,
    mixing_distance,
    noise_law,
    parity_distance,
    polya_table,
    proven_distance,
    ring_sums,
    split,
)
from mechdesign.families.shuffle.tasks import (
    MOST_STEPS,
    Array,
    CountProtocol,
    HistogramProtocol,
    SumProtocol,
    TotalEstimate,
    TotalProtocol,
)

MOST_LISTED = 1 << 12
"""A law of more numbers on each side is not listed in full."""

WRAP = 50.0
"""The noise leaves the ring's margin with a probability below about e^-WRAP."""


@frozen_value()
class SecureNoise(Noise):
    """Noise of all users together with Pr[x] in proportion to a^|x| for the honest ones alone, in Z_q.

    One user changes the sum by at most size - 1.

    Parameters
    ----------
    promise, size
        As in :class:`Noise`.
    ratio : int
        a as a weight out of 2**62, at least 2**62 e^(-epsilon / sensitivity).
    depth : int
        Of the table of each user's part.
    shares, modulus : int

    Raises
    ------
    CertificateError
        When the ratio is too small for epsilon, or the ring too small for the sum.
    """

    ratio: int = value_field(plain_int)
    depth: int = value_field(plain_int)
    shares: int = value_field(plain_int)
    modulus: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check_weight("ratio", 1, TOTAL - 1)
        self.check("depth", 1, DEEPEST)
        self.check("shares", 1, MOST_SHARES)
        self.check("modulus", 2, MOST_MODULUS)
        if self.alpha < least_ratio(self.promise.epsilon, self.sensitivity):
            raise CertificateError("ratio", "the noise falls faster than epsilon allows", "rebuild it")
        if self.modulus < self.largest + 1 + 2 * self.margin:
            raise CertificateError("modulus", "the ring is too small for the sum and its noise", "rebuild it")

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the least noise and the fewest shares; about sqrt(users) steps where none are given.

        Half of delta is for mixing, a quarter for the tables.
        """
        size = size or min(MOST_STEPS, math.isqrt(promise.users - 1) + 1) + 1
        sensitivity, largest, max_messages = size - 1, promise.users * (size - 1), allowed.max_messages
        if promise.honest_users < LEAST_USERS:
            raise OutOfReachError(
                f"split-mix needs {LEAST_USERS} honest users",
                remedy=f"give at least {math.ceil(LEAST_USERS / Fraction(promise.honest))} users",
            )
        ratio = math.ceil(least_ratio(promise.epsilon, sensitivity) * TOTAL)
        if ratio >= TOTAL:
            raise OutOfReachError("epsilon is too small for ratios of 62 digits", remedy="give a larger one")
        alpha, factor = Fraction(ratio, TOTAL), 1.0 + math.exp(promise.epsilon)
        part = promise.delta / (8.0 * factor * promise.honest_users) * 0.99
        depth = depth_for(promise.honest_users, alpha, part)
        modulus = largest + 1 + 2 * margin_of(promise, alpha)
        if modulus > MOST_MODULUS:
            raise OutOfReachError("the noise needs a ring beyond 55 bits", remedy="give a larger epsilon")
        shares = least_shares(promise.honest_users, modulus, promise.delta / (2.0 * factor) * 0.99)
        if shares is None or (max_messages is not None and shares > max_messages):
            most = MOST_SHARES if max_messages is None else max_messages
            raise OutOfReachError(
                f"a user's shares are too few, {most} among {promise.honest_users} honest users",
                remedy="give more users" if shares is None else f"allow {shares} messages",
            )
        noise = cls(promise, size, ratio, depth, shares, modulus)
        if noise.is_cut_off or noise.least_delta > promise.delta:
            raise OutOfReachError(
                f"the noise does not fit into a table of {DEEPEST} numbers",
                remedy="give a larger epsilon, or a smaller precision",
            )
        return noise

    @property
    def is_cut_off(self) -> bool:
        """Whether what a table leaves out is more than delta for certain; quicker than making the table."""
        users = self.promise.honest_users
        return 2.0 * users * least_variation(users, self.alpha, self.depth) > self.promise.delta

    @property
    def sensitivity(self) -> int:
        """The most by which one user changes the sum."""
        return self.size - 1

    @property
    def largest(self) -> int:
        """The largest true sum; the least one is 0."""
        return self.promise.users * self.sensitivity

    @property
    def alpha(self) -> Fraction:
        """The ratio of neighbouring probabilities."""
        return chance(self.ratio)

    @property
    def margin(self) -> int:
        """Room of the ring for the noise on each side."""
        return margin_of(self.promise, self.alpha)

    @cached_property
    def least_delta(self) -> float:
        """(1 + e^epsilon) times the distance from an ideal secure sum with exact noise, rounded up."""
        return self._delta_at(min(self._proven, mixing_distance(*self._mixed)))

    @property
    def is_computed(self) -> bool:
        """Whether no theorem of others is needed: the distance that is proven here is small enough."""
        return self._delta_at(self._proven) <= self.promise.delta

    @property
    def proof(self) -> str:
        mixing = "distance of mixed shares" if self.is_computed else "theorem of split-mix"
        return f"discrete Laplace noise; {mixing} and total variation of the tables"

    @property
    def _mixed(self) -> tuple[int, int, int]:
        return self.promise.honest_users, self.shares, self.modulus

    @property
    def _proven(self) -> float:
        return proven_distance(*self._mixed)

    def _delta_at(self, mixing: float) -> float:
        _, variation = polya_table(self.promise.honest_users, self.alpha, self.depth)
        distance = Fraction(mixing) + 2 * self.promise.honest_users * variation
        return min(1.0, float_up((1 + exp_upper(self.promise.epsilon)) * distance))

    @property
    def shape(self) -> float:
        """Number of honest crowds in all users."""
        return self.promise.users / self.promise.honest_users

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise when all users are honest."""
        alpha = float(self.alpha)
        return math.sqrt(2.0 * alpha * self.shape) / float(1 - self.alpha)

    @property
    def most_messages(self) -> int:
        return self.shares

    @property
    def alphabets(self) -> tuple[int, ...]:
        return (self.modulus,)

    def client_parts(self) -> list[Steps]:
        return [self.shares_part(0)]

    def shares_part(self, categories: int) -> Steps:
        """Return the part of a client that makes shares: of the value, or of the bit of each category."""
        table, _ = polya_table(self.promise.honest_users, self.alpha, self.depth)
        numbers = {"categories": categories, "shares": self.shares, "modulus": self.modulus}
        return part("noisy", **numbers, **table.client_rows())

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        table, _ = polya_table(self.promise.honest_users, self.alpha, self.depth)
        noisy = values + table.draw(len(values), source) - table.draw(len(values), source)
        return split(noisy % self.modulus, self.shares, self.modulus, source).reshape(-1, 1)

    def centred(self, total: int) -> int:
        """Return the noisy sum that a number of the ring stands for."""
        return total if total <= self.largest + self.margin else total - self.modulus

    def limits(self, scale: float, rounded: int = 0) -> NoiseLimits:
        """Return limits by the law of the noise, with numbers rounded at random, halfway between two steps.

        A law of many numbers is taken on every so manieth of them, one more on each side.

        Parameters
        ----------
        scale : float
            Of the estimate for one unit.
        rounded : int
            How many numbers are rounded.
        """
        step = max(1, math.ceil(max(self.margin, 6.0 * math.sqrt(rounded)) / MOST_LISTED))
        low, mass = noise_law(self.shape, float(self.alpha) ** step, -(-self.margin // step))
        if rounded:
            first, rounding = Sum((Group.bits(rounded, 0.5),)).law()
            places = np.floor_divide(2 * (first + np.arange(len(rounding))) - rounded, 2 * step)
            start = int(places.min())
            low, mass = low + start, np.convolve(mass, np.bincount(places - start, weights=rounding))
        slack = int(step > 1) + rounded % 2
        return NoiseLimits(Listed(Mass(low, mass), slack), 0.0, scale * step)


def least_ratio(epsilon: float, sensitivity: int) -> Fraction:
    """Return a rational number of at least e^(-epsilon / sensitivity)."""
    return 1 / exp_lower(Fraction(epsilon) / sensitivity)


def margin_of(promise: Promise, alpha: Fraction) -> int:
    """Return a reach that the noise of all users exceeds with a probability below about e^-50.

    One side is Polya(s, a) with s = users / honest users; its moment generating function at z = a^(-1/2) is
    ((1 - a) / (1 - sqrt(a)))^s = (1 + sqrt(a))^s, so Pr[X >= t] <= 2^s a^(t / 2).
    """
    shape = promise.users / promise.honest_users
    return math.ceil(2.0 * (WRAP + shape * math.log(2.0) + 1.0) / -math.log(float(alpha)))


class SecureProtocol(TotalProtocol):
    """A noisy sum, hidden by split-mix: formed in a ring, with noise that no message shows by itself."""

    noise: SecureNoise
    _hiding = SecureNoise

    @property
    def _ring(self) -> int:
        return self.noise.modulus

    @property
    def rmse(self) -> float:
        """The worst over all data: the noise, and rounding halfway between two steps."""
        return math.sqrt(self.noise.deviation**2 + self.rounded / 4.0) / self.precision

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        return ring_sums(messages[:, 0], self.noise.modulus)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the noisy sum, with limits by the law of the noise and of rounding halfway between steps."""
        value = self.noise.centred(int(sums[0])) / self.precision
        return self.total(value, messages, self.noise.limits(1.0 / self.precision, self.rounded))


class CntSGM(SecureProtocol, CountProtocol):
    """Every user adds a small part of discrete Laplace noise to the bit, and splits the result into shares.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021) for the noise; Balle, Bell, Gascon, Nissim (2020) for the shares.
    Sent as one message each, bit and noise would not be private at all: :func:`visible_noise_delta`.

    Examples
    --------
    >>> protocol = CntSGM.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> round(protocol.rmse, 2), protocol.noise.shares
    (1.52, 6)
    """

    type: ClassVar[str] = "cnt-sgm"
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "a noisy count of at least the true one",
    }

    def __init__(
        self, promise: Promise, calibration: str, ratio: int, depth: int, shares: int, modulus: int
    ) -> None:
        if shares == 1:
            delta = visible_noise_delta(promise.honest_users, promise.epsilon)
            raise CertificateError(
                "shares",
                "1 leaves bit and noise visible in each message, which is not private: whether any message "
                f"is 1 reveals so much that delta is at least {delta:.3g}",
                f"use {LEAST_SHARES} or more",
            )
        super().__init__(promise, calibration, ratio, depth, shares, modulus)


class RSumDSG(SecureProtocol, SumProtocol):
    """Every user adds a part of discrete Laplace noise to the number of steps, and splits it into shares.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2020).

    Examples
    --------
    >>> protocol = RSumDSG.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> protocol.precision, protocol.noise.shares, round(protocol.rmse, 2)
    (1000, 6, 1.65)
    """

    type: ClassVar[str] = "rsum-dsg"


def visible_noise_delta(users: int, epsilon: float) -> float:
    """Return how large delta is at least when every user sends bit plus Polya noise as one message.

    All other users hold 0. The event is that no message is 1. A user who holds 0 sends no 1 with the chance
    a = Pr[noise != 1], one who holds 1 with b = Pr[noise != 0]: delta >= a^(n - 1) (a - e^epsilon b).

    Parameters
    ----------
    users : int
    epsilon : float

    Examples
    --------
    >>> round(visible_noise_delta(100, 0.9), 3), round(visible_noise_delta(10_000, 0.9), 3)
    (0.651, 0.666)
    """
    ratio, r = math.exp(-epsilon), 1.0 / users
    k = np.arange(1, max(64, math.ceil(60.0 / epsilon)), dtype=np.float64)
    single = (1.0 - ratio) ** r * np.concatenate([[1.0], np.cumprod((r + k - 1.0) / k * ratio)])
    not_zero = 1.0 - float((single * single).sum())
    not_one = 1.0 - float((single[1:] * single[:-1]).sum())
    return max(0.0, not_one ** (users - 1) * (not_one - math.exp(epsilon) * not_zero))


LEAST_GAIN = 1e-100
"""Where all users' bits leave less of the parities' difference, they are refused: they would tell nothing."""

TERMS = 8
"""Of the series of a logarithm."""

PART = 1 << 22
"""Bits that are drawn at a time."""


@frozen_value()
class Parities(Noise):
    """A bit for the parity of each category: a fair one for the own, else 1 with flip / 2**62; in shares.

    The parity of a category that somebody holds is a fair bit, of one that nobody holds it is 1 with
    1/(e^epsilon + 1), when only the honest users' bits count.
    """

    flip: int = value_field(plain_int)
    shares: int = value_field(plain_int)

    is_rational: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        self.check_weight("flip", 1, MOST_FLIP)
        self.check("shares", LEAST_SHARES, MOST_SHARES)
        if not hides_parity(self.promise, self.flip):
            raise CertificateError("flip", "the parities reveal more than epsilon allows", "rebuild it")
        if self.gain < LEAST_GAIN:
            raise OutOfReachError(
                f"the bits of {self.promise.users} users, enough when {self.promise.honest_users} are "
                "honest, leave nothing to count",
                remedy="give a larger honest fraction, or a larger epsilon",
            )
        require_sent(self.promise.users * self.most_messages)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the least noise and the fewest shares."""
        max_messages = allowed.max_messages
        flip = least_passing(partial(hides_parity, promise), 1, MOST_FLIP, 50)
        if flip is None:
            most = remedy(promise, lambda other: hides_parity(other, MOST_FLIP))
            raise OutOfReachError(
                f"the bits of {promise.honest_users} honest users hide no parity", remedy=most
            )
        most_apart = Fraction(promise.delta) / (2 * (1 + exp_upper(promise.epsilon)))
        counts = range(LEAST_SHARES, MOST_SHARES + 1)

        def mixed(other: Promise, count: int) -> bool:
            return parity_distance(other.honest_users, count) <= most_apart

        enough = (count for count in counts if mixed(promise, count))
        shares = next(enough, None)
        if shares is None:
            way = remedy(promise, lambda other: mixed(other, MOST_SHARES))
            raise OutOfReachError(
                f"{MOST_SHARES} shares of a bit mix too little among {promise.honest_users} honest users",
                remedy=way,
            )
        if max_messages is not None and shares * size > max_messages:
            raise OutOfReachError(f"it needs {shares * size} messages per user", remedy="allow as many")
        return cls(promise, size, flip, shares)

    @cached_property
    def least_delta(self) -> float:
        """Delta that mixing costs: (1 + e^epsilon) times its distance, for two categories."""
        distance = 2 * parity_distance(self.promise.honest_users, self.shares)
        return min(1.0, float_up((1 + exp_upper(self.promise.epsilon)) * distance))

    proof = (
        "parities private by themselves; the distance of the mixed shares from what they say, in fractions"
    )

    @cached_property
    def odd(self) -> float:
        """The probability of an odd parity of a category that no user holds, with all users' bits."""
        return -0.5 * math.expm1(self.promise.users * math.log1p(-2.0 * self.flip / TOTAL))

    @cached_property
    def gain(self) -> float:
        """Excess probability of an odd parity of a category that a user holds: (1 - 2 q)^n / 2."""
        return 0.5 * math.exp(self.promise.users * math.log1p(-2.0 * self.flip / TOTAL))

    @property
    def most_messages(self) -> int:
        return self.size * self.shares

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the category, and one more when the share is 1."""
        return (2 * self.size,)

    def client_parts(self) -> list[Steps]:
        return [part("parities", size=self.size, shares=self.shares, flip=whole_hex(self.flip))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        size, m, parts = self.size, self.shares, []
        rows = max(1, PART // (size * m))
        names = np.repeat(2 * np.arange(size, dtype=np.int64), m)
        for start in range(0, len(values), rows):
            part = values[start : start + rows]
            bits = flags(len(part) * size, self.flip, source).reshape(-1, size)
            bits[np.arange(len(part)), part] = flags(len(part), TOTAL // 2, source)
            shares = flags(len(part) * size * m, TOTAL // 2, source).reshape(-1, size, m)
            shares[:, :, 0] ^= np.bitwise_xor.reduce(shares, axis=2) ^ bits  # their parity is the bit
            parts.append((names + shares.reshape(len(part), -1)).reshape(-1, 1))
        return np.concatenate(parts)


class DistinctParity(HistogramProtocol):
    """Every user adds a bit to the parity of each category: a fair one to the own, seldom 1 to the others.

    The parity of a category that somebody holds is a fair bit, of one that nobody holds it is 1 with
    1/(e^epsilon + 1), when only the honest users' bits count. The bits are sent as shares.
    The estimate is linear in the number of odd parities, not of messages.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021).

    Examples
    --------
    >>> protocol = DistinctParity.calibrated(Promise(1000, 1.0, 1e-6), 50)
    >>> protocol.noise.shares, protocol.most_messages, round(protocol.rmse, 1)
    (6, 300, 15.3)
    """

    type: ClassVar[str] = "distinct-parity"
    quantity: ClassVar[str] = "number of distinct categories"
    sensitivity: ClassVar[float] = 1.0  # who changes leaves one category empty at most, and fills one at most
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user alone holds one category or another",
        "event": "an odd parity of the one, an even parity of the other",
    }
    noise: Parities
    _hiding = Parities
    _halves: ClassVar[bool] = True

    def variance_of(self, count: Array) -> Array:
        p, d = self.noise.odd, float(self.labels.size)
        result: Array = (count / 4.0 + (d - count) * p * (1.0 - p)) / self.noise.gain**2
        return result

    @property
    def rmse(self) -> float:
        """The standard deviation when as many categories are held as can be: unbiased for all data."""
        most = min(self.labels.size, self.promise.users)
        return math.sqrt(float(self.variance_of(np.array([float(most)]))[0]))

    def forecast(self, users: int | None = None) -> Forecast:
        quantity = f"the {self.quantity}"
        return Forecast(quantity, self.promise.users, possible=True, largest=self.rmse, of=quantity)

    @property
    def _tally_size(self) -> int:
        return 2 * self.labels.size

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of shares of each category that are 1, then the number of shares."""
        counts = np.bincount(messages[:, 0], minlength=2 * self.labels.size).reshape(-1, 2)
        return np.concatenate([counts[:, 1], counts.sum(axis=1)]).astype(np.int64)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the number of categories that the odd parities speak for; the interval is exact."""
        size, users = self.labels.size, self.promise.users
        self._require_sent(sums[size:], self.noise.shares)
        odd, most = int((sums[:size] % 2).sum()), min(size, users)
        value = (odd - size * self.noise.odd) / self.noise.gain
        held = np.array([min(max(value, 0.0), float(most))])
        error = math.sqrt(float(self.variance_of(held)[0]))
        limits = CountLimits.of(odd, value, most, two_kinds(size, 0.5, self.noise.odd))
        return TotalEstimate(value, error, users, "distinct", messages, limits)


def hides_parity(promise: Promise, flip: int) -> bool:
    """Return whether the parity of the honest users' bits is 1 with at least 1/(e^epsilon + 1).

    It is 1 with (1 - (1 - x)^h) / 2, x = 2 q, and ln(1 - x) <= -(x + x^2 / 2 + ... + x^8 / 8).

    Examples
    --------
    >>> hides_parity(Promise(100, 1.0, 1e-6), TOTAL // 100), hides_parity(Promise(100, 1.0, 1e-6), 1)
    (True, False)
    """
    grown, x = exp_lower(promise.epsilon), Fraction(2 * flip, TOTAL)
    logarithm = sum((x**k / k for k in range(1, TERMS + 1)), start=Fraction(0))
    exponent = min(logarithm * promise.honest_users, Fraction(200))
    return exp_lower(exponent) >= (grown + 1) / (grown - 1)
