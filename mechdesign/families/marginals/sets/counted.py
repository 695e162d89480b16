"""Where the bits of reports and the server's counters stand, and how reports are counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Codes
from mechdesign.collect.sealed import Sealed
from mechdesign.core.errors import RowError
from mechdesign.exact.draw.packed import Packed, member_counts
from mechdesign.families.marginals.sets.scores import parts_of
from mechdesign.families.marginals.sets.shapes import Factor

View = tuple[int, ...]

BLOCK = 1 << 14
"""Reports that are counted at a time: all their numbers are exact in single precision."""


class CountedParts(Sealed):
    """The counters of the reported sets: how many hold each cell of each counted part.

    Parameters
    ----------
    factors : sequence of (int, int)
    tables : sequence of tuple of int
        Sets of factors of which the cells are counted, and all their parts with them.

    Examples
    --------
    >>> layout = CountedParts([(2, 1), (3, 2)], [(0, 1)])
    >>> layout.parts, layout.counters
    (((0,), (1,), (0, 1)), 11)
    >>> layout.count(np.array([[0b01011000]], dtype=np.uint8))
    array([0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1])
    """

    def __init__(self, factors: Sequence[Factor], tables: Sequence[View]) -> None:
        self.factors = tuple(factors)
        sizes = [size for size, _ in self.factors]
        self.starts: tuple[int, ...] = (0, *accumulate(sizes))
        self.bits: int = self.starts[-1]
        single = {(place,) for place in range(len(sizes))}
        wanted = single | {part for table in tables for part in parts_of(table) if part}
        self.parts: tuple[View, ...] = tuple(sorted(wanted, key=lambda part: (len(part), part)))
        cells = [self.cells(part) for part in self.parts]
        ends = np.cumsum(cells).tolist()
        self.places = {
            part: slice(end - size, end) for part, size, end in zip(self.parts, cells, ends, strict=True)
        }
        self.counters: int = ends[-1]

    def cells(self, part: View) -> int:
        """Return the number of cells of the table over some factors."""
        return math.prod(self.factors[place][0] for place in part)

    def held(self, part: View) -> int:
        """Return the number of cells of a part that every report holds."""
        return math.prod(self.factors[place][1] for place in part)

    def group(self, place: int) -> slice:
        """Return the bits of a factor."""
        return slice(self.starts[place], self.starts[place + 1])

    def require_widths(self, packed: Packed) -> None:
        """Raise RowError for a report with another number of values of some factor."""
        for rows in self._blocks(packed):
            bits = np.unpackbits(packed[rows], axis=1, count=self.bits)
            sums = np.add.reduceat(bits, self.starts[:-1], axis=1, dtype=np.int64)
            wrong = sums != np.array([width for _, width in self.factors])
            if wrong.any():
                row = int(np.argmax(wrong.any(axis=1)))
                place = int(np.argmax(wrong[row]))
                raise RowError(
                    "reports",
                    rows.start + row,
                    f"holds {int(sums[row, place])} values of attribute {place}, "
                    f"not {self.factors[place][1]}",
                    "use the mechanism file the reports were made with",
                )

    def count(self, packed: Packed) -> Codes:
        """Return for each cell of each part how many reports hold it."""
        found = np.zeros(self.counters, dtype=np.int64)
        found[: self.bits] = member_counts(packed, self.bits)
        if len(self.parts) == len(self.factors):
            return found
        for rows in self._blocks(packed):
            bits = np.unpackbits(packed[rows], axis=1, count=self.bits).astype(np.float32)
            for first, seconds in self._pairs:
                left, right = bits[:, self.group(first)], bits[:, self._columns[first]]
                both = (left.T @ right).astype(np.int64)
                start = 0
                for second in seconds:
                    size = self.factors[second][0]
                    found[self.places[first, second]] += both[:, start : start + size].ravel()
                    start += size
            for part in self.parts:
                if len(part) > 2:
                    product = self._product(bits, part[:-1])
                    held = product.T @ bits[:, self.group(part[-1])]
                    found[self.places[part]] += held.astype(np.int64).ravel()
        return found

    @cached_property
    def _pairs(self) -> list[tuple[int, list[int]]]:
        """The counted pairs by their first factor."""
        found: dict[int, list[int]] = {}
        for part in self.parts:
            if len(part) == 2:
                found.setdefault(part[0], []).append(part[1])
        return list(found.items())

    @cached_property
    def _columns(self) -> dict[int, list[int]]:
        """The bits of all second factors of a first one, side by side."""
        return {
            first: [bit for second in seconds for bit in range(self.starts[second], self.starts[second + 1])]
            for first, seconds in self._pairs
        }

    def _product(self, bits: NDArray[np.float32], part: View) -> NDArray[np.float32]:
        """Return whether each report holds each cell of a part, (n, cells)."""
        made = bits[:, self.group(part[0])]
        for place in part[1:]:
            made = (made[:, :, None] * bits[:, None, self.group(place)]).reshape(len(bits), -1)
        return made

    @staticmethod
    def _blocks(packed: Packed) -> Iterator[slice]:
        for start in range(0, len(packed), BLOCK):
            yield slice(start, min(len(packed), start + BLOCK))
