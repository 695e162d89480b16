"""Mean ranks and the Friedman test, eqs. (22) and (23) of Liu and Zhou (2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean_ranks(errors: Array) -> Array:
    """Return the mean rank of every method over the data sets, 1 for the least error, eq. (22).

    Parameters
    ----------
    errors : (data sets, methods) array
        Ties share the average of their ranks.

    Examples
    --------
    >>> mean_ranks(np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3]]))
    array([1.5, 1.5, 3. ])
    """
    lower = (errors[:, :, None] > errors[:, None, :]).sum(axis=2)
    equal = (errors[:, :, None] == errors[:, None, :]).sum(axis=2)
    ranks: Array = (lower + (equal + 1) / 2.0).mean(axis=0)
    return ranks


def friedman(ranks: Sequence[float] | Array, data_sets: int) -> float:
    """Return Friedman's statistic of mean ranks, eq. (23).

    Examples
    --------
    >>> round(friedman([1.4, 23 / 6, 3.7, 2.4, 11 / 3], 30), 3)  # table 7 at epsilon = 0.1
    54.587
    """
    size = len(ranks)
    squares = float(np.square(ranks).sum())
    return 12.0 * data_sets / (size * (size + 1)) * (squares - size * (size + 1) ** 2 / 4.0)


def friedman_p_value(statistic: float, methods: int) -> float:
    """Return the probability of at least this statistic when no method is better (chi-squared).

    Examples
    --------
    >>> print(f"{friedman_p_value(54.587, 5):.2e}")
    3.97e-11
    """
    from scipy.stats import chi2

    return float(chi2.sf(statistic, methods - 1))
