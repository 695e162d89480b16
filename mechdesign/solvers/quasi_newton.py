"""Quasi-Newton descent (L-BFGS-B) for smooth functions with lower limits; where it stops is not judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
