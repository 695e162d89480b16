"""The hash functions of local hashing, and exact counts of the categories that reports fit.

They are affine maps of a prime field, and the remainder by the number of buckets.
For a prime P >= D the maps x -> (a x + b) mod P with a from 1 to P - 1 and b from 0 to P - 1 take any two
different x to every ordered pair of different field elements equally often. So two categories share a bucket
with the same probability, exactly sum_j n_j (n_j - 1) / (P (P - 1)) for buckets of n_j elements, whichever
they are: a little less often than 1/g, because a bucket cannot hold the same element twice.

**Counts of what reports fit.** A report (a, b, y) fits the x with (a x + b) mod P in {y, y + g, ...}: those
with u(x) = (a x + b - y) / g mod P in {0, ..., m - 1}, where m is the number of elements of the bucket. Let
A = a / g, q a stride and d = A q, so that u(x - q) = u(x) - d. For the indicator f of these x

    f(x) - f(x - q) = 1[0 <= u(x) < d] - 1[m <= u(x) < m + d]      for d > 0, intervals modulo P,
                    = 1[m + d <= u(x) < m] - 1[d <= u(x) < 0]      for d < 0:

only 2 |d| differences. Among q <= Q there is one with |d| < P / Q (Dirichlet). Reports that share a q share
a table of differences. Its sums along q, which leads around the whole field, are their counts up to a
constant, and the sum of all counts, that of all m, decides the constants. So n reports take at most 2 n P / Q
additions to tables and Q P to sum these: O(P sqrt(n)) for Q = sqrt(n), not n P / g. In small fields it is
quicker to sum up a table for every slope A, in which the A x that reports fit are intervals: O(n + P^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.bits import compiled

Codes = NDArray[np.int64]

BLOCK = 1 << 16
"""Cells of tables whose places are computed at a time: they stay in the processor's memory."""

PART = 1 << 18
"""Reports that are counted at a time, or as many as the field has elements where these are more."""

GROUP = 16
"""Rows of a table that are summed together, before the groups are."""

CELLS = 1 << 22
"""Entries of a table of all slopes, at most."""

PLAIN, COMPILED = (5.0, 1.0), (2.0, 0.6)
"""Nanoseconds, about, to add to a cell of a table, and to sum up an entry of one, by numpy and by loops."""

REPORT, SQUARE, TABLE, SHORT = 15, 14, 50_000, 20
"""Nanoseconds, about, for two cells of a report, an entry of the table of all slopes, a table of a stride
besides its entries, and besides for the entries where strides are short."""


def collision(prime: int, buckets: int) -> Fraction:
    """Return the probability that two different field elements fall into the same bucket.

    Examples
    --------
    >>> collision(7, 2)  # buckets of 4 and 3
    Fraction(3, 7)
    """
    small, larger = divmod(prime, buckets)  # the number of buckets with one element more
    alike = larger * (small + 1) * small + (buckets - larger) * small * (small - 1)
    return Fraction(alike, prime * (prime - 1))


def integers_of(prime: int) -> type[np.signedinteger[Any]]:
    """Return the integers that hold a product with an element: short ones are computed with sooner."""
    return np.int32 if BLOCK * prime <= 1 << 30 else np.int64


@cache
def inverses(prime: int) -> Codes:
    """Return the inverse of every slope of a prime field; the entry 0 stands for none.

    Examples
    --------
    >>> inverses(7).tolist()
    [0, 1, 4, 5, 2, 3, 6]
    """
    power, result, exponent = np.arange(prime, dtype=np.int64), np.ones(prime, dtype=np.int64), prime - 2
    while exponent:  # a^(P - 2), by Fermat
        if exponent & 1:
            result = result * power % prime
        power, exponent = power * power % prime, exponent >> 1
    result = result.astype(integers_of(prime))
    result[0] = 0
    result.flags.writeable = False
    return result


def _remainder(numbers: Codes, prime: int) -> Codes:
    """Return the remainders modulo P: faster than the operator, which looks at signs."""
    remainders: Codes = numbers - numbers // prime * prime
    return remainders


def least_moves(slopes: Codes, prime: int, longest: int) -> tuple[Codes, Codes]:
    """Return for each slope A the q from 1 to a limit with the least abs(d), d = A q modulo P, and this d.

    No denominator up to the next convergent's comes as near as a convergent of A / P: Euclid's algorithm.

    Examples
    --------
    >>> least_moves(np.array([5, 12]), 13, 4)  # 15 = 13 + 2, and 12 = 13 - 1
    (array([3, 1]), array([ 2, -1]))
    """
    strides, moves = np.ones_like(slopes), slopes.copy()
    rows = np.arange(len(slopes))
    rest, left = np.full_like(slopes, prime), slopes
    older, newer = np.zeros_like(slopes), strides
    sign = 1
    while len(rows):
        quotient = rest // left
        following = older + quotient * newer
        inside = np.flatnonzero(following <= longest)
        rest, left = left[inside], (rest - quotient * left)[inside]
        older, newer = newer[inside], following[inside]
        rows, sign = rows[inside], -sign
        strides[rows], moves[rows] = newer, sign * left
    return strides, moves


def fitting(own: Codes, steps: Codes, moves: Codes, prime: int, counts: NDArray[Any]) -> None:
    """Add the sign of each report's move to as many cells: every step from its own, modulo P."""
    for report in range(len(own)):
        cell, step, move = own[report], steps[report], moves[report]
        sign = 1 if move > 0 else -1
        for _ in range(abs(move)):
            counts[cell] += sign
            cell += step
            if cell >= prime:
                cell -= prime


def running(table: NDArray[Any], counts: NDArray[Any]) -> None:
    """Add to every row of a table the sums of those above, and to the counts the result."""
    rows, columns = table.shape
    for column in range(columns):
        counts[0, column] += table[0, column]
    for row in range(1, rows):
        for column in range(columns):
            table[row, column] += table[row - 1, column]
            counts[row, column] += table[row, column]


Loop = Callable[..., None] | None
Table = NDArray[np.int32]


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
        """Number of maps."""
        return self.prime * (self.prime - 1)

    def buckets_of(self, seeds: Codes, numbers: Codes | np.int64) -> Codes:
        """Return the bucket of each number under the map of each seed; the arrays are broadcast."""
        slope = seeds // self.prime
        shift = seeds - slope * self.prime
        value = _remainder((slope + 1) * numbers + shift, self.prime)
        return _remainder(value, self.buckets)

    def supports_of_counts(self, times: Codes) -> Codes:
        """Return the supports of all elements from how often each value was reported, (seeds, buckets)."""
        prime = self.prime
        by_slope = times.reshape(prime - 1, prime, self.buckets)
        table, total, shifts = np.zeros((prime - 1, prime), dtype=np.int64), 0, np.arange(prime)
        for value in range(self.buckets):
            starts, elements = self._intervals(shifts, np.full(1, value))
            table[:, starts] += by_slope[:, :, value]
            table[:, (starts + elements) % prime] -= by_slope[:, :, value]
            total += int(elements[0]) * int(by_slope[:, :, value].sum())
        return self._supports_of_slopes(table, total)

    def supports(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Return the number of pairs (seed, value) that each category fits: its map gives the value.

        Of three exact ways that with least work is taken; none holds an array of reports by categories.
        """
        rows, kind = max(PART, self.prime), integers_of(self.prime)
        parts = [slice(start, start + rows) for start in range(0, max(len(seeds), 1), rows)]
        short = (
            (seeds[part].astype(kind, copy=False), values[part].astype(kind, copy=False)) for part in parts
        )
        counts = self._supports_of_part(*next(short))
        for part in short:
            counts += self._supports_of_part(*part)
        return counts[:categories]

    def _supports_of_part(self, seeds: Codes, values: Codes) -> Codes:
        costs = self._costs(len(seeds), PLAIN)
        loop = compiled(fitting, int(min(costs)))
        if loop is not None:
            costs = self._costs(len(seeds), COMPILED)
        by_element, by_slope, by_stride = costs
        if by_element <= min(by_slope, by_stride):
            return self._supports_by_element(seeds, values, loop)
        if by_slope <= by_stride:
            return self._supports_by_slope(seeds, values)
        longest = self._longest_stride(len(seeds), PLAIN if loop is None else COMPILED)
        return self._supports_by_stride(seeds, values, longest, loop)

    def _costs(self, reports: int, each: tuple[float, float]) -> tuple[float, float, float]:
        """Return about how many nanoseconds counting takes by element, by slope, and by stride."""
        prime, longest, (cell, entry) = self.prime, self._longest_stride(reports, each), each
        by_element = cell * reports * -(-prime // self.buckets)
        by_slope = REPORT * reports + SQUARE * prime**2 if prime**2 <= CELLS else math.inf
        by_stride = (4 * REPORT + cell * (prime // longest)) * reports
        by_stride += longest * (TABLE + entry * prime) + SHORT * prime
        return by_element, by_slope, math.inf if self.buckets % prime == 0 else by_stride

    def _longest_stride(self, reports: int, each: tuple[float, float]) -> int:
        """Return the limit with which additions to tables take about as long as their sums."""
        cell, entry = each
        longest = math.sqrt(cell * reports * self.prime / (TABLE + entry * self.prime))
        return max(min(int(longest), self.prime // 2), 1)

    @property
    def _unit(self) -> int:
        """1 / g in the field; where each element has a bucket of its own, 1: intervals have one element."""
        return 1 if self.buckets % self.prime == 0 else pow(self.buckets, -1, self.prime)

    def _intervals(self, shifts: Codes, values: Codes) -> tuple[Codes, Codes]:
        """Return the start and length of the interval, modulo P, of the A x that reports fit, A = a / g."""
        starts = _remainder((values - shifts + self.prime) * self._unit, self.prime)
        return starts, (self.prime - 1 - values) // self.buckets + 1

    def _supports_by_slope(self, seeds: Codes, values: Codes) -> Codes:
        """Add up intervals for each slope: O(reports + P^2)."""
        prime, size = self.prime, self.seeds
        rows = seeds // prime * prime
        starts, elements = self._intervals(seeds - rows, values)
        ends = starts + elements
        ends -= prime * (ends >= prime)
        table = np.bincount(rows + starts, minlength=size) - np.bincount(rows + ends, minlength=size)
        return self._supports_of_slopes(table.reshape(prime - 1, prime), int(elements.sum()))

    def _supports_of_slopes(self, table: Codes, total: int) -> Codes:
        """Return the supports from the ends of intervals of A x for each slope a, and their total."""
        prime, numbers = self.prime, np.arange(self.prime)
        slopes = _remainder(numbers[1:] * self._unit, prime)
        places = _remainder(slopes[:, None] * numbers, prime)
        sums = np.take_along_axis(np.cumsum(table, axis=1), places, axis=1).sum(axis=0)
        supports: Codes = sums + (total - sums.sum()) // prime  # the sums are right up to a constant
        return supports

    def _progressions(self, seeds: Codes, values: Codes) -> tuple[Codes, Codes, Codes]:
        """Return x(0), the step to x(1), and m of each report: it fits x(0), ..., x(m - 1), modulo P."""
        slope = seeds // self.prime  # slopes count from 0 here
        inverse = inverses(self.prime)[slope + 1]
        origins = _remainder((values - seeds + slope * self.prime + self.prime) * inverse, self.prime)
        steps = _remainder(inverse * self.buckets, self.prime)
        return origins, steps, (self.prime - 1 - values) // self.buckets + 1

    def _supports_by_element(self, seeds: Codes, values: Codes, loop: Loop) -> Codes:
        """Add 1 to every x that a report fits: O(reports P / g)."""
        prime, least = self.prime, self.prime // self.buckets  # a bucket has so many elements, or one more
        table = np.zeros(prime, dtype=np.int64)
        origins, steps, elements = self._progressions(seeds, values)
        if loop is not None:
            loop(origins, steps, elements, prime, table)
            return table
        width = min(max(least, 1), BLOCK)
        for first in range(0, len(seeds), BLOCK // width):
            part = slice(first, first + BLOCK // width)
            for place in range(0, least, width):
                places = np.arange(place, min(place + width, least), dtype=steps.dtype)[:, None]
                cells = _remainder(origins[part] + places * steps[part], prime)
                np.add.at(table, cells.ravel(), 1)
        more = np.flatnonzero(elements > least)
        np.add.at(table, _remainder(origins[more] + least * steps[more], prime), 1)
        return table

    def _supports_by_stride(self, seeds: Codes, values: Codes, longest: int, loop: Loop) -> Codes:
        """Add the differences along a stride, and sum up: O(reports P / longest + longest P)."""
        prime = self.prime
        slopes = seeds // prime  # they count from 0 here
        every = prime <= len(seeds)
        which = np.arange(prime - 1, dtype=seeds.dtype) if every else slopes
        strides, moves = least_moves(_remainder((which + 1) * self._unit, prime), prime, longest)
        if every:
            strides, moves = strides[slopes], moves[slopes]
        order = np.argsort(strides.astype(np.min_scalar_type(longest)), kind="stable")
        ends = np.cumsum(np.bincount(strides, minlength=longest + 1))
        origins, steps, elements = self._progressions(seeds[order], values[order])
        moves = moves[order]
        backward: Codes = np.minimum(moves, 0)
        low = origins + backward * steps
        high = low + elements * steps
        counts = np.zeros(prime + GROUP * longest, dtype=np.int32)
        for stride in (np.flatnonzero(np.diff(ends)) + 1).tolist():
            part = slice(ends[stride - 1], ends[stride])
            table = np.zeros((-(-prime // (GROUP * stride)) * GROUP, stride), dtype=np.int32)
            self._add(table.ravel(), ((low[part], 1), (high[part], -1)), steps[part], moves[part], loop)
            self._sum_up(table, counts[: table.size].reshape(table.shape))
        total: Codes = counts[:prime].astype(np.int64)
        total += (elements.sum() - total.sum()) // prime
        return total

    def _add(
        self, table: Table, signed: Sequence[tuple[Codes, int]], steps: Codes, moves: Codes, loop: Loop
    ) -> None:
        """Add +-1 to the cells start, start + step, ... modulo P of each report: abs(move) times its sign."""
        if loop is not None:
            for starts, sign in signed:
                loop(_remainder(starts, self.prime), steps, sign * moves, self.prime, table)
            return
        lengths = np.abs(moves)
        rows = max(1, BLOCK // int(lengths.max()))
        for first in range(0, len(steps), rows):
            part = slice(first, first + rows)
            length, step = lengths[part], steps[part]
            ends = np.cumsum(length, dtype=step.dtype)
            walk = np.arange(ends[-1], dtype=step.dtype) * np.repeat(step, length)
            back = (ends - length) * step
            signs = np.repeat(np.sign(moves[part]).astype(np.int32), length)
            for starts, sign in signed:
                cells = _remainder(np.repeat(starts[part] - back, length) + walk, self.prime)
                np.add.at(table, cells, sign * signs)

    def _sum_up(self, table: Table, counts: Table) -> None:
        """Add to counts the sums of differences around the field, in rows as long as their stride.

        They are right up to a constant. What a column begins with is the end of the column from which the
        stride leads there, P entries back.
        """
        stride = table.shape[1]
        order = _remainder(np.arange(stride, dtype=np.int64) * (stride - self.prime % stride), stride)
        ends = table.sum(axis=0, dtype=np.int32)
        table[0, order[1:]] += np.cumsum(ends[order[:-1]], dtype=np.int32)
        if table.size < BLOCK or stride < GROUP:
            counts += np.cumsum(table, axis=0, dtype=np.int32)
            return
        loop = compiled(running, 0)
        if loop is not None:
            loop(table, counts)
            return
        groups = table.reshape(-1, GROUP, stride)
        for row in range(1, GROUP):
            groups[:, row] += groups[:, row - 1]
        groups[1:] += np.cumsum(groups[:-1, -1], axis=0, dtype=np.int32)[:, None]
        counts += table
