"""Exact draws of clients: bits of a given probability, and small numbers from tables of 124 binary digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.recipes import row_hex
from mechdesign.core.errors import CertificateError
from mechdesign.exact.draw.draws import bernoulli_words
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource

Codes = NDArray[np.int64]


def bits(count: int, weight: int, source: BitSource) -> Codes:
    """Return independent bits, each 1 with the probability weight / 2**62 exactly.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> drawn = bits(100_000, 1 << 60, bit_source(1))
    >>> drawn.dtype, bool(abs(drawn.mean() - 0.25) < 0.01)
    (dtype('int64'), True)
    """
    return flags(count, weight, source).astype(np.int64)


def flags(count: int, weight: int, source: BitSource) -> NDArray[np.uint8]:
    """Return the same as bytes."""
    words = bernoulli_words((count + 63) // 64, weight, source)
    return np.unpackbits(words.view(np.uint8), count=count)


def checked_weight(field: str, value: Any, low: int, high: int) -> int:
    """Return a weight out of 2**62 within limits; a file that says otherwise is refused."""
    result = plain_int(field, value)
    if not low <= result <= high:
        raise CertificateError(field, f"a weight is not from {low} to {high}")
    return result


class Table:
    """Integers 0, 1, ... by weights out of 2**124: what tails of 2**-62 would not resolve.

    Parameters
    ----------
    weights : list of int
        They sum to 2**124.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> table = Table([TOTAL * TOTAL // 4, 3 * TOTAL * TOTAL // 4])
    >>> bool(abs(table.draw(10_000, bit_source(1)).mean() - 0.75) < 0.03)
    True
    """

    def __init__(self, weights: list[int]) -> None:
        if sum(weights) != TOTAL * TOTAL or min(weights) < 0:
            raise CertificateError("table", "the weights are not 2**124 in all")
        self.weights = tuple(weights)
        ends, total = [], 0
        for weight in weights[:-1]:
            total += weight
            ends.append(total)
        self._ends = ends
        self._high = np.array([min(end // TOTAL, TOTAL - 1) for end in ends], dtype=np.int64)

    def client_rows(self) -> dict[str, str]:
        """Return the ends of the weights in two rows of 62 binary digits each, as clients get them."""
        highs = self._high.tolist()
        lows = [min(end - high * TOTAL, TOTAL) for end, high in zip(self._ends, highs, strict=True)]
        return {"high": row_hex(highs), "low": row_hex(lows)}

    def draw(self, count: int, source: BitSource) -> Codes:
        """Return independent numbers; a second word decides where the first one is at an end."""
        drawn = source.integers(count)
        places = np.searchsorted(self._high, drawn, side="left")
        if len(self._high) == 0:
            return places
        at_end = np.flatnonzero(self._high[np.minimum(places, len(self._high) - 1)] == drawn)
        for row in at_end.tolist():
            number = int(drawn[row]) * TOTAL + int(source.integers(1)[0])
            place = int(places[row])
            while place < len(self._ends) and self._ends[place] <= number:
                place += 1
            places[row] = place
        return places
