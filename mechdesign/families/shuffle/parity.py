"""Number of categories that users hold: noisy parities, one per category, hidden by shares of one bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.recipes import Steps, whole_hex
from mechdesign.core.errors import CertificateError
from mechdesign.core.values import Forecast, frozen_value, value_field
from mechdesign.exact.exponential import exp_lower, exp_upper, float_up
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.client import flags, part
from mechdesign.families.shuffle.count_limits import CountLimits, two_kinds
from mechdesign.families.shuffle.estimates import TotalEstimate
from mechdesign.families.shuffle.flips import MOST_FLIP, require_sent
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, least_passing, remedy
from mechdesign.families.shuffle.secure_sums import LEAST_SHARES, MOST_SHARES, parity_distance
from mechdesign.families.shuffle.tasks import Array, HistogramProtocol

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
        """The shares of a bit for each category."""
        return self.size * self.shares

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the category, and one more when the share is 1."""
        return (2 * self.size,)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [part("parities", size=self.size, shares=self.shares, flip=whole_hex(self.flip))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each user and category the shares of the bit."""
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

    Parameters
    ----------
    promise : Promise
    calibration : {"exact"}
    categories : int
    labels : sequence of str, optional
    flip : int
        Out of 2**62, the chance of a 1 for a category that the user does not hold.
    shares : int
        Of each bit, from 3.

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
        """Return the variance of the estimate when users hold ``count`` categories."""
        p, d = self.noise.odd, float(self.labels.size)
        result: Array = (count / 4.0 + (d - count) * p * (1.0 - p)) / self.noise.gain**2
        return result

    @property
    def rmse(self) -> float:
        """The standard deviation when as many categories are held as can be: unbiased for all data."""
        most = min(self.labels.size, self.promise.users)
        return math.sqrt(float(self.variance_of(np.array([float(most)]))[0]))

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the error for the users it was made for."""
        quantity = f"the {self.quantity}"
        return Forecast(quantity, self.promise.users, possible=True, largest=self.rmse, of=quantity)

    @property
    def _tally_size(self) -> int:
        """The shares that are 1, and all shares, of each category."""
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
