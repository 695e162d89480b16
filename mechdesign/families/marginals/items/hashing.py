r"""Set hashing: set selection by random polynomials, whose reports are short however long the list is.

A subset of w of 100,000 items takes tens of thousands of bits. Here the subset is that of the items v with
``f(v) < w`` for a polynomial f of degree l modulo the least prime P from N = d + l on, and the report is f:
l + 1 numbers below P.

**Privacy.** The values of f at any l + 1 points are uniform and independent, and they determine f. So for
every set of l of the N items and dummies ``P (P - w)^l`` of the ``P^(l + 1)`` polynomials miss the set, and
the others hit it: these numbers do not depend on the set. A hit is reported with the weight ``include``,
uniform among the hits, else a miss, uniform among the misses. Its probability has two values, the same ones
for every set. The exact number that hit one of two sets and not the other depends on the sets; it is at
most the number of hits and at most that of misses, which is what the distribution of the privacy loss is
computed with.

**Unbiased.** An own item is in the subset with ``p = pi (w/P) / h``, h the share of hits. For any other v
the value f(v) is independent of those at the set: ``q = w/P``. As in set selection the share of reports
with an item, less q, over p - q estimates its share without bias, with variance p (1 - p) or q (1 - q) of a
user over (p - q)^2. With N going to infinity and w/N fixed both have the same p and q.

**Drawing.** The values at the set and the coefficient of x^l are l + 1 numbers that determine f. Of a hit
one of the l values is below w, and what has j of them below is drawn in j ways, of which one is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.errors import RowError
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.data.intake import Values
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import prime_from, text_of
from mechdesign.exact.randomness import TOTAL, BitSource, exp_written
from mechdesign.families.marginals.items.selection import SetSelection, between_points, pointed
from mechdesign.families.marginals.oracles.support import ReportClass
from mechdesign.primitives.oracle import Shares

Array = NDArray[np.float64]

USERS = 1 << 13
"""Reports that are looked at at a time: their differences stay in the processor's cache."""

ENTRIES = 1 << 22


class SetHashing(SetSelection):
    """Report a random polynomial whose subset is likelier to hold one of the user's own items.

    Parameters
    ----------
    categories : int
        The number of items d of the list.
    epsilon : float
        The promise for the whole set, audited here.
    length : int
        l: smaller sets are filled with dummies, of larger ones l items are sampled.
    size : int
        w: an item is in the subset if the polynomial's value is below w.
    include : int
        The weight, out of 2**62, of polynomials whose subset meets the user's set.
    most : int, optional
        The most items that a set may have; by default l, so that nothing is sampled.
    labels : sequence of str, optional
    separator : str

    Examples
    --------
    >>> oracle = SetHashing.of(100, 2.0, length=3, size=5)
    >>> oracle.prime, oracle.report_bits, oracle.audit().holds
    (103, 28, True)
    >>> estimate = oracle.estimate(oracle.randomize([[1, 2], [2, 3, 4], []] * 2000, rng=1))
    >>> low, high = estimate.interval(0.999)
    >>> bool(low[2] < 2 / 3 < high[2] and low[9] < 0 < high[9])
    True
    """

    type: ClassVar[str] = "set-hashing"

    @classmethod
    def of(
        cls,
        categories: int,
        epsilon: float,
        length: int,
        size: int,
        most: int | None = None,
        labels: Sequence[str] | None = None,
        **others: Any,
    ) -> Self:
        hits, misses = polynomials(prime_from(categories + length), length, size)
        inside = hits * exp_written(epsilon)
        include = math.floor(TOTAL * inside / (inside + misses))
        return cls(categories, privacy_epsilon(epsilon), length, size, include, most, labels, **others)

    @cached_property
    def prime(self) -> int:
        """P, the number of values of the polynomials."""
        return prime_from(self.reported + self.length)

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the polynomials by which of two sets they meet, as many with one alone as there can be."""
        hits, misses = polynomials(self.prime, self.length, self.size)
        inside, outside = self.include * misses, (TOTAL - self.include) * hits
        one = min(hits, misses)
        return (
            ReportClass("a subset that meets both", hits - one, inside, inside),
            ReportClass("a subset that meets the first only", one, inside, outside),
            ReportClass("a subset that meets the second only", one, outside, inside),
            ReportClass("a subset that meets neither", misses - one, outside, outside),
        )

    @cached_property
    def _shares(self) -> Shares:
        hits, misses = polynomials(self.prime, self.length, self.size)
        other = Fraction(self.size, self.prime)
        return Fraction(self.include, TOTAL) * other * Fraction(hits + misses, hits), other

    @property
    def report_bits(self) -> int:
        return hashing_bits(self.reported, self.length)

    # Client

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return the coefficients of polynomials, the constant first, shape (n, l + 1)."""
        reports = np.empty((len(codes), self.length + 1), dtype=np.int64)
        for start in range(0, len(codes), USERS):
            sets = self._filled(codes[start : start + USERS], source)
            values = self._values(len(sets), source)
            leading = below(self.prime, len(sets), source)
            reports[start : start + USERS] = self._through(sets, values, leading)
        return reports

    def _values(self, count: int, source: BitSource) -> Codes:
        """Return values at the items of each user's set, of which one is below w, or none."""
        values = np.empty((count, self.length), dtype=np.int64)
        hits = source.integers(count) < self.include
        missed = np.flatnonzero(~hits)
        for place in range(self.length):
            values[missed, place] = self.size + below(self.prime - self.size, len(missed), source)
        left = np.flatnonzero(hits)
        while len(left):
            own = below(self.length, len(left), source)
            tried = np.empty((len(left), self.length), dtype=np.int64)
            for place in range(self.length):
                tried[:, place] = below(self.prime, len(left), source)
            tried[np.arange(len(left)), own] = below(self.size, len(left), source)
            met = (tried < self.size).sum(axis=1)
            taken = np.zeros(len(left), dtype=np.bool_)
            for ways in np.unique(met).tolist():
                alike = met == ways
                taken[alike] = below(ways, int(alike.sum()), source) == 0
            values[left[taken]] = tried[taken]
            left = left[~taken]
        return values

    @cached_property
    def _inverses(self) -> Codes:
        """The inverses modulo P of the numbers from 0 on; that of 0 is never used."""
        prime, inverses = self.prime, [0, 1]
        for number in range(2, prime):
            inverses.append(prime - (prime // number) * inverses[prime % number] % prime)
        return np.array(inverses[:prime], dtype=np.int64)

    def _through(self, sets: Codes, values: Codes, leading: Codes) -> Codes:
        """Return the coefficients of the polynomials with these values and coefficients of x^l (Newton)."""
        prime, length, newton = self.prime, self.length, values.copy()
        for step in range(1, length):
            between = self._inverses[(sets[:, step:] - sets[:, :-step]) % prime]
            newton[:, step:] = (newton[:, step:] - newton[:, step - 1 : -1]) * between % prime
        result = np.zeros((len(sets), length + 1), dtype=np.int64)
        result[:, 0] = leading
        for place in range(length - 1, -1, -1):  # times (x - s), and the next difference
            moved = np.roll(result, 1, axis=1)
            moved[:, 0] = newton[:, place]
            result = (moved - sets[:, [place]] * result) % prime
        return result

    def _client_steps(self) -> Steps:
        shape = {"items": self.reported, "length": self.length, "size": self.size, "prime": self.prime}
        return {"step": "set-hashing", **shape, "include": whole_hex(self.include)}

    # Reports

    @property
    def _report_text(self) -> str:
        return f"{self.length + 1} numbers below {self.prime} between points"

    def written(self, reports: NDArray[Any]) -> Values:
        return np.array([pointed(row) for row in reports.tolist()])

    def read(self, reports: Any) -> NDArray[Any]:
        raw = np.asarray(reports)
        if raw.dtype.kind in "iu" and raw.ndim == 2 and raw.shape[1] == self.length + 1:
            read = raw.astype(np.int64)
        else:
            texts = np.atleast_1d(raw).tolist()
            read = np.array([self._numbers(text, row) for row, text in enumerate(texts)], dtype=np.int64)
            read = read.reshape(len(texts), self.length + 1)
        wrong = ((read < 0) | (read >= self.prime)).any(axis=1)
        if wrong.any():
            raise self._fault(int(np.argmax(wrong)), "a number is not below the prime")
        return read

    def _numbers(self, text: Any, row: int) -> list[int]:
        parts = between_points(text) if isinstance(text, str) else []
        plain = all(part.isascii() and part.isdigit() and str(int(part[:9])) == part for part in parts)
        if len(parts) != self.length + 1 or not plain:
            raise self._fault(row, f"{text_of(text)} is not a report")
        return [int(part) for part in parts]

    def _fault(self, row: int, what: str) -> RowError:
        return RowError("reports", row, what, f"expected {self._report_text}")

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return how many of the polynomials are below w at each item, by their differences, exactly."""
        total = np.zeros(self.reported, dtype=np.int64)
        for start in range(0, len(reports), USERS):
            total += self._counted(reports[start : start + USERS])
        return total

    def _counted(self, reports: NDArray[Any]) -> Codes:
        prime, table = np.uint32(self.prime), self._at(reports, np.arange(self.length + 1)).T
        for step in range(1, self.length + 1):
            table[step:] = (table[step:] - table[step - 1 : -1]) % self.prime
        differences = np.ascontiguousarray(table, dtype=np.uint32)
        total, lower = np.zeros(self.reported, dtype=np.int64), differences[:-1]
        sums, wrapped = np.empty_like(lower), np.empty_like(lower)
        for item in range(self.reported):
            total[item] = np.count_nonzero(differences[0] < self.size)
            np.add(lower, differences[1:], out=sums)
            np.subtract(sums, prime, out=wrapped)  # below 0 it wraps to more than any sum
            np.minimum(sums, wrapped, out=lower)
        return total

    def _at(self, reports: NDArray[Any], points: Codes) -> Codes:
        """Return the values of each polynomial at some points, (n, points)."""
        values = np.zeros((len(reports), len(points)), dtype=np.int64)
        for place in range(self.length, -1, -1):
            values = (values * points + reports[:, [place]]) % self.prime
        return values

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        points = np.arange(self.reported) if place is None else np.array([place])
        result = np.empty((len(read), len(points)), dtype=np.bool_)
        rows = max(1, ENTRIES // len(points))
        for start in range(0, len(read), rows):
            result[start : start + rows] = self._at(read[start : start + rows], points) < self.size
        return result


def polynomials(prime: int, length: int, size: int) -> tuple[int, int]:
    """Return how many polynomials of degree up to l meet a set of l items, and how many do not.

    Examples
    --------
    >>> polynomials(5, 2, 1)  # of 125, of which 5 * 4 * 4 miss
    (45, 80)
    """
    integer("size", size, 1, prime - 1)
    misses = prime * (prime - size) ** length
    return prime ** (length + 1) - misses, misses


def hashing_bits(items: int, length: int) -> int:
    """Return the bits of a report: of l + 1 numbers below the prime.

    Examples
    --------
    >>> hashing_bits(100_000, 5)
    102
    """
    return (length + 1) * (prime_from(items + length) - 1).bit_length()


def hashing_shares(items: int, length: int, sizes: NDArray[np.int64], epsilon: float) -> tuple[Array, Array]:
    """Return p and q of set hashing for each w.

    Examples
    --------
    >>> own, other = hashing_shares(2, 1, np.array([1]), math.log(4.0))
    >>> own.round(12), other.round(12)  # P = 3: a hit is one of three, and reported with 4 / (4 + 2)
    (array([0.66666667]), array([0.33333333]))
    """
    part = sizes / prime_from(items + length)
    miss = np.exp(length * np.log1p(-part))
    taken = (1.0 - miss) / (1.0 - miss + math.exp(-epsilon) * miss)
    return taken * part / (1.0 - miss), part
