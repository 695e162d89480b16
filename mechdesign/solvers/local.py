"""Local ascent under linear constraints: where a method of descent stops that starts at a given point.

Linear programs with few variables and many rows, by the dual simplex method: minimise c.v with A v >= b.

The basis is as many rows as there are variables. It starts with rows of a large box, of which c is a
nonnegative combination; the row that is broken most enters, and that which keeps c one leaves. For thousands
of small programs this is faster than calling a general solver; it proves nothing and no certificate uses it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError

Array = NDArray[np.float64]


def local_maximum(
    function: Callable[[Array], float],
    slope: Callable[[Array], Array],
    start: Array,
    rows: Array,
    limits: Array,
    low: Array,
    high: Array,
) -> Array:
    """Return where sequential quadratic programming (SLSQP) stops, for ``rows x <= limits``.

    It stops at a point whose slope leads nowhere: that may be a local maximum, a saddle, or a minimum that it
    was started at. Nothing is claimed about it.

    Parameters
    ----------
    function, slope : callable
        The function to be maximised and its gradient.
    start : (n,) array
    rows : (m, n) array
    limits : (m,) array
    low, high : (n,) arrays

    Examples
    --------
    >>> none = np.zeros((0, 1))
    >>> square = lambda x: float(x[0] ** 2)
    >>> local_maximum(square, lambda x: 2 * x, np.zeros(1), none, np.zeros(0), -np.ones(1), np.ones(1))
    array([0.])
    """
    from scipy.optimize import Bounds, minimize

    constraints: list[Any] = []
    if len(limits):
        constraints = [{"type": "ineq", "fun": lambda x: limits - rows @ x, "jac": lambda x: -rows}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a trial point outside of its bounds
        descend: Any = minimize  # its stubs know no list of constraints with bounds
        found = descend(
            lambda x: -function(x),
            start,
            jac=lambda x: -slope(x),
            method="SLSQP",
            bounds=Bounds(low, high),
            constraints=constraints,
            options={"ftol": 1e-14, "maxiter": 500},
        )
    return np.clip(np.asarray(found.x, dtype=np.float64), low, high)


STEPS = 1000
BROKEN = 1e-12
"""A row counts as broken by more than this part of the size of its terms."""


def least(cost: Array, rows: Array, limits: Array, box: float) -> Array:
    """Return v that minimises ``cost . v`` with ``rows v >= limits`` and every v_k within -box and box.

    Parameters
    ----------
    cost : (n,) array
    rows : (m, n) array
    limits : (m,) array
    box : float

    Raises
    ------
    MethodError
        When no v keeps all rows, or rounding lets the method run in circles.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> least(np.array([1.0, 2.0]), rows, np.array([0.0, 0.0, 3.0]), 100.0)
    array([3., 0.])
    """
    size = len(cost)
    sign = np.where(cost >= 0, 1.0, -1.0)
    every = np.vstack([rows, np.eye(size), -np.eye(size)])
    bounds = np.concatenate([limits, np.full(2 * size, -box)])
    basis = len(rows) + np.arange(size) + np.where(sign > 0, 0, size)
    slack = BROKEN * (1.0 + np.abs(bounds))
    for _ in range(STEPS):
        inverse = np.linalg.inv(every[basis])
        result: Array = inverse @ bounds[basis]
        missing = bounds - every @ result - slack
        enters = int(np.argmax(missing))
        if missing[enters] <= 0:
            return result
        weights, shares = cost @ inverse, every[enters] @ inverse
        useful = np.flatnonzero(shares > 1e-12)
        if not len(useful):
            raise MethodError("few variables", "no point keeps all rows")
        ratio = np.maximum(weights[useful], 0.0) / shares[useful]
        basis[useful[int(np.argmin(ratio))]] = enters
    raise MethodError("few variables", f"not solved in {STEPS} steps")
