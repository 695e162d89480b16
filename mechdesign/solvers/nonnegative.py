"""Least squares and convex quadratic programs over non-negative numbers, by an active set (scipy's nnls)."""

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
    found: Array = nnls(factor, target, maxiter=30 * size)[0]
    return found
