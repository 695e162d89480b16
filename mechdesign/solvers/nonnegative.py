"""Least squares and convex quadratic programs over non-negative numbers, by active sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RIDGE = 1e-10
"""What is added to the diagonal, as a part of its mean: a singular matrix has a Cholesky factor then."""


def nonnegative_quadratic(matrix: Array, linear: Array) -> Array:
    """Return about the x >= 0 that minimises x'Hx/2 + c'x, for H positive semidefinite.

    The result is a step for a method that judges it, not a certified minimiser: H gets a small ridge.

    Parameters
    ----------
    matrix : (k, k) array
        H.
    linear : (k,) array
        c.

    Examples
    --------
    >>> nonnegative_quadratic(np.eye(2), np.array([-3.0, 1.0])).round(6).tolist()
    [3.0, 0.0]
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    size = len(linear)
    ridge = RIDGE * float(np.trace(matrix)) / size
    factor = np.linalg.cholesky(matrix + max(ridge, np.finfo(float).tiny) * np.eye(size)).T
    target = -solve_triangular(factor.T, linear, lower=True)
    result: Array = nnls(factor, target, maxiter=30 * size)[0]
    return result


def nonnegative_least_squares(matrix: Array, target: Array) -> Array:
    """Return an x >= 0 that minimises the length of A x - b, for a matrix with many more columns than rows.

    Lawson and Hanson's algorithm with the gradient alone, so that no square matrix of columns is made. At
    most as many entries are above 0 as the matrix has rows; where the minimiser is not unique, that is one of
    several.

    Parameters
    ----------
    matrix : (m, n) array
    target : (m,) array

    Examples
    --------
    >>> nonnegative_least_squares(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([3.0, 1.0])).tolist()
    [2.0, 1.0, 0.0]
    """
    rows, columns = matrix.shape
    result, inside = np.zeros(columns), np.zeros(columns, dtype=bool)
    slack = (
        float(np.finfo(float).eps)
        * rows
        * float(np.abs(matrix).sum(axis=0).max())
        * (1.0 + float(np.abs(target).max()))
    )
    for _ in range(10 * rows + 10):
        gradient = matrix.T @ (target - matrix @ result)
        gradient[inside] = -np.inf
        newest = int(np.argmax(gradient))
        if gradient[newest] <= 100.0 * slack:
            break
        inside[newest] = True
        while inside.any():
            places = np.flatnonzero(inside)
            solved = np.linalg.lstsq(matrix[:, places], target, rcond=None)[0]
            if solved.min() > 0.0:
                result[:] = 0.0
                result[places] = solved
                break
            falling = solved <= 0.0
            here = result[places]
            step = float((here[falling] / np.maximum(here[falling] - solved[falling], 1e-300)).min())
            here = here + step * (solved - here)
            gone = falling & (here <= slack)
            if not gone.any():
                gone = falling & (here == here[falling].min())
            result[places] = np.where(gone, 0.0, here)
            inside[places[gone]] = False
    return result
