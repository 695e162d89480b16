"""Numbers with bounds of their rounding errors: what holds for an enclosure holds for the exact numbers.

**Every result contains the exact one, whatever rounding did.**
An enclosure is a matrix of doubles and a matrix of radii >= 0 (Rump's midpoint-radius arithmetic). A product
of inner length k is computed in any order with an error of at most 2 k u |A||B| for k u < 1/4, u = 2^-53
(Higham 2002, section 3.5); the radii themselves are computed with a factor that covers their own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNIT = 2.0**-53
LEAST = 1e-290
"""Added to every radius: underflow never exceeds it in the sizes that occur."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A matrix, vector or number with the radius of each entry.

    Examples
    --------
    >>> third = Enclosure.of(1.0) * Enclosure.of(1.0 / 3.0, 1e-17)
    >>> bool(third.low() < 1 / 3 < third.high())
    True
    """

    middle: Array
    radius: Array

    @classmethod
    def of(cls, values: Any, radius: Any = 0.0) -> Enclosure:
        """Return the enclosure of doubles that are exact, or within a radius."""
        middle = np.asarray(values, dtype=np.float64)
        return cls(middle, np.broadcast_to(np.asarray(radius, dtype=np.float64), middle.shape))

    @property
    def size(self) -> Array:
        """Upper bounds of the absolute values."""
        size: Array = np.abs(self.middle) + self.radius
        return size * (1.0 + 2.0 * UNIT)

    def __matmul__(self, other: Enclosure) -> Enclosure:
        length = self.middle.shape[-1]
        slack = 1.0 + (2.0 * length + 16.0) * UNIT
        middle = self.middle @ other.middle
        rounding = 2.0 * (length + 2.0) * UNIT
        sizes = np.abs(self.middle) @ (other.radius + rounding * np.abs(other.middle))
        sizes = sizes + self.radius @ other.size
        return Enclosure(middle, (sizes * slack + LEAST) * (1.0 + 4.0 * UNIT))

    def __mul__(self, other: Enclosure) -> Enclosure:
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * other.size + 2.0 * UNIT * np.abs(middle)
        return Enclosure(middle, (radius + LEAST) * (1.0 + 16.0 * UNIT))

    def __add__(self, other: Enclosure) -> Enclosure:
        middle = self.middle + other.middle
        radius = self.radius + other.radius + 2.0 * UNIT * np.abs(middle)
        return Enclosure(middle, (radius + LEAST) * (1.0 + 16.0 * UNIT))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.middle, self.radius)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def __truediv__(self, other: Enclosure) -> Enclosure:
        """Divide by numbers that are not 0: |a/b - m| <= (r_a + |m| r_b) / (|b| - r_b)."""
        middle = self.middle / other.middle
        below = np.abs(other.middle) * (1.0 - 4.0 * UNIT) - other.radius
        if (below <= 0.0).any():
            raise ZeroDivisionError("the divisor may be 0")
        radius = (self.radius + np.abs(middle) * other.radius + 4.0 * UNIT * np.abs(self.middle)) / below
        return Enclosure(middle, (radius + 4.0 * UNIT * np.abs(middle) + LEAST) * (1.0 + 16.0 * UNIT))

    @property
    def transposed(self) -> Enclosure:
        """The transposed matrix."""
        return Enclosure(self.middle.T, self.radius.T)

    def __getitem__(self, key: Any) -> Enclosure:
        return Enclosure(self.middle[key], self.radius[key])

    def sum(self) -> Enclosure:
        """Return the sum of all entries."""
        flat = Enclosure(self.middle.reshape(1, -1), self.radius.reshape(1, -1))
        ones = Enclosure.of(np.ones((flat.middle.shape[1], 1)))
        total = flat @ ones
        return Enclosure(total.middle[0, 0], total.radius[0, 0])

    def low(self) -> Array:
        """Return lower bounds, as doubles."""
        return np.asarray(np.nextafter(self.middle - self.radius, -np.inf))

    def high(self) -> Array:
        """Return upper bounds, as doubles."""
        return np.asarray(np.nextafter(self.middle + self.radius, np.inf))


def least_eigenvalue(matrix: Enclosure) -> float:
    """Return a proven lower bound of the least eigenvalue of a symmetric matrix, at most 0.

    If Cholesky's method in doubles completes for A + s I, then A + s I has no eigenvalue below
    -4 (n + 4) u tr(A + s I) (Rump 2006, with a factor to spare); the radii change eigenvalues by at most
    their largest row sum (Weyl, Gershgorin). The shift s is doubled until it completes.

    Examples
    --------
    >>> -1e-12 < least_eigenvalue(Enclosure.of(np.eye(3))) <= 0.0
    True
    """
    size = len(matrix.middle)
    middle = (matrix.middle + matrix.middle.T) / 2.0
    spread = float((np.abs(matrix.middle - middle) + matrix.radius).sum(axis=1).max()) * (1.0 + 1e-10)
    total = float(np.abs(np.diag(middle)).sum())
    shift = 4.0 * size * UNIT * total + LEAST
    while True:
        shifted = middle + shift * np.eye(size)
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            shift *= 2.0
            if not np.isfinite(shift):
                return -np.inf
            continue
        trace = float(np.abs(np.diag(shifted)).sum())
        rounding = 4.0 * (size + 4.0) * UNIT * trace
        return -(shift * (1.0 + 4.0 * UNIT) + spread + rounding)


def is_positive(matrix: Enclosure) -> bool:
    """Whether a symmetric matrix is proven to be positive semidefinite, by Cholesky's method less a shift.

    Examples
    --------
    >>> is_positive(Enclosure.of(np.eye(3))), is_positive(Enclosure.of(np.eye(3) - 0.5))
    (True, False)
    """
    size = len(matrix.middle)
    middle = (matrix.middle + matrix.middle.T) / 2.0
    spread = float((np.abs(matrix.middle - middle) + matrix.radius).sum(axis=1).max()) * (1.0 + 1e-10)
    trace = float(np.abs(np.diag(middle)).sum())
    shift = (spread + 4.0 * (size + 8.0) * UNIT * (trace + size * spread)) * (1.0 + 1e-10) + LEAST
    try:
        np.linalg.cholesky(middle - shift * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return True
