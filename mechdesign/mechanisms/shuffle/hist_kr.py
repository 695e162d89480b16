"""Histogram by k-ary randomized response: one category a user."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.count_limits import CountLimits, two_kinds
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol, responses
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing


class HistKR(HistogramProtocol):
    """Every user sends the category, or another one with the chance other / 2**62 each.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2019); the certificate tells the adversary every message that stands
    for neither of two categories, docs/families/shuffle_protocols.md.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> round(HistKR.calibrated(promise, 10).rmse, 1), round(HistKR.published(promise, 10).rmse, 1)
    (7.1, 15.9)
    """

    type: ClassVar[str] = "hist-kr"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        other: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.other = checked_weight("other", other, 1, most_other(self.labels.size))
        self.own = TOTAL - (self.labels.size - 1) * self.other

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        local_cap: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""
        least, most = least_other(local_cap, categories), most_other(categories)
        if least > most:
            raise OutOfReachError("local_cap is too small for weights of 62 digits; give a larger one")

        made = partial(cls, promise, "exact", categories, labels)
        other = least_passing(lambda weight: made(other=weight).holds, least, most, end=TOTAL // categories)
        if other is None:
            raise OutOfReachError("epsilon is too small for weights of 62 digits; give a larger one")
        return made(other=other)

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        local_cap: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with the constants of the paper: survey, eq. (8)."""
        share = published_share(promise, categories)
        other = max(least_other(local_cap, categories), math.ceil(share * TOTAL / categories))
        if other > most_other(categories):
            raise OutOfReachError("local_cap is too small for weights of 62 digits; give a larger one")
        return cls(promise, "published", categories, labels, other=other)

    def parameters(self) -> dict[str, Any]:
        """Return the weight of another category."""
        return {"other": self.other}

    @cached_property
    def least_delta(self) -> float:
        """The divergence for a message among those of the others' that may stand for either category."""
        return response_delta(self.promise, Fraction(self.own, TOTAL), Fraction(self.other, TOTAL))

    proof = "blanket of fair coins between any two categories, all other messages told"

    @property
    def local_epsilon(self) -> float:
        """ln(own / other), rounded up."""
        return float_up(log_ratio(self.own, self.other))

    @property
    def _gain(self) -> float:
        return (self.own - self.other) / TOTAL

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of unbiased counts of categories that so many users hold."""
        p, q = self.own / TOTAL, self.other / TOTAL
        rest = self.promise.users - count
        result: NDArray[np.float64] = (
            count * p * (((self.labels.size - 1) * self.other) / TOTAL) + rest * q * (1.0 - q)
        ) / self._gain**2
        return result

    @property
    def rmse(self) -> float:
        """The standard deviation of a category that nobody holds."""
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    @property
    def most_messages(self) -> int:
        """One."""
        return 1

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the responses."""
        return responses(values, self.other, self.labels.size, source).reshape(-1, 1)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        users = self.promise.users
        value = (sums - users * (self.other / TOTAL)) / self._gain
        law = two_kinds(users, Fraction(self.own, TOTAL), Fraction(self.other, TOTAL))
        return self.unbiased(value, messages, CountLimits(sums, value, users, law))


def response_delta(promise: Promise, own: Fraction, other: Fraction) -> float:
    """Return the proven divergence of k-ary randomized responses with these chances, any k >= 2."""
    return blanket_divergence(promise.honest_users - 1, 2 * other, own, other, promise.epsilon)


def most_other(categories: int) -> int:
    """Return the largest weight of another category that leaves the own one a little more likely."""
    return TOTAL // categories - (1 << 20)


def least_other(local_cap: float | None, categories: int) -> int:
    """Return the least weight that is private by itself at this epsilon; 1 without one.

    Examples
    --------
    >>> least_other(math.log(3.0), 2) / TOTAL
    0.25
    """
    return 1 if local_cap is None else max(1, math.ceil(TOTAL / (exp_lower(local_cap) + categories - 1)))


def published_share(promise: Promise, size: int) -> float:
    """Return lambda of the survey's eq. (8), the chance of a uniform response.

    Raises
    ------
    OutOfReachError
        Outside the theorem's conditions epsilon <= 1 and lambda <= 1, saying what would do.
    """
    if promise.epsilon > 1.0:
        raise OutOfReachError("its theorem is for epsilon up to 1; give a smaller one")
    log, others = math.log(2.0 / promise.delta), promise.honest_users - 1
    needed = size * max(14.0 * log / promise.epsilon**2, 27.0 / promise.epsilon)
    if needed >= others:
        least = math.ceil((needed + 2.0) / promise.honest)
        raise OutOfReachError(f"its theorem is for at least {least} users; give so many")
    return needed / others
