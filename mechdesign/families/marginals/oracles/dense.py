"""Uniform subsets of a given size, many at a time: independent bits, then exact repair of the size.

Bits that are 1 with the same probability each make every set of a size equally likely, whatever that
probability is. Adding a uniform one of the members that a set lacks, or removing a uniform one of those that
it has, keeps this so. So the sets are uniform exactly; the probability decides only how much there is to
repair.

Categories are drawn until enough of them could be added or removed: in a round each row draws as many as it
lacks, all rows in order, and those that could not be used are drawn again in the next round.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.draw.compiled import compiled
from mechdesign.exact.draw.compiled.loops import corrected
from mechdesign.exact.draw.draws import below, bernoulli_words
from mechdesign.exact.randomness import TOTAL, BitSource

Codes = NDArray[np.int64]
Packed = NDArray[np.uint8]

FEWEST = 64
"""Categories from which on it pays."""

NANOSECONDS = 30
"""What numpy takes for a category that is drawn for the repair, about."""


def is_dense(categories: int, size: int) -> bool:
    """Whether subsets of this size are drawn sooner so than member by member.

    Examples
    --------
    >>> is_dense(1024, 276), is_dense(4, 1), is_dense(65536, 10)
    (True, False, False)
    """
    return categories >= FEWEST and 2 * math.sqrt(categories) <= 4 * size <= 3 * categories


def share_of(categories: int, size: int) -> int:
    """Return the weight out of 2**62 of a bit: size / categories in few binary digits, which are quick.

    It is about half a standard deviation of the size too small, as adding takes fewer draws than removing.
    """
    digits = math.ceil(math.log2(categories) / 2) + 2
    aim = size - math.sqrt(size * (categories - size) / categories) / 2
    return math.floor(aim / categories * (1 << digits)) * (TOTAL >> digits)


def dense_subsets(without: Codes, sizes: Codes, categories: int, share: int, source: BitSource) -> Packed:
    """Return for each row a uniform subset of its size of all categories but one, as packed bits.

    Parameters
    ----------
    without : (n,) int array
        The category that each row leaves out.
    sizes : (n,) int array
        The number of members of each row's set.
    categories : int
    share : int
        The probability of a bit before the repair, out of 2**62.
    source : BitSource

    Returns
    -------
    (n, 8 w) uint8 array
        With w words of 64 bits a row; category 0 is the highest bit of the first byte.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> sets = dense_subsets(np.array([0, 5]), np.array([2, 3]), 6, TOTAL // 2, bit_source(1))
    >>> np.unpackbits(sets, axis=1)[:, :6].sum(axis=1).tolist(), int(sets[0, 0] >> 7)
    ([2, 3], 0)
    """
    words = -(-categories // 64)
    draws = bernoulli_words(len(without) * words, share, source).reshape(-1, words)
    bits = draws.view(np.uint8)
    bits &= _inside(categories, words)
    bits[np.arange(len(without)), without >> 3] &= ~_mask(without)
    rows, lacking = _lacking(bits, np.arange(len(without)), sizes)
    while len(rows):
        candidates = below(categories, int(np.abs(lacking).sum()), source)
        loop = compiled(corrected, NANOSECONDS * len(candidates))
        if loop is None:
            _correct(bits, rows, lacking, without, candidates)
            rows, lacking = _lacking(bits, rows, sizes)
        else:
            left = loop(bits.reshape(-1), bits.shape[1], rows, lacking, without, candidates)
            rows, lacking = rows[:left], lacking[:left]
    return bits


def _lacking(bits: Packed, rows: Codes, sizes: Codes) -> tuple[Codes, Codes]:
    """Return those of these rows whose sets have not their size, and how many members each lacks."""
    sets = bits if len(rows) == len(bits) else bits[rows]
    lacking = sizes[rows] - np.bitwise_count(sets.view(np.uint64)).sum(axis=1, dtype=np.int64)
    wrong = np.flatnonzero(lacking)
    return rows[wrong], lacking[wrong]


def _correct(bits: Packed, rows: Codes, lacking: Codes, without: Codes, candidates: Codes) -> None:
    """Add the candidates of each row that lacks members; remove those of each row that has too many."""
    owner = np.repeat(np.arange(len(rows)), np.abs(lacking))
    row, adds = rows[owner], lacking[owner] > 0
    place, mask = row * bits.shape[1] + (candidates >> 3), _mask(candidates)
    flat = bits.reshape(-1)
    new, old = adds & (candidates != without[row]), ~adds
    np.bitwise_or.at(flat, place[new], mask[new])
    np.bitwise_and.at(flat, place[old], ~mask[old])


def _mask(categories: Codes) -> Packed:
    """Return the bit of each category in its byte."""
    masks: Packed = np.right_shift(128, categories & 7).astype(np.uint8)
    return masks


def _inside(categories: int, words: int) -> Packed:
    """Return the bytes of a row in which the bit of every category is 1."""
    return np.packbits(np.arange(64 * words) < categories)
