"""One-hot reports as packed bits: the bits of attributes, and equal reports counted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.attributes import Attributes

if TYPE_CHECKING:
    pass

Packed = NDArray[np.uint8]
Bits = NDArray[np.uint8]
Codes = NDArray[np.int64]


def titles(attributes: Attributes) -> list[str]:
    """Return the headings of tables: the attributes' names, or their numbers.

    Examples
    --------
    >>> titles(Attributes([2, 3])), titles(Attributes([2, 3], ["smokes", "income"]))
    (['attribute 0', 'attribute 1'], ['smokes', 'income'])
    """
    shown = attributes.shown()
    return shown if attributes.names is not None else [f"attribute {number}" for number in shown]


def one_hot(codes: Codes, sizes: Sequence[int]) -> Packed:
    """Return the bits of values, one group an attribute, packed.

    Examples
    --------
    >>> one_hot(np.array([[1, 2], [0, 0]]), [2, 3]).tolist()
    [[72], [160]]
    """
    bits = np.zeros((len(codes), sum(sizes)), dtype=np.uint8)
    rows, start = np.arange(len(codes)), 0
    for place, size in enumerate(sizes):
        bits[rows, start + codes[:, place]] = 1
        start += size
    return np.packbits(bits, axis=1)


def grouped(packed: Packed, counts: Codes) -> tuple[Packed, Codes]:
    """Return the different rows and the sums of their counts.

    Examples
    --------
    >>> grouped(np.array([[3], [1], [3]], dtype=np.uint8), np.array([1, 1, 5]))
    (array([[1],
           [3]], dtype=uint8), array([1, 6]))
    """
    if not len(packed):
        return packed, counts
    order = np.argsort(keys(packed), kind="stable")
    ordered = packed[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    return ordered[starts], np.add.reduceat(counts[order], starts)


def keys(packed: Packed) -> NDArray[Any]:
    """Return a key for every row that is equal for equal rows: a number where it has at most 64 bits."""
    rows, width = packed.shape
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    filled = np.zeros((rows, 8), dtype=np.uint8)
    filled[:, :width] = packed
    return filled.view(np.uint64).ravel()


def bits_of(packed: Packed, sizes: Sequence[int], view: Sequence[int]) -> Bits:
    """Return the bits of some attributes, group after group, one row a report.

    Examples
    --------
    >>> bits_of(np.array([[72]], dtype=np.uint8), [2, 3], [1])
    array([[0, 0, 1]], dtype=uint8)
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    unpacked = np.unpackbits(packed, axis=1, count=int(starts[-1]))
    places = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in view])
    found: Bits = np.ascontiguousarray(unpacked[:, places])
    return found
