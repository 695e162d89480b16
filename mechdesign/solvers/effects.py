"""Effects of a table: the linear map from a flat table to their coordinates, for fits of tables.

In the coordinates of effects a table consists of those of every marginal that no smaller marginal tells.
Along an axis of size k stands the matrix whose first row is 1 everywhere and whose other rows are Helmert's,
orthonormal and with sum 0. The coordinates of a table that are constant along all axes but those of a set B
are those of its marginal on B in an orthonormal basis of the functions that sum to 0 along each attribute of
B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOGETHER = 16
"""Neighboring axes are transformed together while their table has at most this many cells."""

DENSE = 1 << 18
"""Products with the matrix itself are quicker where it has at most this many numbers."""


def contrasts(size: int) -> Array:
    """Return the matrix of an axis: a row of ones, then orthonormal rows with sum 0.

    Examples
    --------
    >>> contrasts(2).round(3)
    array([[ 1.   ,  1.   ],
           [ 0.707, -0.707]])
    """
    rows = np.zeros((size, size))
    rows[0] = 1.0
    for row in range(1, size):
        rows[row, :row], rows[row, row] = 1.0, -float(row)
        rows[row] /= math.sqrt(row * (row + 1.0))
    return rows


def _together(sizes: Sequence[int]) -> Array:
    """Return the matrix of neighboring axes."""
    result = np.ones((1, 1))
    for size in sizes:
        result = np.asarray(np.kron(result, contrasts(size)), dtype=np.float64)
    return result


class EffectTransform:
    """The map from a flat table to coordinates of its effects, all but the sum of the table.

    Parameters
    ----------
    sizes : sequence of int
        Of the axes; the last one runs fastest.
    chosen : (rows,) int array, optional
        Which coordinates, by their place in the flat table of coordinates, where index 0 along an axis is for
        the sum over it. All but the first by default.

    Examples
    --------
    >>> transform = EffectTransform([2, 2])
    >>> table = np.array([0.4, 0.1, 0.2, 0.3])
    >>> transform.forward(table).round(4)  # second attribute, first attribute, both
    array([0.1414, 0.    , 0.2   ])
    """

    def __init__(self, sizes: Sequence[int], chosen: NDArray[np.int64] | None = None) -> None:
        self.sizes = tuple(sizes)
        self.cells = math.prod(self.sizes)
        self.chosen = np.arange(1, self.cells) if chosen is None else chosen
        groups: list[list[int]] = []
        for size in self.sizes:
            if groups and math.prod(groups[-1]) * size <= TOGETHER:
                groups[-1].append(size)
            else:
                groups.append([size])
        self._matrix: Array | None = None
        self._factors = [_together(group) for group in groups]

    @cached_property
    def dense(self) -> Array | None:
        """The matrix, rows by cells, where it is small."""
        return self.matrix() if len(self.chosen) * self.cells <= DENSE else None

    def matrix(self) -> Array:
        """Return the matrix, rows by cells."""
        if self._matrix is None:
            rows = np.ones((len(self.chosen), 1))
            for size, places in zip(self.sizes, np.unravel_index(self.chosen, self.sizes), strict=True):
                rows = rows[:, :, None] * contrasts(size)[places][:, None, :]
                rows = rows.reshape(len(self.chosen), rows.shape[1] * size)
            self._matrix = rows
        return self._matrix

    @cached_property
    def squares(self) -> Array:
        """The mean square of each row's entries: the product of 1/k over the attributes of its effect."""
        per_axis = [np.concatenate([[1.0], np.full(size - 1, 1.0 / size)]) for size in self.sizes]
        result: Array = reduce(np.multiply.outer, per_axis).ravel()[self.chosen]
        return result

    def forward(self, shares: Array) -> Array:
        """Return the chosen coordinates of a flat table."""
        if self.dense is not None:
            return np.asarray(self.dense @ shares)
        result: Array = self._turned(shares, [factor.T for factor in self._factors])[self.chosen]
        return result

    def back(self, multipliers: Array) -> Array:
        """Return the flat table of sums over coordinates of multiplier times row."""
        if self.dense is not None:
            return np.asarray(multipliers @ self.dense)
        spread = np.zeros(self.cells)
        spread[self.chosen] = multipliers
        return self._turned(spread, self._factors)

    def _turned(self, flat: Array, factors: Sequence[Array]) -> Array:
        """Multiply along every group of axes: the last one is turned, and moves to the front."""
        for factor in reversed(factors):
            size = len(factor)
            flat = (flat.reshape(-1, size) @ factor).T.ravel()
        return flat
