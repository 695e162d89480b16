"""Distances for metric privacy, and the pairs whose rows are not implied by the triangle inequality."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, suggestion

Array = NDArray[np.float64]


def distance_matrix(distance: str | Array, size: int) -> Array:
    """Return the (n, n) matrix of a distance given as "line", a matrix or points in the plane.

    Raises
    ------
    ParameterError
        For a wrong shape, a negative or asymmetric entry, or a diagonal that is not zero.

    Examples
    --------
    >>> distance_matrix("line", 3)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if isinstance(distance, str):
        if distance != "line":
            raise ParameterError(f"distance: '{distance}' is not a choice; {suggestion(distance, ['line'])}")
        places = np.arange(size, dtype=np.float64)
        line: Array = np.abs(places[:, None] - places)
        return line
    if distance.shape == (size, size) and _looks_like_matrix(distance, size):
        return _checked(distance)
    if distance.shape == (size, 2):
        return _between_points(distance)
    raise ParameterError(
        f"distance: has shape {distance.shape[0]} x {distance.shape[1]} for {size} answers; "
        f"give {size} x {size}, {size} points (x, y), or 'line'"
    )


def _looks_like_matrix(distance: Array, size: int) -> bool:
    return size != 2 or (not distance.diagonal().any() and bool(distance[0, 1] == distance[1, 0]))


def _checked(matrix: Array) -> Array:
    if (matrix < 0).any():
        row, column = np.argwhere(matrix < 0)[0]
        raise ParameterError(f"distance: entry ({row}, {column}) is negative; give distances >= 0")
    if matrix.diagonal().any():
        raise ParameterError(
            f"distance: entry {int(np.argmax(matrix.diagonal() != 0))} of the diagonal is not 0"
        )
    if (matrix != matrix.T).any():
        row, column = np.argwhere(matrix != matrix.T)[0]
        raise ParameterError(
            f"distance: entries ({row}, {column}) and ({column}, {row}) differ; give a symmetric matrix"
        )
    return matrix


def _between_points(points: Array) -> Array:
    """Return Euclidean distances rounded down, so that a certificate also holds for the true distance."""
    size = len(points)
    matrix = np.zeros((size, size))
    exact = [(Fraction(float(x)), Fraction(float(y))) for x, y in points]
    for first in range(size):
        for second in range(first):
            across, up = (a - b for a, b in zip(exact[first], exact[second], strict=True))
            square = across * across + up * up
            length = math.hypot(float(across), float(up))
            while Fraction(length) ** 2 > square:
                length = math.nextafter(length, 0.0)
            matrix[first, second] = matrix[second, first] = length
    return matrix


def needed_pairs(matrix: Array) -> NDArray[np.int64]:
    """Return the ordered pairs (i, k) whose privacy rows are not implied by others, shape (pairs, 2).

    A pair is implied when some j has d(i, j) + d(j, k) <= d(i, k) with both steps shorter than d(i, k): then
    p_i <= e^(eps d(i, j)) p_j <= e^(eps (d(i, j) + d(j, k))) p_k, and by induction on the distance the pairs
    that are left out follow from those that are kept. (In floating point a sum of two positive steps may
    equal one of them; such steps are not shorter, and prove nothing.)

    Examples
    --------
    >>> needed_pairs(distance_matrix("line", 4)).tolist()
    [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    """
    kept = []
    for first in range(len(matrix)):
        whole = matrix[first]
        shorter = (whole[:, None] < whole) & (matrix < whole)  # [j, k]: both steps by way of j are shorter
        detour = np.where(shorter, whole[:, None] + matrix, np.inf).min(axis=0)
        for second in np.flatnonzero(detour > matrix[first]).tolist():
            if second != first:
                kept.append((first, second))
    return np.array(kept, dtype=np.int64).reshape(-1, 2)
