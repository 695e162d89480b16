"""Exact draws from random bits: numbers below a limit, bits of a probability, subsets, hash functions.

Whether a uniform integer U below 2**62 is below a weight w is decided by the *heads* of both, their 16
highest digits, unless these are equal. With U = 2**46 H + T and w = 2**46 W + r,

    U < w   if and only if   H < W, or H = W and T < r,

so the tail T is drawn for one number in 2**16 on average. The probability is w / 2**62 exactly, as with all
digits. Batches of reports draw in this way; a client draws the whole number at once.

The hash family of local hashing is affine maps of a prime field, and the remainder by the number of buckets.
For a prime P >= D the maps x -> (a x + b) mod P with a from 1 to P - 1 and b from 0 to P - 1 take any two
different x to every ordered pair of different field elements equally often. So two categories share a bucket
with the same probability, exactly sum_j n_j (n_j - 1) / (P (P - 1)) for buckets of n_j elements, whichever
they are: a little less often than 1/g, because a bucket cannot hold the same element twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.bits import compiled, fitting, settle_bits, shortened
from mechdesign.exact.randomness import BITS, TOTAL, BitSource

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
ONES = np.uint64((1 << 64) - 1)

NANOSECONDS = 50
"""What numpy takes for a word of 64 bits of a given probability, about."""


def below(limit: int, count: int, source: BitSource) -> Codes:
    """Return ``count`` independent numbers, uniform in [0, limit) exactly; limit at most 2**62.

    Numbers beyond the last multiple of the limit are drawn again, which is rare.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> sorted(set(below(3, 100, bit_source(1)).tolist()))
    [0, 1, 2]
    """
    draws = source.integers(count)
    end = TOTAL - TOTAL % limit
    if end < TOTAL:
        again = np.flatnonzero(draws >= end)
        if len(again):
            draws = draws.copy()
        while len(again):
            draws[again] = source.integers(len(again))
            again = again[draws[again] >= end]
    return draws - draws // limit * limit  # quicker than the remainder, which looks at signs


def bernoulli_words(count: int, weight: int, source: BitSource) -> Words:
    """Return words of 64 independent bits each of which is 1 with probability weight / 2**62 exactly.

    Each bit compares a uniform number of 62 binary digits with the weight, digit by digit from the highest,
    and stops at the first that differs: about two random bits each, and no rounding.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> bits = np.unpackbits(bernoulli_words(1000, 1 << 60, bit_source(1)).view(np.uint8))
    >>> bool(abs(bits.mean() - 0.25) < 0.01)
    True
    """
    if weight >= TOTAL:
        return np.full(count, ONES, dtype=np.uint64)
    if count == 1:
        return np.array([_bernoulli_word(weight, source)], dtype=np.uint64)
    work = count * NANOSECONDS
    loop, shorten = compiled(settle_bits, work), compiled(shortened, 0)
    if loop is not None and shorten is not None:
        return _bernoulli_loop(count, weight, source, loop, shorten)
    result = np.zeros(count, dtype=np.uint64)
    undecided = np.full(count, ONES, dtype=np.uint64)
    places: Codes | None = None  # of the words that still have an undecided bit; None: all
    for digit in range(BITS - 1, -1, -1):
        if not weight & ((2 << digit) - 1) or not len(undecided):
            break  # no digit is left that the number could be below
        draws = source.words(len(undecided))
        if weight >> digit & 1:
            smaller = undecided & ~draws
            undecided &= draws
            if places is None:
                result |= smaller
            else:
                result[places] |= smaller
        else:
            undecided &= ~draws
        if digit % 2:  # looking for words that are done costs as much as a digit
            left = np.flatnonzero(undecided)
            if len(left) < len(undecided) // 2:
                places = left if places is None else places[left]
                undecided = undecided[left]
    return result


def _bernoulli_word(weight: int, source: BitSource) -> int:
    """Return the result of :func:`bernoulli_words` for one word: it reads every digit up to the lowest 1."""
    last = (weight & -weight).bit_length() - 1 if weight else BITS
    result, undecided = 0, int(ONES)
    for digit, draws in zip(range(BITS - 1, last - 1, -1), source.words(BITS - last).tolist(), strict=True):
        if weight >> digit & 1:
            result |= undecided & ~draws
            undecided &= draws
        else:
            undecided &= ~draws
        if not undecided:
            break
    return result


def _bernoulli_loop(
    count: int,
    weight: int,
    source: BitSource,
    loop: Callable[[Words, Words, Codes, Words, bool], int],
    shorten: Callable[[Words, Codes, Words, Codes], None],
) -> Words:
    """Return the result of :func:`bernoulli_words`, from the same words of the source, by compiled loops."""
    result = np.zeros(count, dtype=np.uint64)
    undecided = np.full(count, ONES, dtype=np.uint64)
    places = np.zeros(0, dtype=np.int64)
    for digit in range(BITS - 1, -1, -1):
        if not weight & ((2 << digit) - 1) or not len(undecided):
            break
        left = loop(source.words(len(undecided)), undecided, places, result, bool(weight >> digit & 1))
        if digit % 2 and left < len(undecided) // 2:
            still, left_places = np.empty(left, dtype=np.uint64), np.empty(left, dtype=np.int64)
            shorten(undecided, places, still, left_places)
            undecided, places = still, left_places
    return result


class Again:
    """A source that first gives integers that another one gave before.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> Again(np.array([7, 9]), bit_source(1)).integers(3)[:2].tolist()
    [7, 9]
    """

    def __init__(self, draws: Codes, source: BitSource) -> None:
        self.drawn, self.source = draws, source

    def integers(self, count: int) -> Codes:
        """Return ``count`` integers in [0, 2**62)."""
        first, self.drawn = self.drawn[:count], self.drawn[count:]
        rest = count - len(first)
        return np.concatenate([first, self.source.integers(rest)]) if rest else first

    def words(self, count: int) -> Words:
        """Return words of 64 bits, of the source itself: the integers were words."""
        return self.source.words(count)


HEAD = 16
TAIL = BITS - HEAD

FEW = 512
"""Fewer reports are drawn from whole numbers, as a client draws its own."""

Heads = NDArray[np.uint16]


def heads(count: int, source: BitSource) -> Heads:
    """Return independent uniform numbers below 2**16, four of a word.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> heads(5, bit_source(1)).dtype, len(heads(5, bit_source(1)))
    (dtype('uint16'), 5)
    """
    return source.words(-(-count // 4)).view(np.uint16)[:count]


def tails_below(weights: Any, count: int, source: BitSource) -> NDArray[np.bool_]:
    """Return whether new tails are below those of weights, whose heads were equal to the numbers'.

    Parameters
    ----------
    weights : int or (count,) int64 array
        Out of 2**62.
    """
    result: NDArray[np.bool_] = (source.integers(count) >> HEAD) < (weights & ((1 << TAIL) - 1))
    return result


BLOCK = 1 << 16
"""Cells that are looked at at a time where they are few: they stay in the processor's memory."""

CELLS = 1 << 20
"""Cells of a table that are looked at at a time, whatever the numbers of reports and categories."""


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
    result[0] = 0
    result.flags.writeable = False
    return result


def _remainder(numbers: Codes, prime: int) -> Codes:
    """Return the remainders of numbers >= 0: faster than the operator, which looks at signs."""
    remainders: Codes = numbers - numbers // prime * prime
    return remainders


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

    def supports(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Return the number of pairs (seed, value) that each category fits: its map gives the value.

        Of two exact ways the one with less work is taken; neither holds an array of reports by categories.
        """
        elements, reports = -(-self.prime // self.buckets), len(seeds)
        if elements * reports <= 5 * self.prime * categories:  # by a loop it takes a third of the time
            loop = compiled(fitting, 3 * elements * reports)
            if loop is not None:
                return self._supports_by_loop(seeds, values, loop)[:categories]
        if self.buckets % self.prime == 0 or (elements - 20) * reports <= 4 * self.prime * categories:
            return self._supports_by_element(seeds, values, categories)
        return self._supports_by_slope(seeds, values, categories)

    def supports_of_counts(self, times: Codes, categories: int) -> Codes:
        """Return the same from how often each value was reported for each seed, (seeds, buckets)."""
        seeds = np.arange(self.seeds, dtype=np.int64)
        fits = (times[seeds, self.buckets_of(seeds, np.int64(number))].sum() for number in range(categories))
        return np.fromiter(fits, dtype=np.int64, count=categories)

    def _supports_by_loop(self, seeds: Codes, values: Codes, loop: Callable[..., None]) -> Codes:
        """Do what :meth:`_supports_by_element` does, report by report."""
        prime, back = self.prime, inverses(self.prime)
        counts = np.zeros(prime, dtype=np.int64)
        for start in range(0, len(seeds), BLOCK):
            part = values[start : start + BLOCK]
            slope, shift = np.divmod(seeds[start : start + BLOCK], prime)  # slopes count from 0 here
            inverse = back[slope + 1]
            own = _remainder((part - shift + prime) * inverse, prime)
            steps = _remainder(inverse * self.buckets, prime)
            loop(own, steps, (prime - 1 - part) // self.buckets + 1, prime, counts)
        return counts

    def _supports_by_element(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Take each element of the reported bucket back to what the map takes there: O(reports P / g)."""
        prime, back = self.prime, inverses(self.prime)
        counts, elements = np.zeros(prime, dtype=np.int64), -(-prime // self.buckets)
        rows = max(BLOCK, prime) // min(elements, 16)
        for start in range(0, len(seeds), rows):
            part = values[start : start + rows]
            slope, shift = np.divmod(seeds[start : start + rows], prime)  # slopes count from 0 here
            own = _remainder((part - shift + prime) * back[slope + 1], prime)
            step = back[slope + 1] * self.buckets % prime
            width = max(1, max(BLOCK, prime) // len(part))  # places handled at a time
            for first in range(0, elements, width):
                places = np.arange(first, min(first + width, elements), dtype=np.int64)[:, None]
                cells = _remainder(own + places * step, prime)
                if places[-1] == elements - 1:
                    inside = part + self.buckets * (elements - 1) < prime  # not all buckets have as many
                    counts += np.bincount(cells[-1, inside], minlength=prime)
                    cells = cells[:-1]
                counts += np.bincount(cells.ravel(), minlength=prime)
        return counts[:categories]

    def _supports_by_slope(self, seeds: Codes, values: Codes, categories: int) -> Codes:
        """Add up the reports of each slope a first: O(reports + P D) in all.

        A report (a, b, y) fits the w = a x mod P with w + b in {y, y + g, ...} mod P. In steps of g these are
        neighbours: with u = w / g mod P they are an interval, which a table of differences adds at its ends.
        """
        prime, inverse = self.prime, pow(self.buckets, -1, self.prime)
        counts = np.zeros(categories, dtype=np.int64)
        order = np.argsort((seeds // prime).astype(np.min_scalar_type(prime)), kind="stable")
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
