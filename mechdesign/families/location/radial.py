r"""Integer weights of noise on a lattice that depend on its length alone.

The weight of the length r, in steps, is the integer nearest to a multiple of

    e^(-kappa (sqrt(r^2 + c^2) - c)),   sinh(kappa) <= epsilon step,

rounded at the top (c), where random rounding to the lattice would make it steeper, down to a floor that
every longer vector has: the noise is planar Laplace, cut off where its probability is below that of a
little noise that is even over a rectangle, and mixed with that. The weights sum to at most 2**62; a uniform
integer is drawn again when it is not below the sum. Nothing here has to be believed: the audit judges the
integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.location.audit.location import coefficients

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
        drawn = source.integers(count)
        again = np.flatnonzero(drawn >= self.total)
        while len(again):
            drawn[again] = source.integers(len(again))
            again = again[drawn[again] >= self.total]
        even = self.floor * self.cells
        cells = np.where(drawn < even, drawn // self.floor, -1)
        vectors, ends = self._vectors
        starts, above, before = self._lengths
        rest = np.maximum(drawn - even, 0)
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
    found = np.flatnonzero(counts)
    return tuple(found.tolist()), tuple(counts[found].tolist())


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
