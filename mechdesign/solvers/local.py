"""Local ascent under linear constraints: where a method of descent stops that starts at a given point."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
