"""How far reports of the lattice noise are from the place of the person, rounding to the lattice included.

Whatever the place, it is within half a step of a lattice place on each axis, and by symmetry in the upper
right quarter of its square. The quarter is cut into parts; for all places of a part at once, the
probability of each of the nine lattice places is at most its largest one, and the distance to it at most
the longest one. Lengths are compared in doubles with some leave, on the safe side; probabilities are added
as whole numbers of a common unit.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product

from mechdesign.families.location.radial import RadialWeights
from mechdesign.families.location.rounding import spline_weights

PARTS = 8
"""Parts of half a step."""

FINENESS = 64
"""Distances are found to this part of a step."""

LEAVE = 1e-9
"""Of squared lengths: far above the rounding of doubles."""

UNITS = (8 * PARTS * PARTS) ** 2
"""Probabilities of lattice places are whole numbers of these parts: products of two spline weights."""

Part = list[tuple[int, float]]
"""For nine lattice places: the most that each has, in units, and how far it is at most."""


@cache
def _parts() -> list[Part]:
    """Return all parts of the quarter."""
    edges = [Fraction(number, 2 * PARTS) for number in range(PARTS + 1)]
    axis = []
    for near, far in pairwise(edges):
        before, middle, _ = spline_weights(near)
        _, _, after = spline_weights(far)
        axis.append([(before, 1 + far), (middle, far), (after, 1 - near)])
    return [
        [(int(v * w * UNITS), float(a * a + b * b) ** 0.5) for (v, a), (w, b) in product(one, other)]
        for one, other in product(axis, axis)
    ]


class Distances:
    """Bounds on the distance of reports, in steps, for every place of a person.

    Examples
    --------
    >>> distances = Distances(RadialWeights((0, 1, 2), (1, 4, 4), (10**6, 2 * 10**5, 1), cells=100))
    >>> distances.radius(Fraction(1, 10), limit=50.0), float(distances.beyond(3.0)) < 0.001
    (2.140625, True)
    """

    def __init__(self, weights: RadialWeights) -> None:
        self.weights = weights

    @cached_property
    def _tails(self) -> list[int]:
        """The weight of all vectors beyond the first lengths of the table; the even part counts as beyond."""
        table = self.weights
        tails = [table.floor * table.cells]
        for part in reversed(table.excess):
            tails.append(tails[-1] + part)
        return tails[::-1]

    def beyond(self, radius: float) -> Fraction:
        """Return an upper bound of the probability that a report is farther than ``radius`` steps."""
        total = self.weights.total * UNITS
        return Fraction(min(total, max(self._beyond(part, radius) for part in _parts())), total)

    def _beyond(self, part: Part, radius: float) -> int:
        tails = [self._tail(radius - far) for _, far in part]
        least = min(tails)  # the nine probabilities sum to 1, their bounds to a little more
        more = (most * (tail - least) for (most, _), tail in zip(part, tails, strict=True))
        return UNITS * least + sum(more)

    def _tail(self, length: float) -> int:
        if length < 0.0:
            return self.weights.total
        return self._tails[bisect_right(self.weights.squares, length * length * (1.0 - LEAVE))]

    def radius(self, beta: Fraction, limit: float) -> float:
        """Return the least multiple of 1 / 64 of a step that is exceeded with probability beta at most.

        At most ``limit``, which no report exceeds.
        """
        low, high = -1, int(limit * FINENESS)
        if self.beyond(high / FINENESS) > beta:
            return limit
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.beyond(middle / FINENESS) <= beta else (middle, high)
        return high / FINENESS
