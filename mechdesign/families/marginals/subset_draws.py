"""Uniform subsets: drawn as members or as packed bits, and bits below a weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.bits import Packed, compiled, floyd_members
from mechdesign.exact.draws import FEW, TAIL, Again, Codes, below, heads, tails_below
from mechdesign.exact.randomness import TOTAL, BitSource

MEMBER_NANOSECONDS = 10
"""What it takes for a member of a subset, about."""


def draw_subsets(without: Codes, categories: int, size: int, source: BitSource) -> NDArray[np.bool_]:
    """Return for each row a uniform subset of this size of all categories but one (Floyd's algorithm).

    Parameters
    ----------
    without : (n,) int array
        The category that each row leaves out.
    categories, size : int

    Returns
    -------
    (n, categories) bool array
        Membership.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> draw_subsets(np.array([0, 2]), 3, 2, bit_source(1)).astype(int)
    array([[0, 1, 1],
           [1, 1, 0]])
    """
    count, others = len(without), categories - 1
    member = np.zeros((count, categories), dtype=np.bool_)
    flat, start = member.reshape(-1), np.arange(count, dtype=np.int64) * categories
    for last in range(others - size, others):
        draws = below(last + 1, count, source)
        place = start + draws + (draws >= without)
        newest = start + last + (last >= without)
        flat[np.where(flat[place], newest, place)] = True
    return member


def packed_subsets(without: Codes, categories: int, size: int, source: BitSource) -> NDArray[np.uint8]:
    """Return subsets as :func:`draw_subsets` draws them, as packed bits; category 0 is the highest of byte 0.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> np.unpackbits(packed_subsets(np.array([0, 2]), 3, 2, bit_source(1)), axis=1)[:, :3]
    array([[0, 1, 1],
           [1, 1, 0]], dtype=uint8)
    """
    count, others = len(without), categories - 1
    loop = compiled(floyd_members, MEMBER_NANOSECONDS * count * size)
    if loop is None:
        return np.packbits(draw_subsets(without, categories, size, source), axis=1)
    draws = source.integers(count * size)
    limits = np.arange(others - size + 1, others + 1, dtype=np.int64)
    bits = np.zeros((count, (categories + 7) // 8), dtype=np.uint8)
    if not loop(bits.reshape(-1), bits.shape[1], without, draws, limits, TOTAL - TOTAL % limits):
        again = Again(draws, source)
        return np.packbits(draw_subsets(without, categories, size, again), axis=1)
    return bits


def below_weight(weight: int, count: int, source: BitSource) -> NDArray[np.bool_]:
    """Return independent decisions, each True with probability weight / 2**62 exactly.

    Parameters
    ----------
    weight : int
        From 0 to 2**62.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> round(float(below_weight(1 << 60, 100_000, bit_source(1)).mean()), 2)
    0.25
    """
    if count < FEW:
        return np.less(source.integers(count), weight)
    draws = heads(count, source)
    result: NDArray[np.bool_] = draws < weight >> TAIL
    undecided = np.flatnonzero(draws == weight >> TAIL)
    if len(undecided):
        result[undecided] = tails_below(weight, len(undecided), source)
    return result


def set_sizes(packed: Packed) -> NDArray[np.int64]:
    """Return the number of members of each set.

    Examples
    --------
    >>> set_sizes(np.array([[0b10100000, 1], [0, 255]], dtype=np.uint8)).tolist()
    [3, 8]
    """
    whole = packed.shape[1] % 8 == 0 and packed.flags.c_contiguous
    words = packed.view(np.uint64) if whole else packed
    sizes: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return sizes
