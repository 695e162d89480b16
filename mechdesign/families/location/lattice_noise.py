"""Noise on a lattice: its integer weights, the random rounding before it, and how far reports are.

*Weights* depend on the length alone. The weight of the length r, in steps, is the integer nearest to a
multiple of

    e^(-kappa (sqrt(r^2 + c^2) - c)),   sinh(kappa) <= epsilon step,

rounded at the top (c), where random rounding to the lattice would make it steeper, down to a floor that
every longer vector has: the noise is planar Laplace, cut off where its probability is below that of a
little noise that is even over a rectangle, and mixed with that. The weights sum to at most 2**62; a uniform
integer is drawn again when it is not below the sum. Nothing here has to be believed: the audit judges the
integers.

*Rounding* moves near places the same way. A coordinate s, in steps of the lattice, goes to
floor(s - 1/2 + U_1 + U_2) for two uniform numbers: to the whole number k with the probability B(s - k), B the
quadratic B-spline, the density of the sum of three uniform numbers. The mean is s, and k is nearer than 3/2.

The uniform numbers have as many bits as the decision needs. The place, the origin and the step are the
rational numbers that their doubles are. Sums of doubles decide where their error cannot matter, which is
almost always; else fractions do, with more bits as long as these leave it open. So the probabilities are
B(s - k) exactly.

*Distances* from the place of the person to its report include the rounding. Whatever the place, it is within
half a step of a lattice place on each axis, and by symmetry in the upper right quarter of its square. The
quarter is cut into parts; for all places of a part at once, the probability of each of the nine lattice
places is at most its largest one, and the distance to it at most the longest one. Lengths are compared in
doubles with some leave, on the safe side; probabilities are added as whole numbers of a common unit.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import BITS, TOTAL, BitSource
from mechdesign.families.location.location_audit import coefficients

Index = NDArray[np.int64]
Doubles = NDArray[np.float64]

EVEN = 2.0**-14
"""The probability of the noise that is even over the rectangle, about."""

MOST_CELLS = 1 << 34
"""Cells of the rectangle; with more the even noise would have too few units for each."""

FINEST = 0.02
"""The least epsilon times step; a finer lattice would have tables of millions of lengths."""

COARSEST = 2.0**40
"""The largest epsilon times step that weights make use of."""

TOP = 0.2
"""How far, in steps, the peak of the weights is rounded: the least mean distance for fine steps."""

NEAR = 24
"""Steps from the peak within which rounding to the lattice changes the slope most."""

MARGIN = 2
"""Steps beyond the area that random rounding may reach, and one more."""

STEPS_OF_BISECTION = 40


@dataclass(frozen=True, eq=False)
class RadialWeights:
    """Weights by squared length, next to the rectangle over which the least of them is even.

    Parameters
    ----------
    squares, counts, weights : tuple of int
        Squared lengths in steps, rising from 0; how many vectors have each; the weight of one of them.
        The last weight is also that of all longer vectors.
    cells : int
        Cells of the rectangle, in which all vectors of these lengths lie, from wherever they start.
    """

    squares: tuple[int, ...]
    counts: tuple[int, ...]
    weights: tuple[int, ...]
    cells: int

    @property
    def floor(self) -> int:
        """The weight of every cell of the rectangle."""
        return self.weights[-1]

    @cached_property
    def total(self) -> int:
        """The sum of all weights, the same from every place."""
        return self.floor * self.cells + sum(self.excess)

    @cached_property
    def excess(self) -> tuple[int, ...]:
        """Weights of all vectors of each length together above the floor."""
        pairs = zip(self.counts, self.weights, strict=True)
        return tuple(count * (weight - self.floor) for count, weight in pairs)

    def beyond(self, square: int) -> Fraction:
        """Return a bound of the probability of a larger squared length: the even part counts as larger."""
        far = sum(part for length, part in zip(self.squares, self.excess, strict=True) if length > square)
        return Fraction(far + self.floor * self.cells, self.total)

    def require(self) -> None:
        """Raise CertificateError where the weights could not be drawn from."""
        reach = math.isqrt(max(self.squares[-1] - 1, 0)) + 1
        known_squares, known_counts = lengths(reach)
        size = len(self.squares)
        if self.squares != known_squares[:size] or self.counts != known_counts[:size]:
            raise CertificateError("lattice", "lengths and their counts are not those of a square lattice")
        if self.floor < 1 or not 0 < self.total <= TOTAL:
            raise CertificateError("lattice", f"weights sum to {self.total}, not to 1 ... 2**62")

    # Drawing

    @cached_property
    def _vectors(self) -> tuple[Index, Index]:
        """All vectors of the table, by length; and the cumulative excess at the end of each length."""
        reach = math.isqrt(self.squares[-1])
        side = np.arange(-reach, reach + 1)
        grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
        squared = (grid**2).sum(axis=1)
        inside = squared <= self.squares[-1]
        order = np.argsort(squared[inside], kind="stable")
        ends = np.cumsum(np.array(self.excess, dtype=np.int64))
        return grid[inside][order], ends

    @cached_property
    def _lengths(self) -> tuple[Index, Index, Index]:
        """For every length: where its vectors start, its weight above the floor, and what comes before it."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        above = np.array(self.weights, dtype=np.int64) - self.floor
        _, ends = self._vectors
        return starts, np.maximum(above, 1), np.concatenate([[0], ends[:-1]]).astype(np.int64)

    def draw(self, count: int, source: BitSource) -> tuple[Index, Index]:
        """Return vectors, and for those of the even part the number of a cell of the rectangle, else -1."""
        numbers = source.integers(count)
        again = np.flatnonzero(numbers >= self.total)
        while len(again):
            numbers[again] = source.integers(len(again))
            again = again[numbers[again] >= self.total]
        even = self.floor * self.cells
        cells = np.where(numbers < even, numbers // self.floor, -1)
        vectors, ends = self._vectors
        starts, above, before = self._lengths
        rest = np.maximum(numbers - even, 0)
        place = np.searchsorted(ends, rest, side="right")
        place[cells >= 0] = 0
        return vectors[starts[place] + (rest - before[place]) // above[place]], cells


def lengths(reach: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the squared lengths up to reach^2 of vectors of integers, and how many have each.

    Examples
    --------
    >>> lengths(2)
    ((0, 1, 2, 4), (1, 4, 4, 4))
    """
    side = np.arange(-reach, reach + 1)
    squared = (side[:, None] ** 2 + side**2).ravel()
    counts = np.bincount(squared[squared <= reach * reach])
    squares = np.flatnonzero(counts)
    return tuple(squares.tolist()), tuple(counts[squares].tolist())


def radial_weights(epsilon: float, step: float, rows: int, columns: int) -> RadialWeights:
    """Return weights for an area of rows x columns, private at epsilon after random rounding.

    Raises
    ------
    ParameterError
        When the lattice is too fine or too large.
    """
    rate = Fraction(epsilon) * Fraction(step)
    if rate < FINEST:
        raise ParameterError(
            "step", f"{step:g} is too fine for epsilon = {epsilon:g}", f"give at least {FINEST / epsilon:.4g}"
        )
    allowed = float(min(rate, Fraction(COARSEST)))
    reach, slope = max(1, math.ceil(45.0 / _slope(allowed))), _slope(allowed)
    while True:
        cells = (rows + 2 * (reach + MARGIN)) * (columns + 2 * (reach + MARGIN))
        if cells > MOST_CELLS:
            raise ParameterError("step", f"the area has {cells} cells of it", "give a larger step")
        floor = max(1, int(EVEN * TOTAL) // cells)
        # Whole numbers may differ by 1 and 1/2 from the shape, and their differences by 3/2.
        slope = _slope(allowed * (1.0 - 1e-11) - (2.0 + min(allowed, 4.0)) / floor)
        shells, counts = lengths(reach)
        shape = _shape(np.array(shells, dtype=np.float64), slope)
        center = (1.0 - 2 * EVEN) * TOTAL / float(np.array(counts) @ shape)
        # The floor is reached where center e^(-slope r) = floor: no need to go farther than a little beyond.
        needed = max(1, math.ceil(math.log(max(center / floor, math.e)) / slope * 1.02) + 2)
        if needed >= reach:
            break
        reach = needed
    weights = [max(floor, int(weight)) for weight in np.rint(center * shape)]
    size = weights.index(floor) + 1 if floor in weights else len(weights)
    return RadialWeights(shells[:size], counts[:size], tuple(weights[:size]), cells)


def _shape(squares: Doubles, slope: float) -> Doubles:
    shape: Doubles = np.exp(-slope * (np.sqrt(squares + TOP * TOP) - TOP))
    return shape


def _slope(allowed: float) -> float:
    """Return the largest slope of the shape, by bisection, that the audit of it allows, near the peak.

    Far from it the slope of the logarithm along the axes decides, which is sinh(slope).
    """
    side = np.arange(-1, NEAR + 3, dtype=np.float64)
    squares = side[:, None] ** 2 + side**2

    def fits(slope: float) -> bool:
        parts = coefficients(_shape(squares, slope))
        return all((np.hypot(east, north) <= allowed * level).all() for _, level, east, north in parts)

    high = math.asinh(allowed)
    if high > 0.0 and fits(high):
        return high
    low = 0.0
    for _ in range(STEPS_OF_BISECTION):
        middle = (low + high) / 2.0
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low <= 0.0:
        raise ParameterError("step", "is too fine for its area", "give a larger one")
    return low


Array = NDArray[np.float64]

HALF = BITS // 2
"""Bits of each of the two uniform numbers, at first."""

ERROR = 2.0**-30
"""More than the rounding of a sum of doubles: of coordinates below 2**21 steps it is less than 2**-30.9."""

OPEN = 2.0**-29
"""More than what the bits that are not drawn yet may add, with the error."""


def spline_rounding(points: Array, low: Array, step: float, source: BitSource) -> Index:
    """Return the place of the lattice, in steps from ``low``, to which each point is moved.

    Parameters
    ----------
    points : (n, 2) array
        Less than 2**21 steps from ``low``.
    low : (2,) array
    step : float
    source : BitSource

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> moved = spline_rounding(np.full((9000, 2), 4.25), np.zeros(2), 1.0, bit_source(1))
    >>> np.unique(moved).tolist(), bool(abs(moved.mean() - 4.25) < 0.02)
    ([3, 4, 5], True)
    """
    words = source.integers(2 * len(points)).reshape(-1, 2)
    numbers = (words >> HALF) + (words & ((1 << HALF) - 1))
    sums = (points - low) / step - 0.5 + numbers * 2.0**-HALF
    moved = np.floor(sums)
    rest = sums - moved
    unsure = (rest < ERROR) | (rest > 1.0 - OPEN - ERROR)
    result: Index = moved.astype(np.int64)
    for row, axis in np.argwhere(unsure):
        exact = (Fraction(points[row, axis]) - Fraction(low[axis])) / Fraction(step) - Fraction(1, 2)
        result[row, axis] = _decided(exact, int(numbers[row, axis]), source)
    return result


def _decided(place: Fraction, number: int, source: BitSource) -> int:
    """Return floor(place + U_1 + U_2), the first bits of both numbers, added, being known."""
    unit = Fraction(1, 1 << HALF)
    least = place + number * unit
    while least + 2 * unit > math.floor(least) + 1:
        word = int(source.integers(1)[0])
        unit /= 1 << HALF
        least += ((word >> HALF) + (word & ((1 << HALF) - 1))) * unit
    return math.floor(least)


def spline_weights(offset: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return B(s - k) for the integers k before, at and after, s being ``offset`` beyond the middle one.

    Parameters
    ----------
    offset : Fraction
        From -1/2 to 1/2.

    Examples
    --------
    >>> [str(weight) for weight in spline_weights(Fraction(1, 2))]
    ['0', '1/2', '1/2']
    """
    half = Fraction(1, 2)
    return (half - offset) ** 2 / 2, Fraction(3, 4) - offset**2, (half + offset) ** 2 / 2


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
