"""Linear hashing of prefixes over two elements, and how often every extension of a prefix is supported.

**Hash functions.** Let x be a string of l bits, its first bit the highest, and T a string of l + b - 1
uniform random bits. Bit i of the hash is the parity of x and the window of T that starts at bit i,

    h_T(x)_i = parity(x & (T >> i)),     0 <= i < b.

For x != 0 and its highest bit k, h_T(x)_i is bit i + k of T plus a function of lower bits of T: one after the
other the bits of h_T(x) are uniform given those before. So h_T(x) is uniform on b bits; since h_T is linear,
two different strings share a hash with probability exactly 2^-b.

**Counts of all extensions at once.** A report (T, y) supports x if h_T(x) = y. With g = 2^b,

    1[h_T(x) = y] = (1/g) sum over c < g of (-1)^(c.y + x.w_c),    w_c = xor of T >> i over the bits i of c.

For x = (p, t) of a prefix p and s further bits t the exponent is c.y + p.w_c' + t.w_c'', the window being cut
in the same way. So the supports of all 2^s extensions of p are the Walsh-Hadamard transform of a histogram of
signs: g - 1 additions a report and s 2^s for the transform, instead of 2^s evaluations a report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.bits import compiled
from mechdesign.exact.randomness import TOTAL, exp_written

Words = NDArray[np.uint64]
Buckets = NDArray[np.uint8]
Counts = NDArray[np.int64]
Table = NDArray[Any]
"""Integers of 32 or 64 bits."""

MOST_STEP = 24
"""The most bits by which prefixes are extended: the table of all extensions stays below 200 MB."""

TABLE = 8
"""Bits of the transforms that are products with a matrix."""

REPORTS = 1 << 16
"""Reports that are looked at at a time: their windows stay in the processor's memory."""

NANOSECONDS = 40
"""About how long numpy takes for one addition to a table, with the search for its place."""

NANOSECONDS_OF_SUM = 8
"""And for one addition of a transform."""

LARGEST_SUM = (1 << 31) - 1
"""Sums up to this are kept in 32 bits."""


def window_mask(bits: int) -> np.uint64:
    """Return the word whose lowest bits are 1."""
    return np.uint64((1 << bits) - 1)


def hashes(seeds: Words, texts: Words, buckets: int) -> Buckets:
    """Return h_T(x) for each seed T and string x; the arrays are broadcast.

    Parameters
    ----------
    buckets : int
        b, the bits of a hash.

    Examples
    --------
    >>> hashes(np.array([0b1011], dtype=np.uint64), np.array([0b110], dtype=np.uint64), 2).tolist()
    [3]
    """
    result = np.zeros(np.broadcast(seeds, texts).shape, dtype=np.uint8)
    for place in range(buckets):
        odd = np.bitwise_count(texts & (seeds >> np.uint64(place))) & 1
        result |= odd.astype(np.uint8) << np.uint8(place)
    return result


def windows(seeds: Words, choice: int, length: int) -> Words:
    """Return w_c of each seed for one c, cut to the length of the strings."""
    result = np.zeros_like(seeds)
    for place in range(choice.bit_length()):
        if choice >> place & 1:
            result ^= seeds >> np.uint64(place)
    return result & window_mask(length)


def add_signs(
    seeds: Words, values: Buckets, prefix: np.uint64, step: int, length: int, buckets: int, table: Any
) -> None:
    """Add the signs of the reports to a table of 2^step entries, for one prefix; a loop for a compiler."""
    low = (np.uint64(1) << np.uint64(step)) - np.uint64(1)
    full = (np.uint64(1) << np.uint64(length)) - np.uint64(1)
    shift = np.uint64(step)
    for row in range(len(seeds)):
        seed = seeds[row]
        own = np.uint64(values[row])
        for place in range(buckets):  # the hash of the prefix alone moves the value
            common = ((seed >> np.uint64(place) & full) >> shift) & prefix
            common ^= common >> np.uint64(32)
            common ^= common >> np.uint64(16)
            common ^= common >> np.uint64(8)
            common ^= common >> np.uint64(4)
            common ^= common >> np.uint64(2)
            common ^= common >> np.uint64(1)
            own ^= (common & np.uint64(1)) << np.uint64(place)
        window = np.uint64(0)
        sign = 1
        for turn in range(1, 1 << buckets):  # in Gray's order one bit of c changes at a time
            place = 0
            while not turn >> place & 1:
                place += 1
            window ^= seed >> np.uint64(place)
            if own >> np.uint64(place) & np.uint64(1):
                sign = -sign
            table[np.int64(window & low)] += sign


def signed_table(seeds: Words, values: Buckets, prefix: int, step: int, length: int, buckets: int) -> Table:
    """Return the histogram whose transform is g times the supports of all extensions of a prefix."""
    small = len(seeds) << buckets <= LARGEST_SUM
    table: Table = np.zeros(1 << step, dtype=np.int32 if small else np.int64)
    table[0] = len(seeds)
    loop: Callable[..., None] | None = compiled(add_signs, NANOSECONDS * len(seeds) << buckets)
    if loop is not None:
        loop(seeds, values, np.uint64(prefix), step, length, buckets, table)
        return table
    low = window_mask(step)
    for start in range(0, len(seeds), REPORTS):
        part, own = seeds[start : start + REPORTS], values[start : start + REPORTS]
        moved = own ^ hashes(part >> np.uint64(step), np.array(prefix, dtype=np.uint64), buckets)
        for choice in range(1, 1 << buckets):
            odd = (np.bitwise_count(moved & np.uint8(choice)) & 1).astype(np.int64)
            place = (windows(part, choice, length) & low).astype(np.int64)
            if step <= 16:
                sums = np.bincount(place, weights=1.0 - 2.0 * odd, minlength=1 << step)
                table += sums.astype(table.dtype)
            else:
                np.add.at(table, place, (1 - 2 * odd).astype(table.dtype))
    return table


def add_butterflies(values: Any) -> None:
    """Replace 2^s integers by their Walsh-Hadamard transform; a loop for a compiler."""
    half = 1
    while half < len(values):
        for start in range(0, len(values), 2 * half):
            for place in range(start, start + half):
                first, second = values[place], values[place + half]
                values[place], values[place + half] = first + second, first - second
        half *= 2


@cache
def hadamard(bits: int) -> NDArray[np.float64]:
    """Return the matrix (-1)^(i.j) of 2^bits rows."""
    numbers = np.arange(1 << bits, dtype=np.uint64)
    matrix: NDArray[np.float64] = 1.0 - 2.0 * (np.bitwise_count(numbers[:, None] & numbers) & 1)
    return matrix


def transformed(table: Table) -> Table:
    """Return the Walsh-Hadamard transform of a table of 2^s integers; the table may be changed.

    Without a compiler, by products with small matrices; all sums are below 2^53, so that doubles hold them.

    Examples
    --------
    >>> transformed(np.array([3, 1, 0, 0])).tolist()
    [4, 2, 4, 2]
    """
    step = len(table).bit_length() - 1
    loop: Callable[[Any], None] | None = compiled(add_butterflies, NANOSECONDS_OF_SUM * step << step)
    if loop is not None:
        loop(table)
        return table
    values = table.astype(np.float64)
    done = 0
    while done < step:
        bits = min(TABLE, step - done)
        block = values.reshape(-1, 1 << bits, 1 << done)
        values = np.matmul(hadamard(bits), block).reshape(-1)
        done += bits
    result: Table = np.rint(values).astype(table.dtype)
    return result


def extension_supports(
    seeds: Words, values: Buckets, prefix: int, step: int, length: int, buckets: int
) -> Table:
    """Return how many reports support each of the 2^step extensions of a prefix to ``length`` bits.

    Parameters
    ----------
    seeds, values : (n,) arrays
        T and y of each report.
    prefix : int
        Of ``length - step`` bits.

    Examples
    --------
    >>> seeds = np.array([5, 9, 14], dtype=np.uint64); values = np.array([1, 0, 1], dtype=np.uint8)
    >>> extension_supports(seeds, values, 1, 2, 3, 1).tolist()
    [3, 1, 2, 0]
    >>> [int((hashes(seeds, np.uint64(4 + t), 1) == values).sum()) for t in range(4)]
    [3, 1, 2, 0]
    """
    supports: Table = transformed(signed_table(seeds, values, prefix, step, length, buckets)) >> buckets
    return supports


def text_supports(seeds: Words, values: Buckets, texts: Words, length: int, buckets: int) -> Counts:
    """Return how many reports support each of some strings of ``length`` bits, one evaluation at a time."""
    inside = texts & window_mask(length)
    counts = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(seeds), REPORTS):
        part, own = seeds[start : start + REPORTS], values[start : start + REPORTS]
        for place, text in enumerate(inside):
            counts[place] += np.count_nonzero(hashes(part, text, buckets) == own)
    return counts


@dataclass(frozen=True)
class BucketWeights:
    """Integer weights of randomized response on 2^bits buckets.

    Attributes
    ----------
    bits : int
    other : int
        Out of 2^62, of each bucket that is not the own one.

    Examples
    --------
    >>> weights = BucketWeights.of(2.0, 3)
    >>> [round(float(share), 6) for share in weights.support_shares()]
    [0.513519, 0.125]
    """

    bits: int
    other: int

    @classmethod
    def of(cls, epsilon: float, bits: int) -> Self:
        """Return the weights that use all of epsilon, rounded so that privacy holds exactly."""
        return cls(bits, math.ceil(TOTAL / (exp_written(epsilon) + (1 << bits) - 1)))

    @property
    def own(self) -> int:
        """The weight of the own bucket."""
        return TOTAL - ((1 << self.bits) - 1) * self.other

    def support_shares(self) -> tuple[Fraction, Fraction]:
        """Return p and q: probabilities that a report supports the own prefix, and another one.

        Another prefix has the own bucket with probability 2^-bits exactly, and any bucket is reported with
        probability 2^-bits on average over the hash functions.
        """
        return Fraction(self.own, TOTAL), Fraction(1, 1 << self.bits)
