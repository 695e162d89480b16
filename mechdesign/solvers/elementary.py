"""Where a continuous function changes sign, to the last bit, without any package.

Isotonic regression by pool-adjacent-violators: the ironing step of contract design.

Least squares and convex quadratic programs over non-negative numbers, by active sets.

Quasi-Newton descent (L-BFGS-B) for smooth functions with lower limits; where it stops is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError


def sign_change(function: Callable[[float], float], low: float, high: float) -> float:
    """Return a double next to which the function changes sign, by bisection until no double is between.

    Parameters
    ----------
    function : callable
        Continuous, with values of different sign at the two ends.
    low, high : float
        The bracket, low < high.

    Raises
    ------
    ParameterError
        When the values at the ends have the same sign.

    Examples
    --------
    >>> sign_change(lambda x: x * x - 2.0, 0.0, 2.0) ** 2
    2.0000000000000004
    """
    first, last = function(low), function(high)
    if first == 0.0:
        return low
    if last == 0.0:
        return high
    if not (first < 0.0) != (last < 0.0):
        raise ParameterError("bracket", f"the function has the same sign at {low:g} and {high:g}", "widen it")
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            return high
        value = function(middle)
        if value == 0.0:
            return middle
        low, high = (middle, high) if (value < 0.0) == (first < 0.0) else (low, middle)


Array = NDArray[np.float64]


def increasing_blocks(values: Array, weights: Array) -> NDArray[np.int64]:
    """Return the first position of each block of the weighted non-decreasing least-squares fit.

    Parameters
    ----------
    values, weights : (k,) array
        Weights are positive.

    Returns
    -------
    (b,) int array
        Starts at 0; the fit is constant on each block, its weighted mean there.

    Examples
    --------
    >>> increasing_blocks(np.array([1.0, 102.0, 4.1]), np.array([100.0, 1.0, 100.0]))
    array([0, 1])
    """
    if (np.diff(values) >= 0).all():
        return np.arange(len(values))
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).blocks[:-1], dtype=np.int64)


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


MEMORY = 30


def descend(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    low: Array | None = None,
    iterations: int = 300,
    tolerance: float = 1e-12,
    is_enough: Callable[[], bool] | None = None,
) -> Array:
    """Return where the descent stops.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient.
    start : (n,) array
    low : (n,) array, optional
        Lower limits; -inf where there is none.
    iterations : int
    tolerance : float
        It stops when a step lowers the value by less than this part of it.
    is_enough : callable, optional
        Asked after each step; it stops when this is true.

    Examples
    --------
    >>> bowl = lambda x: (float((x - 1) @ (x - 1)), 2 * (x - 1))
    >>> found = descend(bowl, np.zeros(2), np.array([-np.inf, 2.0]))
    >>> found.round(6).tolist()
    [1.0, 2.0]
    """
    from scipy.optimize import Bounds, minimize

    def after_step(intermediate_result: Any) -> None:
        if is_enough is not None and is_enough():
            raise StopIteration

    limits = None if low is None else Bounds(low, np.full(len(start), np.inf))
    found = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        callback=after_step,
        options={
            "maxcor": MEMORY,
            "maxiter": iterations,
            "maxfun": 2 * iterations,
            "ftol": tolerance,
            "gtol": 0.0,
        },
    )
    return np.asarray(found.x, dtype=np.float64)
