"""Local hashing: hash the category into few buckets, then randomized response on these (OLH)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import prime_from
from mechdesign.exact.randomness import TOTAL, BitSource, exp_written, weight
from mechdesign.families.marginals.oracles.support import ReportClass, SupportOracle
from mechdesign.primitives.hashing import AffineFamily, collision
from mechdesign.primitives.oracle import Shares

BLOCK = 1 << 16
"""Reports that are drawn at a time."""

LARGEST_REPORT = 1 << 53
"""Reports are below this: integers that every program keeps."""


class LocalHashing(SupportOracle):
    """Draw a hash function, and report it with the user's bucket, or with another one by other / 2**62 each.

    The hash functions are those of ``AffineFamily``, drawn uniformly and without looking at the answer. A
    report is one whole number: the seed of the hash function times the number of buckets, plus the bucket.
    Given the hash function, the bucket is reported by randomized response with the integer weights that are
    audited; two answers that share a bucket cannot be told apart by it at all.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    buckets : int
        g, from 2 to the field's prime, the least that is not below the number of categories.
    other : int
        A weight out of 2**62, of each bucket that is not the own one.
    labels : sequence of str, optional

    Notes
    -----
    Source: Wang, Blocki, Li, Jha (2017), section 4.4, with another hash family.

    Examples
    --------
    >>> oracle = LocalHashing.of(1024, 1.0, buckets=4)
    >>> oracle.report_bits, round(oracle.variance(), 4)
    (23, 3.6824)
    """

    type: ClassVar[str] = "local-hashing"
    most_categories: ClassVar[int] = 1 << 20

    def __init__(
        self, categories: int, epsilon: float, buckets: int, other: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        prime = prime_from(self.labels.size)
        most = min(prime, LARGEST_REPORT // (prime * (prime - 1)))
        self.family = AffineFamily(prime, integer("buckets", buckets, 2, most))
        self.other = weight("other", other, 1, TOTAL // self.family.buckets)
        self.own = TOTAL - (self.family.buckets - 1) * self.other
        self._require_private()

    @classmethod
    def of(cls, categories: int, epsilon: float, buckets: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        bound = exp_written(epsilon)
        chosen = integer("buckets", buckets, 2)
        return cls(
            categories, privacy_epsilon(epsilon), chosen, math.ceil(TOTAL / (bound + chosen - 1)), labels
        )

    def weights(self) -> dict[str, int]:
        return {"other": self.other}

    def parameters(self) -> dict[str, int]:
        return {"buckets": self.family.buckets}

    @cached_property
    def _shares(self) -> Shares:
        own, other = Fraction(self.own, TOTAL), Fraction(self.other, TOTAL)
        alike = collision(self.family.prime, self.family.buckets)
        return own, alike * own + (1 - alike) * other

    def support_shares(self) -> Shares:
        return self._shares

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        seeds, values = np.divmod(np.asarray(read), self.family.buckets)
        numbers = np.arange(self.labels.size) if place is None else np.array([place])
        result: NDArray[np.bool_] = self.family.buckets_of(seeds[:, None], numbers) == values[:, None]
        return result

    def weight_ratio(self) -> float:
        """Return the weight of a bucket that is not the own one over that of the own one."""
        return self.other / self.own

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the buckets for a hash function that tells the two answers apart."""
        rest = self.family.buckets - 2
        return (
            ReportClass("the first answer's bucket", 1, self.own, self.other),
            ReportClass("the second answer's bucket", 1, self.other, self.own),
            ReportClass("another bucket", rest, self.other, self.other),
        )

    @property
    def reports(self) -> int:
        """Number of different reports."""
        return self.family.seeds * self.family.buckets

    @property
    def report_bits(self) -> int:
        return (self.reports - 1).bit_length()

    @property
    def _report_text(self) -> str:
        return f"a number from 0 to {self.reports - 1}: hash function and bucket"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), BLOCK):
            part = codes[start : start + BLOCK]
            seeds = below(self.family.seeds, len(part), source)
            own = self.family.buckets_of(seeds, part)
            beyond = source.integers(len(part)) - (self.own - self.other)
            # What is below own - other reports the own bucket; the rest are g equal shares, one a bucket.
            value = np.where(beyond < 0, own, np.maximum(beyond, 0) // self.other)
            reports[start : start + BLOCK] = seeds * self.family.buckets + value
        return reports

    def _client_steps(self) -> Steps:
        shape = {"prime": self.family.prime, "buckets": self.family.buckets}
        ends = {"own": whole_hex(self.own - self.other), "other": whole_hex(self.other)}
        return {"step": "hash", **shape, **ends}

    def read(self, reports: Any) -> NDArray[Any]:
        return Labels(self.reports).encode(reports, "reports")

    def count(self, reports: NDArray[Any]) -> Codes:
        if 4 * self.reports <= len(reports):  # each report many times
            times = np.bincount(reports, minlength=self.reports).reshape(-1, self.family.buckets)
            return self.family.supports_of_counts(times)[: self.labels.size]
        seeds = reports // self.family.buckets  # quicker than divmod, which looks at signs
        values = reports - seeds * self.family.buckets
        return self.family.supports(seeds, values, self.labels.size)
