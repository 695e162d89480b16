"""Histogram by presence: for every category a message from nearly everybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import binomial, pair_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import Group, NoiseLimits, Sum
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.cnt_2m import truncated_errors, truncated_rmse, truncated_squares
from mechdesign.mechanisms.shuffle.draws import bits, checked_weight
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy


class HistMM(HistogramProtocol):
    """:class:`Cnt2M` for every category: the own one, and each of all but for the chance silent / 2**62.

    Notes
    -----
    Source: Balcer and Cheu (2020). The paper gives each category half of epsilon and delta; the certificate
    takes the two counts that a user changes together.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = HistMM.calibrated(promise, 10)
    >>> round(1e6 * protocol.silent / TOTAL, 1), protocol.most_messages
    (50.2, 11)
    """

    type: ClassVar[str] = "hist-mm"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        silent: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.silent = checked_weight("silent", silent, 1, TOTAL // 2)

    @classmethod
    def calibrated(cls, promise: Promise, categories: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""
        made = partial(cls, calibration="exact", categories=categories, labels=labels)
        weight = least_passing(lambda silent: made(promise, silent=silent).holds, 1, TOTAL // 2)
        if weight is None:
            most = remedy(promise, lambda other: made(other, silent=TOTAL // 2).holds)
            raise OutOfReachError(f"coins of {promise.honest_users} users are too little noise; {most}")
        return made(promise, silent=weight)

    @classmethod
    def published(cls, promise: Promise, categories: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one with the paper's p = 1 - 200 ln(4/delta) / (epsilon^2 n)."""
        noise = 200.0 * math.log(4.0 / promise.delta) / promise.epsilon**2
        if promise.epsilon > 2.0:
            raise OutOfReachError("its theorem is for epsilon up to 2; give a smaller one")
        if promise.honest_users < 2.0 * noise:
            least = math.ceil(2.0 * noise / promise.honest)
            raise OutOfReachError(f"its theorem is for at least {least} users; give so many")
        silent = math.ceil(noise / promise.honest_users * TOTAL)
        return cls(promise, "published", categories, labels, silent=silent)

    def parameters(self) -> dict[str, Any]:
        """Return the weight of staying silent about a category."""
        return {"silent": self.silent}

    @property
    def chance(self) -> Fraction:
        """The chance that no further message is sent for a category, 1 - p."""
        return Fraction(self.silent, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of two binomial numbers, the one or the other with one more."""
        law = binomial(self.promise.honest_users, self.chance)
        more = law.shifted(1)
        return pair_divergence((more, law), (law, more), self.promise.epsilon)

    proof = "two binomial numbers, the one or the other with one more"

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the noise of a category."""
        return np.full(len(count), self.promise.users * float(self.chance * (1 - self.chance)))

    def squares_at(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean squared error of categories that so many users hold: small ones count as 0."""
        return truncated_squares(self.promise.users, self.chance, np.floor(count))

    @cached_property
    def rmse(self) -> float:
        """The worst over all counts: small ones are taken for 0, and 0 itself has no error at all."""
        return truncated_rmse(self.promise.users, self.chance)

    @property
    def least_messages(self) -> int:
        """The own category."""
        return 1

    @property
    def most_messages(self) -> int:
        """The own category and every one."""
        return 1 + self.labels.size

    @property
    def mean_messages(self) -> float:
        """One and nearly all categories."""
        return 1.0 + self.labels.size * (1.0 - float(self.chance))

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """Those of users who are not silent."""
        return (Group.bits(self.promise.users * self.labels.size, 1 - self.chance),)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the own categories, then for each category as many messages as users are not silent."""
        users, size = len(values), self.labels.size
        sent = [users - int(bits(users, self.silent, source).sum()) for _ in range(size)]
        return np.concatenate([values, np.repeat(np.arange(size, dtype=np.int64), sent)]).reshape(-1, 1)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the counts; those of at most as many messages as users are 0, with exact intervals all."""
        users = self.promise.users
        value = np.where(sums > users, sums - users * (1.0 - float(self.chance)), 0.0)
        errors = truncated_errors(users, self.chance, value, self.rmse)
        limits = NoiseLimits(Sum((Group.bits(users, 1 - self.chance),)), sums - value)
        hidden = int((sums <= users).sum())
        notes: tuple[str, ...] = (
            (f"{hidden} categories are taken for 0, up to about {self.rmse:.4g} users",) if hidden else ()
        )
        names = tuple(self.labels.shown())
        notes += self.message_notes(messages)
        return HistogramEstimate(value, errors, names, users, messages, notes, limits)
