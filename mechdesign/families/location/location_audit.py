"""Audits of location privacy: a factor e^(epsilon d) for places at the Euclidean distance d.

*Noise on a lattice, from any place.* A place s, in steps of the lattice, is moved to the place k with the
probability B(s_1 - k_1) B(s_2 - k_2), B the quadratic B-spline; then a vector v is added with probability
f(v) / M. A report y comes out with probability g(s) / M, g(s) = sum_k B(s_1 - k_1) B(s_2 - k_2) f(y - k),
which is smooth in s. On every square of the side 1 around a k it is a polynomial, and so are its two
derivatives: all three are averages, with the same weights (the nine Bernstein polynomials), of their
coefficients

    G_ij = (A_i x A_j) f,   P_ij = (D_i x A_j) f,   Q_ij = (A_i x D_j) f,

with these along a line, for three values a, b, c of f next to each other:

    A = ((a + b) / 2, b, (b + c) / 2),   D = (b - a, (c - a) / 2, c - b).

Where

    P_ij^2 + Q_ij^2 <= (epsilon step)^2 G_ij^2      for all coefficients,

the length of the gradient of g is at most epsilon step g, so ln g changes by epsilon d at most over a
distance d: for ANY two places, however near. All of it is in whole numbers; no exponential and no root is
needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import PrivacyFinding
from mechdesign.core.errors import CertificateError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon
from mechdesign.core.values import frozen_value
from mechdesign.exact.numbers import plain_int, rational

Integers = NDArray[Any]

UNIT = "unit of distance"

SMALL = 1 << 58
"""Below it, sums of eight weights and more are 64-bit integers; above it, they are Python's."""

ROWS = 64
"""Rows of vectors that are judged at a time."""

ROUNDING = 1e-12
"""Ratios nearer than this to the largest one, relatively, are computed exactly."""


@frozen_value(repr=False)
class LocationAudit(PrivacyFinding):
    """Result of an audit of location privacy; epsilon is per unit of length.

    Attributes
    ----------
    proof : Proof
        The guarantee, and an upper bound of its epsilon (infinite where a report is excluded).
    witness : mapping
        What attains it: two lengths of the noise, or two places and a report.
    note : str
    """

    note: str = ""

    def _note(self) -> str:
        return "; ".join(part for part in ("epsilon per unit of distance", self.note) if part)


def per_length(epsilon: Any) -> Guarantee:
    """Return the guarantee of this epsilon per unit of distance, for any two places.

    Examples
    --------
    >>> print(per_length("0.5"))
    epsilon = 0.5 per unit of distance, one report
    """
    return Guarantee(epsilon, distance=UNIT)


def audit_rounded(
    squares: Sequence[int], weights: Sequence[int], step: float, epsilon: float
) -> LocationAudit:
    """Audit noise on a lattice after random rounding to it, for all pairs of places of the plane, exactly.

    Parameters
    ----------
    squares : sequence of int
        The squared lengths of vectors of whole numbers, rising from 0, none left out. Whatever is longer has
        the last weight.
    weights : sequence of int
        The weight of one vector of each length, > 0.
    step : float
        The step of the lattice, > 0, taken exactly.
    epsilon : float
        What is wanted, per unit of length.

    Returns
    -------
    LocationAudit
        ``true_epsilon`` bounds the slope of the logarithm of every report's probability.

    Raises
    ------
    CertificateError
        When a length is left out, or a weight is not positive.

    Examples
    --------
    >>> audit_rounded([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.0).holds
    False
    >>> audit = audit_rounded([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.1)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (True, 1.047566)
    """
    limit, width = Fraction(double_epsilon(epsilon)), rational("step", step)
    if width <= 0:
        raise CertificateError("location", "expected a step > 0")
    worst, place = steepest(_by_square(squares, weights))
    true, proven = _root_up(worst / width**2), worst <= (limit * width) ** 2
    witness = {"vector": list(place), "step": float(width)}
    proof = Proof(per_length(limit), min(true, limit) if proven else true)
    return LocationAudit(proof, witness, "for any two locations, rounding included")


def _by_square(squares: Sequence[int], weights: Sequence[int]) -> Integers:
    """Return the weights by squared length, the last one for everything longer."""
    lengths = [plain_int("squares", square) for square in squares]
    counts = [plain_int("weights", weight) for weight in weights]
    if len(lengths) != len(counts) or not counts or lengths[0] != 0 or min(counts) < 1:
        raise CertificateError("location", "expected a weight above 0 for each length, from length 0 on")
    if lengths != square_lengths(len(lengths)):
        raise CertificateError("location", "a length of the lattice is left out, or they do not rise")
    table = np.full(lengths[-1] + 2, counts[-1], dtype=np.int64 if max(counts) < SMALL else object)
    table[lengths] = counts
    return table


def square_lengths(count: int) -> list[int]:
    """Return this many squared lengths of vectors of integers, from the least.

    Examples
    --------
    >>> square_lengths(6)
    [0, 1, 2, 4, 5, 8]
    """
    reach = max(2, isqrt(2 * count))
    while True:
        side = np.arange(reach + 1) ** 2
        squares = np.unique(side[:, None] + side)
        squares = squares[squares <= reach * reach]
        if len(squares) >= count:
            return [int(square) for square in squares[:count]]
        reach *= 2


def steepest(table: Integers) -> tuple[Fraction, tuple[float, float]]:
    """Return the largest (P^2 + Q^2) / G^2 of all coefficients, and the vector, in steps, where it is.

    Parameters
    ----------
    table : array of int64 or object
        The weight by squared length; the last one for everything longer.
    """
    last = len(table) - 1
    side = np.arange(-1, isqrt(last) + 3)
    worst, place = Fraction(0), (0.0, 0.0)
    for first in range(1, len(side) - 1, ROWS):
        rows = side[first - 1 : first + ROWS + 1]
        f = table[np.minimum(rows[:, None] ** 2 + side**2, last)]
        for shift, level, east, north in coefficients(f):
            rough = (east.astype(np.float64) ** 2 + north.astype(np.float64) ** 2) / level.astype(
                np.float64
            ) ** 2
            least = max(float(rough.max(initial=0.0)), float(worst)) * (1.0 - ROUNDING)
            if least == 0.0:
                continue
            # Four roundings are far below ROUNDING: the largest ratio is among those that are looked at.
            for row, column in np.argwhere(rough >= least):
                square = int(east[row, column]) ** 2 + int(north[row, column]) ** 2
                exact = Fraction(square, int(level[row, column]) ** 2)
                if exact > worst:
                    worst = exact
                    place = float(rows[1 + row]) + shift[0], float(side[1 + column]) + shift[1]
    return worst, place


def coefficients(f: Any) -> Iterator[tuple[tuple[float, float], Any, Any, Any]]:
    """Yield four times G, P and Q for places in a square's middle, on its edges and at its corners.

    Parameters
    ----------
    f : (n, m) array
        Weights of a rectangle of vectors; the first and the last of each line only serve their neighbors.
    """
    inner, after, before = slice(1, -1), slice(2, None), slice(None, -2)
    middle = f[inner, inner]
    south, north = f[inner, before], f[inner, after]
    yield (0.0, 0.0), 4 * middle, 2 * (f[after, inner] - f[before, inner]), 2 * (north - south)
    right = f[after, inner]
    across = f[after, after] + north - f[after, before] - south
    yield (0.5, 0.0), 2 * (middle + right), 4 * (right - middle), across
    along = f[after, inner] + f[after, after] - f[before, inner] - f[before, after]
    yield (0.0, 0.5), 2 * (middle + north), along, 4 * (north - middle)
    corner = f[after, after]
    sums = middle + right + north + corner
    yield (0.5, 0.5), sums, 2 * (right + corner - middle - north), 2 * (north + corner - middle - right)


def _root_up(square: Fraction) -> Fraction:
    """Return a rational number not below the root, closer than 2**-80 of it."""
    scale = 1 << max(0, 100 + square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(
        isqrt(square.numerator * square.denominator * scale * scale) + 1, square.denominator * scale
    )
