"""Exact draws from random bits: numbers below a limit, bits of a probability.

Whether a uniform integer U below 2**62 is below a weight w is decided by the *heads* of both, their 16
highest digits, unless these are equal. With U = 2**46 H + T and w = 2**46 W + r,

    U < w   if and only if   H < W, or H = W and T < r,

so the tail T is drawn for one number in 2**16 on average. The probability is w / 2**62 exactly, as with all
digits. Batches of reports draw in this way; a client draws the whole number at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.bits import compiled, settle_bits, shortened
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
