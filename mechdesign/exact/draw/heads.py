"""Decisions that need two random bytes each: the highest binary digits of a number, the rest where needed.

Whether a uniform integer U below 2**62 is below a weight w is decided by the *heads* of both, their 16
highest digits, unless these are equal. With U = 2**46 H + T and w = 2**46 W + r,

    U < w   if and only if   H < W, or H = W and T < r,

so the tail T is drawn for one number in 2**16 on average. The probability is w / 2**62 exactly, as with all
digits. Batches of reports draw in this way; a client draws the whole number at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.randomness import BITS, BitSource

HEAD = 16
TAIL = BITS - HEAD

FEW = 512
"""Fewer reports are drawn from whole numbers, as a client draws its own."""

Codes = NDArray[np.int64]
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
    found: NDArray[np.bool_] = (source.integers(count) >> HEAD) < (weights & ((1 << TAIL) - 1))
    return found


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
    drawn = heads(count, source)
    found: NDArray[np.bool_] = drawn < weight >> TAIL
    undecided = np.flatnonzero(drawn == weight >> TAIL)
    if len(undecided):
        found[undecided] = tails_below(weight, len(undecided), source)
    return found


def digits(width: int, count: int, source: BitSource) -> NDArray[Any]:
    """Return independent uniform numbers of this many binary digits, as short as these allow.

    Parameters
    ----------
    width : int
        From 0 to 62.

    Returns
    -------
    (count,) array of uint8, uint16, uint32 or int64

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> digits(3, 1000, bit_source(1)).dtype, int(digits(3, 100, bit_source(1)).max())
    (dtype('uint8'), 7)
    """
    if count < FEW:
        return source.integers(count) & ((1 << width) - 1)
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    kind = np.dtype(np.int64) if size == 8 else np.dtype(f"u{size}")
    drawn: NDArray[Any] = source.words(-(-count * size // 8)).view(kind)[:count] & kind.type((1 << width) - 1)
    return drawn
