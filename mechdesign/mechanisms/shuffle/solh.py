"""Histogram by hashing: a hash function of the user's own, and a randomized response on its few buckets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.audit.exponential import float_up, log_ratio
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import CountLimits, Group, Sum, two_kinds
from mechdesign.mechanisms.oracles.draws import below
from mechdesign.mechanisms.oracles.family import AffineFamily, collision, prime_from
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.hist_kr import least_other, most_other
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol, responses
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing

MOST_BUCKETS = 1 << 20
ROUNDS = 3
"""The number of buckets is set so often to what is best for the noise that the last number needed."""


class SOLH(HistogramProtocol):
    """Every user draws a hash function and sends it with the bucket, or another bucket, other / 2**62 each.

    The hash functions are affine maps of a prime field: any two categories share a bucket with the same
    chance, exactly.

    Notes
    -----
    Source: Wang, Ding, Zhou, Xu, Li, Jha (2020), with that family of hash functions.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = SOLH.calibrated(promise, 100_000)
    >>> protocol.family.buckets, round(protocol.rmse, 1), round(SOLH.published(promise, 100_000).rmse, 1)
    (6763, 17.6, 41.0)
    """

    type: ClassVar[str] = "solh"
    columns: ClassVar[tuple[str, ...]] = ("hash", "bucket")

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        buckets: int,
        other: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        prime = prime_from(self.labels.size)
        self.family = AffineFamily(prime, integer("buckets", buckets, 2, min(prime, MOST_BUCKETS)))
        self.other = checked_weight("other", other, 1, most_other(self.family.buckets))
        self.own = TOTAL - (self.family.buckets - 1) * self.other

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        local_cap: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one of about the least error whose divergence is proven to be small enough.

        The noise needed hardly depends on the number of buckets g, and with a chance w of each other bucket
        the best one is (1/w + 2) / 3.
        """
        most, buckets, best = min(prime_from(categories), MOST_BUCKETS), 2, None
        for _ in range(ROUNDS):
            found = cls._with_buckets(promise, categories, buckets, local_cap, labels)
            best = found if best is None or found.rmse < best.rmse else best
            wanted = min(most, max(2, round((TOTAL / found.other + 2.0) / 3.0)))
            if wanted == buckets:
                break
            buckets = wanted
        assert best is not None
        return best

    @classmethod
    def _with_buckets(
        cls,
        promise: Promise,
        categories: int,
        buckets: int,
        local_cap: float | None,
        labels: Sequence[str] | None,
    ) -> Self:
        made = partial(cls, promise, "exact", categories, labels, buckets=buckets)
        least, most = least_other(local_cap, buckets), most_other(buckets)
        other = (
            None
            if least > most
            else least_passing(lambda weight: made(other=weight).holds, least, most, end=TOTAL // buckets)
        )
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
        """Return the one with M = epsilon^2 (n - 1) / (14 ln(2/delta)) and (M + 2) / 3 buckets."""
        if promise.epsilon > 1.0:
            raise OutOfReachError("its theorem is for epsilon up to 1; give a smaller one")
        log, others = math.log(2.0 / promise.delta), promise.honest_users - 1
        mass = min(promise.epsilon**2 * others / (14.0 * log), promise.epsilon * others / 27.0)
        if mass <= 3.0:
            least = math.ceil((3.0 * others / max(mass, 1e-9) + 3.0) / promise.honest)
            raise OutOfReachError(f"its theorem needs at least {least} users; give so many")
        buckets = min(prime_from(categories), MOST_BUCKETS, max(2, round((mass + 2.0) / 3.0)))
        other = max(least_other(local_cap, buckets), math.ceil(TOTAL / mass))
        return cls(promise, "published", categories, labels, buckets=buckets, other=other)

    def parameters(self) -> dict[str, Any]:
        """Return the number of buckets and the weight of another bucket."""
        return {"buckets": self.family.buckets, "other": self.other}

    @cached_property
    def _apart(self) -> Fraction:
        """The chance that a hash function tells two categories apart."""
        return 1 - collision(self.family.prime, self.family.buckets)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories; the others are told."""
        own, other = self._apart * Fraction(self.own, TOTAL), self._apart * Fraction(self.other, TOTAL)
        trials = self.promise.honest_users - 1
        return blanket_divergence(trials, 2 * other, own, other, self.promise.epsilon)

    proof = "blanket of fair coins among messages that fit one of two categories, the others told"

    @property
    def local_epsilon(self) -> float:
        """ln(own / other), rounded up."""
        return float_up(log_ratio(self.own, self.other))

    @cached_property
    def _shares(self) -> tuple[float, float]:
        """The chances that a message fits the own category, and another one."""
        own, other = Fraction(self.own, TOTAL), Fraction(self.other, TOTAL)
        return float(own), float((1 - self._apart) * own + self._apart * other)

    @property
    def fitting_fakes(self) -> tuple[Group, ...]:
        """The messages of others than users that fit a category: none."""
        return ()

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of unbiased counts of categories that so many users hold."""
        p, q = self._shares
        rest = self.promise.users - count
        result: NDArray[np.float64] = (count * p * (1.0 - p) + rest * q * (1.0 - q)) / (p - q) ** 2
        return result

    @property
    def rmse(self) -> float:
        """The standard deviation of a category that nobody holds."""
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    @property
    def most_messages(self) -> int:
        """One: a hash function with a bucket."""
        return 1

    @property
    def alphabets(self) -> tuple[int, ...]:
        """The hash functions and the buckets."""
        return self.family.seeds, self.family.buckets

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return hash functions and responses."""
        seeds = below(self.family.seeds, len(values), source)
        own = self.family.buckets_of(seeds, values)
        return np.stack([seeds, responses(own, self.other, self.family.buckets, source)], axis=1)

    one_each: ClassVar[bool] = False

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many messages each category fits; the whole work of the analyzer."""
        return self.family.supports(messages[:, 0], messages[:, 1], self.labels.size)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        p, q = self._shares
        users, fakes = self.promise.users, self.fitting_fakes
        law = two_kinds(users, p, q, fakes)
        value = (sums - users * q - Sum(fakes).mean) / (p - q)
        return self.unbiased(value, messages, CountLimits(sums, value, users, law))
