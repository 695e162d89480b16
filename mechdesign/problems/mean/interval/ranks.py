"""Mean ranks and the Friedman test, eqs. (22) and (23), and the mean ranks that the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PAPER_USERS = 800_000
"""Number of users in each data set of the paper."""

PAPER_DATA_SETS = 30
"""Number of data sets of the paper."""

COMPARED = ("opt", "baseline", "duchi", "piecewise", "harmony")
"""The five methods of the paper, in the order of its tables."""

PRINTED_RANKS: Mapping[float, tuple[float, ...]] = {
    0.1: (1.40, 3.83, 3.70, 2.40, 3.67),
    0.2: (1.37, 3.90, 3.77, 2.67, 3.70),
    0.5: (1.44, 3.78, 3.81, 2.37, 3.59),
    0.8: (1.47, 3.90, 3.83, 2.47, 3.37),
    1.0: (1.60, 3.83, 3.63, 2.50, 3.43),
    2.0: (1.80, 3.60, 3.47, 2.86, 3.27),
    5.0: (2.13, 3.50, 3.33, 2.80, 3.23),
    8.0: (2.67, 3.43, 3.53, 2.57, 3.20),
    10.0: (2.23, 3.40, 3.67, 2.73, 3.27),
}
"""Table 6: mean ranks of the five methods over the data sets, by epsilon, to two decimals."""


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
