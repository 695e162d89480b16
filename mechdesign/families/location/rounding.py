r"""Places moved at random to a lattice, so that near places are moved the same way.

A coordinate s, in steps of the lattice, goes to floor(s - 1/2 + U_1 + U_2) for two uniform numbers: to the
whole number k with the probability B(s - k), B the quadratic B-spline, the density of the sum of three
uniform numbers. The mean is s, and k is nearer than 3/2.

The uniform numbers have as many bits as the decision needs. The place, the origin and the step are the
rational numbers that their doubles are. Sums of doubles decide where their error cannot matter, which is
almost always; else fractions do, with more bits as long as these leave it open. So the probabilities are
B(s - k) exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.randomness import BITS, BitSource

Array = NDArray[np.float64]
Index = NDArray[np.int64]

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
    drawn = (words >> HALF) + (words & ((1 << HALF) - 1))
    sums = (points - low) / step - 0.5 + drawn * 2.0**-HALF
    moved = np.floor(sums)
    rest = sums - moved
    unsure = (rest < ERROR) | (rest > 1.0 - OPEN - ERROR)
    found: Index = moved.astype(np.int64)
    for row, axis in np.argwhere(unsure):
        exact = (Fraction(points[row, axis]) - Fraction(low[axis])) / Fraction(step) - Fraction(1, 2)
        found[row, axis] = _decided(exact, int(drawn[row, axis]), source)
    return found


def _decided(place: Fraction, drawn: int, source: BitSource) -> int:
    """Return floor(place + U_1 + U_2), the first bits of both numbers, added, being known."""
    unit = Fraction(1, 1 << HALF)
    least = place + drawn * unit
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
