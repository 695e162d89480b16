"""Bits whose probability is linear in the value, from few random bits each and without rounding.

The bit of a value is whether a uniform integer is below the value's weight; a batch draws heads first (see
:mod:`mechdesign.exact.draw.heads`). Numpy finds the head of a weight at once as a double, which is off by
less than 1: each of the few operations adds at most 2**-53 of 2**16. Where the head that was drawn is the one
found, or next to it, the weight is computed as an integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.domain import Array, Domain
from mechdesign.exact.draw.compiled import compiled
from mechdesign.exact.draw.compiled.loops import below_heads
from mechdesign.exact.draw.heads import FEW, TAIL, Codes, Heads, heads, tails_below
from mechdesign.exact.randomness import BitSource

NANOSECONDS, PIECE = 3, 1 << 14
"""What numpy takes for a bit, about; and how many it makes at a time, in the processor's cache."""

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class BitWeights:
    """The weights low + floor(u (high - low)) of values at a part u of their domain; see the module.

    Attributes
    ----------
    domain : Domain
    low, high : int
        The weights out of 2**62 at the domain's ends.
    """

    domain: Domain
    low: int
    high: int

    @cached_property
    def span(self) -> float:
        """The difference of the weights at the ends, as a double."""
        return float(self.high - self.low)

    def at(self, scaled: Array) -> Codes:
        """Return the weights of u (high - low), as they are computed in doubles."""
        weight: Codes = scaled.astype(np.int64)
        if int(self.span) > self.high - self.low:  # else no part of the span is beyond its end
            np.minimum(weight, self.high - self.low, out=weight)
        weight += self.low
        return weight

    def bits(self, values: Array, source: BitSource) -> Bits:
        """Return the bits of values in the domain.

        Examples
        --------
        >>> from mechdesign.exact.randomness import bit_source
        >>> weights = BitWeights(Domain(0.0, 1.0), 1 << 60, 3 << 60)
        >>> round(float(weights.bits(np.full(100_000, 0.5), bit_source(1)).mean()), 2)
        0.5
        """
        if len(values) < FEW or not self.low >> TAIL:  # a head of 0 has none below it
            return self._below(values, source.integers(len(values)))
        drawn, found = heads(len(values), source), np.empty(len(values), dtype=np.uint8)
        loop = compiled(below_heads, NANOSECONDS * len(values))
        if loop is not None:
            start, width, rows = self.domain.low, self.domain.width, np.empty(len(values), dtype=np.int64)
            whole = np.ascontiguousarray(values)
            count = loop(whole, start, width, drawn, self.span, self.low, self.high, found, rows)
            undecided = rows[:count]
        else:
            undecided = self._compare(values, drawn, found)
        if len(undecided):
            weights = self.at(self.domain.scaled(values[undecided], self.span))
            found[undecided] = tails_below(weights, len(undecided), source)
        return found

    def _below(self, values: Array, drawn: Codes) -> Bits:
        """Return whether each integer is below the weight of its value."""
        found = np.empty(len(values), dtype=np.uint8)
        for first in range(0, len(values), PIECE):
            piece = slice(first, first + PIECE)
            found[piece] = drawn[piece] < self.at(self.domain.scaled(values[piece], self.span))
        return found

    def _compare(self, values: Array, drawn: Heads, found: Bits) -> Codes:
        """Write the bits that the heads decide; return the rows of the others."""
        unit, near = 0.5**TAIL, []
        for first in range(0, len(values), PIECE):
            piece = slice(first, first + PIECE)
            place = self.domain.scaled(values[piece], self.span * unit)
            place += self.low * unit - 1.0
            lower = place.astype(np.uint16)  # the head of the weight minus 1, up to rounding by 1
            np.less_equal(drawn[piece], lower, out=found[piece].view(np.bool_))
            near.append(first + np.flatnonzero(drawn[piece] - lower <= 2))
        rows = np.concatenate(near)
        exact = self.at(self.domain.scaled(values[rows], self.span)) >> TAIL
        found[rows] = drawn[rows] < exact
        undecided: Codes = rows[drawn[rows] == exact]
        return undecided
