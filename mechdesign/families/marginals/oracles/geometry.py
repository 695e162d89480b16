"""Points and hyperplanes of a projective space over a prime field, numbered without tables.

A point is a vector of F_q^L up to a factor; of its multiples the one stands for it whose last digit that is
not 0 is 1. Read as a number in base q, the lowest digit first, such vectors are those from q^t to 2 q^t - 1
for t = 0 .. L - 1, so they are numbered from 0 to (q^L - 1)/(q - 1) - 1 by t and by the digits below. A
hyperplane is numbered by the vector that is orthogonal to its points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

CELLS = 1 << 20
"""Products of points and hyperplanes that are looked at at a time."""


@dataclass(frozen=True)
class ProjectiveSpace:
    """The projective space of the vectors with ``digits`` digits over the field of q elements, q prime.

    Examples
    --------
    >>> plane = ProjectiveSpace(2, 3)  # the Fano plane
    >>> plane.size, plane.on_hyperplane, plane.on_two
    (7, 3, 1)
    >>> plane.vectors(np.array([0, 3])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """

    field: int
    digits: int

    @property
    def size(self) -> int:
        """The number of points, which is that of hyperplanes."""
        return self._below(self.digits)

    @property
    def on_hyperplane(self) -> int:
        """The number of points of a hyperplane, which is that of hyperplanes through a point."""
        return self._below(self.digits - 1)

    @property
    def on_two(self) -> int:
        """The number of points on two hyperplanes, which is that of hyperplanes through two points."""
        return self._below(self.digits - 2)

    def _below(self, digits: int) -> int:
        return int((self.field**digits - 1) // (self.field - 1))

    @cached_property
    def _powers(self) -> Codes:
        return np.array([self.field**place for place in range(self.digits)], dtype=np.int64)

    @cached_property
    def _starts(self) -> Codes:
        """The number of the first point of each t."""
        return np.array([self._below(place) for place in range(self.digits)], dtype=np.int64)

    @cached_property
    def _inverses(self) -> Codes:
        return np.array(
            [0] + [pow(element, -1, self.field) for element in range(1, self.field)], dtype=np.int64
        )

    def heights(self, numbers: Codes) -> Codes:
        """Return t of each point: the place of its last digit that is not 0."""
        return np.searchsorted(self._starts, numbers, side="right") - 1

    def vectors(self, numbers: Codes) -> Codes:
        """Return the digits of points, shape (n, L)."""
        height = self.heights(numbers)
        values = self._powers[height] + numbers - self._starts[height]
        return self.digits_of(values)

    def digits_of(self, values: Codes) -> Codes:
        """Return the digits in base q of numbers below q^L, shape (n, L), the lowest first."""
        return values[:, None] // self._powers % self.field

    def numbers_of(self, vectors: Codes) -> Codes:
        """Return the number of the point that a vector, not 0, stands for."""
        height = self.digits - 1 - np.argmax(vectors[:, ::-1] != 0, axis=1)
        last = np.take_along_axis(vectors, height[:, None], axis=1)
        unit = vectors * self._inverses[last] % self.field
        numbers: Codes = unit @ self._powers - self._powers[height] + self._starts[height]
        return numbers

    def covered(self, counts: Codes, points: int) -> Codes:
        """Return for each of the first points the sum of the counts of the hyperplanes through it.

        Examples
        --------
        >>> ProjectiveSpace(2, 3).covered(np.ones(7, dtype=np.int64), 4)
        array([3, 3, 3, 3])
        """
        if points * self.size <= self.field ** (self.digits + 2):
            return self._covered_by_products(counts, points)
        return self._covered_by_digits(counts, points)

    def _covered_by_products(self, counts: Codes, points: int) -> Codes:
        """Look at every point with every hyperplane that has a count, a block of points at a time."""
        used = np.flatnonzero(counts)
        planes, weights = self.vectors(used), counts[used]
        found = np.zeros(points, dtype=np.int64)
        rows = max(1, CELLS // max(1, len(used)))
        for start in range(0, points, rows):
            block = self.vectors(np.arange(start, min(start + rows, points), dtype=np.int64))
            found[start : start + rows] = (block @ planes.T % self.field == 0) @ weights
        return found

    def _covered_by_digits(self, counts: Codes, points: int) -> Codes:
        """Sum over one digit of the hyperplanes at a time, by the product so far: q^2 steps a digit.

        table[r] holds, for the digits of a point below the present place and those of hyperplanes from it on,
        the counts of hyperplanes whose product with the point is r so far.
        """
        q = self.field
        table = np.zeros((q, q**self.digits), dtype=np.int64)
        table[0, self.vectors(np.arange(self.size, dtype=np.int64)) @ self._powers] = counts
        for place in range(self.digits):
            before = table.reshape(q, -1, q, q**place)  # residue, digits above, this digit, digits below
            after = np.zeros_like(before)
            for own in range(q):
                for other in range(q):
                    after[:, :, own] += np.roll(before[:, :, other], own * other, axis=0)
            table = after.reshape(q, -1)
        found: Codes = table[0, self.vectors(np.arange(points, dtype=np.int64)) @ self._powers]
        return found
