"""Isotonic regression by pool-adjacent-violators: the ironing step of contract design."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
