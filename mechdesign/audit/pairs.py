"""The pairs of inputs whose privacy inequalities are not implied by those of shorter steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import finite_array
from mechdesign.exact.numbers import wholes

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEAREST = 4
"""Nearest inputs by way of which detours are tried first; on a line they settle almost every pair."""


def needed_pairs(matrix: Floats) -> NDArray[np.int64]:
    """Return the ordered pairs (i, k) whose privacy rows are not implied by others, shape (pairs, 2).

    A pair is implied when some j has d(i, j) + d(j, k) <= d(i, k) with both steps shorter than d(i, k): then
    p_i <= e^(eps d(i, j)) p_j <= e^(eps (d(i, j) + d(j, k))) p_k, and by induction on the distance the pairs
    that are left out follow from those that are kept. The floats are taken as the exact numbers they
    are, and so is their sum.

    Parameters
    ----------
    matrix : (n, n) array
        Finite distances >= 0 of any real dtype; the diagonal is not looked at.

    Raises
    ------
    ParameterError
        For a matrix that is not square, NaN, an infinite or negative distance, or one that is not a double.

    Examples
    --------
    >>> places = np.arange(4.0)
    >>> needed_pairs(abs(places[:, None] - places)).tolist()
    [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    """
    matrix = distances(matrix)
    if matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("distance", f"has shape {matrix.shape}", "give a square matrix")
    implied = _by_way_of_near_inputs(matrix)
    np.fill_diagonal(implied, True)
    kept = []
    for first, row in enumerate(implied):
        open_ = np.flatnonzero(~row)
        if len(open_):
            left = ~_is_detour(matrix[first][:, None], matrix[:, open_], matrix[first, open_]).any(axis=0)
            kept += [(first, second) for second in open_[left].tolist()]
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


def distances(matrix: Any) -> Floats:
    """Return distances of any real dtype as the frozen float64 matrix that they are, or refuse them."""
    exact = finite_array("distance", matrix, 2)
    if float(exact.min()) < 0:
        row, column = (int(index) for index in np.argwhere(exact < 0)[0])
        raise ParameterError("distance", f"is negative at index {row}, {column}", "give distances >= 0")
    return exact


def require_pairs(pairs: Any, size: int) -> NDArray[np.int64]:
    """Return pairs of inputs below ``size`` as a frozen int64 array of shape (pairs, 2), or refuse them."""
    exact = wholes("pairs", pairs, 2)
    if exact.shape[1] != 2 or (exact.size and not 0 <= int(exact.min()) <= int(exact.max()) < size):
        raise ParameterError("pairs", f"a pair is none of two inputs 0 .. {size - 1}", "use needed_pairs")
    return exact


def _by_way_of_near_inputs(matrix: Floats) -> Mask:
    """Return which pairs have a detour by way of one of the inputs nearest to the first."""
    implied = np.zeros(matrix.shape, dtype=bool)
    away = np.where(matrix > 0, matrix, np.inf)
    np.fill_diagonal(away, np.inf)
    count = min(NEAREST, len(matrix) - 1)
    nearest = np.argsort(away, axis=1, kind="stable")[:, :count]
    for middle in nearest.T:
        step = np.take_along_axis(matrix, middle[:, None], axis=1)
        implied |= _is_detour(step, matrix[middle], matrix)
    return implied


def _is_detour(one: Floats, two: Floats, whole: Floats) -> Mask:
    """Return whether one + two <= whole exactly, with both steps shorter than the whole.

    Rounding is monotone: a rounded sum below the whole means an exact sum below it (and then both
    steps, being >= 0, are shorter), a rounded sum above it an exact sum above. When the two are equal
    the sign of what the sum lost decides, which is found exactly (Knuth's two-sum).
    """
    with np.errstate(over="ignore"):
        total = one + two
    found: Mask = total < whole
    equal = np.nonzero(total == whole)
    first, second = (np.broadcast_to(step, total.shape)[equal] for step in (one, two))
    goal = total[equal]
    back = goal - first
    lost = (first - (goal - back)) + (second - back)
    found[equal] = (lost <= 0) & (first < goal) & (second < goal)
    return found
