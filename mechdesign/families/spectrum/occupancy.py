"""Time in fixed public slots: which slots a session occupies, and which tiles a path visits in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.spectrum.audit.polygon import Vertex
from mechdesign.families.spectrum.channel_program import coordinate
from mechdesign.families.spectrum.tile import Tile, Tiling

MOST_SLOTS = 100_000
"""Slots of one session, or between two rows of a path."""

Fix = tuple[Fraction, Vertex]
"""A time and a place."""


def session_slots(start: Any, end: Any, length: float) -> range:
    """Return the slots [k length, (k + 1) length) that the time from ``start`` to before ``end`` meets.

    Examples
    --------
    >>> list(session_slots(0.5, 2.0, 1.0)), list(session_slots(3.0, 3.0, 1.0))
    ([0, 1], [3])
    """
    low, high = Fraction(coordinate("start", start)), Fraction(coordinate("end", end))
    if high < low:
        raise DataError("end", f"{float(high):g} is before the start {float(low):g}", "correct one of them")
    size = Fraction(length)
    first, last = math.floor(low / size), math.ceil(high / size)
    return _limited(first, max(last, first + 1))


def visited(tiling: Tiling, before: Fix, after: Fix, length: float) -> Iterator[tuple[int, Tile]]:
    """Yield (slot, tile) for all closed tiles that a straight, even movement meets in each closed slot.

    Examples
    --------
    >>> fixes = [(Fraction(t), (Fraction(4 * t), Fraction(0))) for t in (0, 1)]
    >>> sorted(visited(Tiling.of(2.0), *fixes, 0.5))
    [(0, (0, 0)), (0, (1, 0)), (1, (1, 0))]
    """
    (start, here), (end, there) = before, after
    if end <= start:
        raise DataError(
            "time", f"{float(end):g} does not follow {float(start):g}", "sort each name's rows by time"
        )
    size = Fraction(length)

    def place(time: Fraction) -> Vertex:
        part = (time - start) / (end - start)
        return here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])

    for slot in _limited(math.floor(start / size), math.ceil(end / size)):
        one, two = max(start, slot * size), min(end, (slot + 1) * size)
        for tile in tiling.crossed(place(one), place(two)):
            yield slot, tile


def _limited(first: int, end: int) -> range:
    if end - first > MOST_SLOTS:
        raise ParameterError(
            "slot", f"{end - first} slots in a row, the limit is {MOST_SLOTS}", "use a longer slot"
        )
    return range(first, end)
