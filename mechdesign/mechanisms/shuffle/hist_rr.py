"""Histogram by attribute fragments: one bit for each category, each flipped and shuffled by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.audit.shuffle_rows import rows_divergence
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import CountLimits, two_kinds
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.cnt_rr import MOST_FLIP, CntRR
from mechdesign.mechanisms.shuffle.draws import checked_weight, flags
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing

MOST_MESSAGES = 1 << 27
"""More messages of all users together are refused: they would not fit into memory."""

PART = 1 << 22
"""Bits that are drawn at a time."""


class HistRR(HistogramProtocol):
    """Every user sends the indicator vector of the category bit by bit, each flipped: attribute fragments.

    A bit is that of :class:`CntRR`; each category has a shuffler of its own. Two values differ in two bits.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
    labels : sequence of str, optional
    flip : int
        Out of 2**62, the chance that a bit is flipped; from 1 to just below 2**61.

    Notes
    -----
    Source: Erlingsson, Feldman, Mironov, Raghunathan, Song, Talwar, Thakurta (2020), attribute fragmenting;
    the survey, section 4.2.

    Examples
    --------
    >>> protocol = HistRR.calibrated(Promise(100_000, 0.9, 1e-6), 20)
    >>> round(protocol.rmse, 1), round(HistRR.published(Promise(100_000, 0.9, 1e-6), 20).rmse, 1)
    (9.6, 52.1)
    """

    type: ClassVar[str] = "hist-rr"
    one_each = True

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        flip: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.flip = checked_weight("flip", flip, 1, MOST_FLIP)
        if promise.users * self.labels.size > MOST_MESSAGES:
            raise OutOfReachError(
                f"it sends {promise.users * self.labels.size} messages in all, at most {MOST_MESSAGES}; "
                "give fewer users or categories"
            )

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""
        _require_messages(categories, max_messages)
        made = partial(cls, promise, "exact", categories, labels)
        flip = least_passing(lambda weight: made(flip=weight).holds, 1, MOST_FLIP, end=TOTAL // 2)
        if flip is None:
            raise OutOfReachError("epsilon is too small for bits of 62 digits; give a larger one")
        return made(flip=flip)

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with the constants of ``cnt-rr``, half of epsilon and delta for each of two bits."""
        _require_messages(categories, max_messages)
        try:
            half = replace(promise, epsilon=promise.epsilon / 2.0, delta=promise.delta / 2.0)
        except ParameterError as error:
            raise OutOfReachError(f"half of the promise is too small ({error}); give a larger one") from None
        return cls(promise, "published", categories, labels, flip=CntRR.published(half).flip)

    def parameters(self) -> dict[str, Any]:
        """Return the weight of a flip."""
        return {"flip": self.flip}

    @property
    def chance(self) -> Fraction:
        """The chance of a flip."""
        return Fraction(self.flip, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of two bits among the coins of the other honest users' bits; 0 if locally private.

        A flipped bit is a fair coin with twice the chance; whose bits are no coins, and the own bits before
        they are flipped, may be known.
        """
        odds = Fraction(TOTAL - self.flip, self.flip)
        if odds**2 <= exp_lower(self.promise.epsilon):
            return 0.0
        others = self.promise.honest_users - 1
        return rows_divergence(others, 2 * self.chance, 2, self.promise.epsilon, self.promise.delta)

    proof = "two bits, each among the coins of the other honest users' bits of its category"

    @property
    def local_epsilon(self) -> float:
        """The epsilon of a user's bits before they are shuffled: two of them differ."""
        return float_up(2 * log_ratio(TOTAL - self.flip, self.flip))

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the flips of a category, whoever holds it."""
        q = float(self.chance)
        return np.full(len(count), self.promise.users * q * (1.0 - q) / (1.0 - 2.0 * q) ** 2)

    @property
    def rmse(self) -> float:
        """The standard deviation of a category: unbiased, and the same for all data."""
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    @property
    def most_messages(self) -> int:
        """A bit for each category."""
        return self.labels.size

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the category, and one more when the bit is 1."""
        return (2 * self.labels.size,)

    @property
    def tally_size(self) -> int:
        """The zeros and the ones of each category."""
        return 2 * self.labels.size

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return each user's bits, flipped."""
        size, parts = self.labels.size, []
        rows, names = max(1, PART // size), 2 * np.arange(size, dtype=np.int64)
        for start in range(0, len(values), rows):
            part = values[start : start + rows]
            bits = flags(len(part) * size, self.flip, source).reshape(-1, size)
            bits[np.arange(len(part)), part] ^= 1
            parts.append((names + bits).reshape(-1, 1))
        return np.concatenate(parts)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many bits of each category are 0, and 1."""
        return np.bincount(messages[:, 0], minlength=2 * self.labels.size).astype(np.int64)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        users, q = self.promise.users, float(self.chance)
        pairs = sums.reshape(-1, 2)
        wrong = np.flatnonzero(pairs.sum(axis=1) != users)
        if len(wrong):
            raise DataError(
                f"messages: category {int(wrong[0])} has {int(pairs[wrong[0]].sum())} bits, and {users} "
                "users send one each; give those of all users"
            )
        ones = pairs[:, 1]
        value = (ones - users * q) / (1.0 - 2.0 * q)
        law = two_kinds(users, 1 - self.chance, self.chance)
        return self.unbiased(value, messages, CountLimits(ones, value, users, law))


def _require_messages(categories: int, max_messages: int | None) -> None:
    if max_messages is not None and max_messages < categories:
        raise OutOfReachError(f"it needs {categories} messages a user; allow as many")
