"""Histogram by a count-min sketch: public hash functions, a row of counters each, the least one counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.randomness import SystemSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import NoiseLimits
from mechdesign.mechanisms.oracles.family import AffineFamily, collision, prime_from
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise
from mechdesign.mechanisms.shuffle.rows import (
    MOST_TRIALS,
    LeastOfRows,
    RowsProtocol,
    least_noise,
    minimum_moments,
    most_cell,
    upper_square,
)

MOST_ROWS = 64
MOST_SEED = 1 << 62
MOST_BUCKETS = 1 << 24
"""More counters of a row are refused."""


class PUCM(RowsProtocol):
    """Every user sends one bucket for each of some public hash functions, and uniform dummies for each.

    A category is counted by the least of its buckets, less what the least of as many noises is on average.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
    labels : sequence of str, optional
    hashes, buckets : int
        Rows and the cells of each; as many buckets as the prime next to the categories collide never.
    seed : int, optional
        Of the public hash functions; drawn by the system where none is given, and kept in the file. The error
        that is stated is that over their draw: users' categories must not depend on it.
    trials, cell : int
        As in :class:`RowsProtocol`.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker (2021), public-coin protocol.

    Examples
    --------
    >>> protocol = PUCM.calibrated(Promise(100_000, 1.0, 1e-6), 1024)
    >>> protocol.rows, protocol.sizes[0], round(protocol.rmse, 1), round(protocol.mean_messages, 1)
    (8, 1031, 10.1, 32.0)
    """

    type: ClassVar[str] = "pucm"
    drawn: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        hashes: int,
        buckets: int,
        seed: int | None = None,
        trials: int,
        cell: int,
    ) -> None:
        rows = integer("hashes", hashes, 1, MOST_ROWS)
        prime = prime_from(integer("categories", categories, 2, MOST_BUCKETS))
        self.family = AffineFamily(prime, integer("buckets", buckets, 2, min(prime, MOST_BUCKETS)))
        drawn = int(SystemSource().integers(1)[0]) if seed is None else seed
        self.seed = integer("seed", drawn, 0, MOST_SEED)
        sizes = (self.family.buckets,) * rows
        super().__init__(promise, calibration, categories, labels, sizes=sizes, trials=trials, cell=cell)
        self.functions = [public_seed(self.seed, row, self.family.seeds) for row in range(rows)]

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with the paper's rows and buckets, and about the least noise that is proven."""

        def made(other: Promise, trials: int, cell: int) -> PUCM:
            shape = published_shape(other, categories)
            return cls(other, "exact", categories, labels, **shape, trials=trials, cell=cell)

        def sizes_for(other: Promise) -> list[int]:
            shape = published_shape(other, categories)
            return [shape["buckets"]] * shape["hashes"]

        noise = least_noise(made, sizes_for, max_messages, promise)
        return cls(promise, "exact", categories, labels, **published_shape(promise, categories), **noise)

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with 90 t^2 ln(2 t/delta) / (n epsilon^2) dummies of a user in a cell, t rows."""
        shape = published_shape(promise, categories)
        rows, full = shape["hashes"], most_cell([shape["buckets"]])
        noise = 90.0 * rows**2 * math.log(2.0 * rows / promise.delta) / promise.epsilon**2
        share = noise / promise.honest_users
        if share >= 1.0:
            least = math.floor((noise + (promise.honest < 1.0)) / promise.honest) + 1
            raise OutOfReachError(f"its theorem is for at least {least} users; give so many")
        trials = math.ceil(share * shape["buckets"])
        most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages // rows - 1)
        if trials > most:
            raise OutOfReachError(f"its theorem wants {rows * (trials + 1)} messages a user; allow them")
        cell = min(full, math.ceil(share / trials * 2.0**62))
        return cls(promise, "published", categories, labels, **shape, trials=trials, cell=cell)

    def parameters(self) -> dict[str, Any]:
        """Return the hash functions' number, range and seed, and the noise."""
        shape = {"hashes": self.rows, "buckets": self.family.buckets, "seed": self.seed}
        return {**shape, **super().parameters()}

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        """Return the buckets of these categories under the hash function of a row."""
        function = np.array(self.functions[row], dtype=np.int64)
        return self.family.buckets_of(function, values)

    @cached_property
    def _least(self) -> tuple[float, float]:
        return minimum_moments(self.noise, self.rows)

    @cached_property
    def _square(self) -> float:
        """A bound of the mean squared error over the public hash functions, for all data."""
        mean, variance = self._least
        chance = float(collision(self.family.prime, self.family.buckets))
        if chance == 0.0:
            return variance
        return variance + upper_square(self.noise, self.rows, mean, self.promise.users * chance)

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same for every category, whoever holds it."""
        return np.full(len(count), self._square)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of any category; a bound of it where buckets collide."""
        return math.sqrt(self._square)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the least counter of each category, less what the least noise is on average."""
        self.require_rows(sums)
        numbers = np.arange(self.labels.size, dtype=np.int64)
        least = np.min(
            [sums[start + self.own_cell(numbers, row)] for row, start in enumerate(self.starts.tolist())],
            axis=0,
        )
        value, chance = least - self._least[0], float(collision(self.family.prime, self.family.buckets))
        noise = LeastOfRows(self.noise, self.rows, self.promise.users, self.promise.users * chance)
        limits = NoiseLimits(noise, np.full(len(value), self._least[0]))
        return replace(self.unbiased(value, messages, limits), notes=self.message_notes(messages))


def published_shape(promise: Promise, categories: int) -> dict[str, int]:
    """Return the paper's rows and buckets: no more buckets than never collide.

    Examples
    --------
    >>> published_shape(Promise(100, 1.0, 1e-6), 100_000)
    {'hashes': 13, 'buckets': 200}
    """
    rows = max(1, math.ceil(math.log(2.0 * categories)))
    return {
        "hashes": rows,
        "buckets": min(prime_from(categories), 2 * promise.users, MOST_BUCKETS),
    }


def public_seed(seed: int, row: int, functions: int) -> int:
    """Return the number of a row's hash function: from a public seed, with no influence of anybody's data.

    Examples
    --------
    >>> 0 <= public_seed(0, 3, 1000) < 1000
    True
    """
    digest = hashlib.sha256(f"count-min {seed} {row}".encode()).digest()
    return int.from_bytes(digest) % functions
