"""Confidence intervals of quantiles from those of cumulative shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quantile_ends(low: Array, high: Array, share: float) -> tuple[int, int]:
    """Return the first and the last category that a quantile may be, from limits of cumulative shares.

    A category j is possible when the share below j may be less than ``share`` and the share up to j may be at
    least that (Woodruff 1952): a test of one category, so no correction for their number is needed.

    Parameters
    ----------
    low, high : (k - 1,) array
        The limits of the share up to each category but the last one.
    share : float

    Examples
    --------
    >>> quantile_ends(np.array([0.1, 0.4, 0.7]), np.array([0.3, 0.6, 0.9]), 0.5)
    (1, 2)
    """
    possible = np.flatnonzero((np.append(0.0, low) <= share) & (share <= np.append(high, 1.0)))
    return int(possible.min()), int(possible.max())
