"""The hash family of local hashing: affine maps of a prime field, and the remainder by the number of buckets.

For a prime P >= D the maps x -> (a x + b) mod P with a from 1 to P - 1 and b from 0 to P - 1 take any two
different x to every ordered pair of different field elements equally often. So two categories share a bucket
with the same probability, exactly sum_j n_j (n_j - 1) / (P (P - 1)) for buckets of n_j elements, whichever
they are: a little less often than 1/g, because a bucket cannot hold the same element twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

CELLS = 1 << 20
"""Cells of a table that are looked at at a time, whatever the numbers of reports and categories."""


@cache
def prime_from(number: int) -> int:
    """Return the least prime that is not below a number.

    Examples
    --------
    >>> prime_from(2), prime_from(64), prime_from(1024)
    (2, 67, 1031)
    """
    candidate = max(2, number)
    while any(candidate % divisor == 0 for divisor in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate


def collision(prime: int, buckets: int) -> Fraction:
    """Return the probability that two different field elements fall into the same bucket.

    Examples
    --------
    >>> collision(7, 2)  # buckets of 4 and 3
    Fraction(3, 7)
    """
    small, larger = divmod(prime, buckets)  # so many buckets have one element more
    alike = larger * (small + 1) * small + (buckets - larger) * small * (small - 1)
    return Fraction(alike, prime * (prime - 1))


@dataclass(frozen=True)
class AffineFamily:
    """All maps x -> ((a x + b) mod P) mod g; the seed (a - 1) P + b numbers them.

    Examples
    --------
    >>> family = AffineFamily(7, 3)
    >>> family.seeds, family.buckets_of(np.array([13]), np.array([4])).tolist()  # a = 2, b = 6: 14 mod 7
    (42, [0])
    """

    prime: int
    buckets: int

    @property
    def seeds(self) -> int:
        """How many maps there are."""
        return self.prime * (self.prime - 1)

    def buckets_of(self, seeds: Codes, numbers: Codes) -> Codes:
        """Return the bucket of each number under the map of each seed; the arrays are broadcast."""
        slope, shift = 1 + seeds // self.prime, seeds % self.prime
        return (slope * numbers + shift) % self.prime % self.buckets

    def supports(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Return how many pairs (seed, value) each category fits: those whose map takes it to the value.

        Of two exact ways the one with less work is taken; neither holds an array of reports by categories.
        """
        if len(seeds) <= self.prime:
            return self._supports_by_hashing(seeds, values, categories)
        return self._supports_by_slope(seeds, values, categories)

    def _supports_by_hashing(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Hash every category for every report, a block of reports at a time."""
        counts = np.zeros(categories, dtype=np.int64)
        numbers, rows = np.arange(categories, dtype=np.int64), max(1, CELLS // categories)
        for start in range(0, len(seeds), rows):
            block = slice(start, start + rows)
            found = self.buckets_of(seeds[block, None], numbers) == values[block, None]
            counts += np.count_nonzero(found, axis=0)
        return counts

    def _supports_by_slope(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Add up the reports of each slope a first: O(reports + P D) in all.

        A report (a, b, y) fits the w = a x mod P with w + b in {y, y + g, ...} mod P. In steps of g these are
        neighbours: with u = w / g mod P they are an interval, which a table of differences adds at its ends.
        """
        prime, inverse = self.prime, pow(self.buckets, -1, self.prime) if self.buckets % self.prime else 0
        if not inverse:  # as many buckets as elements: a step of g leads nowhere
            return self._supports_by_hashing(seeds, values, categories)
        counts = np.zeros(categories, dtype=np.int64)
        order = np.argsort(seeds // prime, kind="stable")
        seeds, values = seeds[order], values[order]
        slopes, rows = seeds // prime, max(1, CELLS // prime)  # slopes count from 0 here
        numbers = np.arange(categories, dtype=np.int64) * inverse % prime
        for first in range(0, prime - 1, rows):
            last = min(first + rows, prime - 1)
            part = slice(*np.searchsorted(slopes, (first, last)).tolist())
            if part.start == part.stop:
                continue
            height, shifts = last - first, seeds[part] % prime
            table = self._table(slopes[part] - first, shifts, values[part], height, inverse)
            for row, slope in enumerate(range(first + 1, last + 1)):
                counts += table[row, slope * numbers % prime]
        return counts

    def _table(self, rows: Codes, shifts: Codes, values: Codes, height: int, inverse: int) -> Codes:
        """Return how many reports of each slope fit each u."""
        prime = self.prime
        start = (values - shifts) % prime * inverse % prime
        stop = start + (prime - 1 - values) // self.buckets + 1
        steps = np.bincount(rows * (prime + 1) + start, minlength=height * (prime + 1))
        around = stop > prime  # the interval goes on at 0
        steps += np.bincount(rows[around] * (prime + 1), minlength=len(steps))
        steps -= np.bincount(rows * (prime + 1) + np.where(around, stop - prime, stop), minlength=len(steps))
        table: Codes = steps.reshape(height, prime + 1).cumsum(axis=1)
        return table
