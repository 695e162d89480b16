"""Confidence intervals of quantiles by testing what cumulative shares may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits

Array = NDArray[np.float64]


def quantile_ends(value: Array, limits: Limits, share: float, tail: float) -> tuple[int, int]:
    """Return the first and the last category that a quantile may be.

    A category j is possible when the share below j may be less than ``share`` and the share up to j may be at
    least that (Woodruff 1952): a test of one category, so no correction for their number is needed. Only
    ``share`` itself is tested, so the limits of the cumulative shares need not be searched for.

    Parameters
    ----------
    value : (k - 1,) array
        The estimated share up to each category but the last one.
    limits : Limits
        Those of the estimates.
    share : float
    tail : float
        The probability of each side.

    Examples
    --------
    >>> from mechdesign.collect.intervals import NormalLimits
    >>> quantile_ends(np.array([0.2, 0.5, 0.8]), NormalLimits(0.05), 0.5, 0.025)
    (1, 2)
    """
    maybe = limits.reach(share - value, tail)
    below, above = np.append(True, (value <= share) | maybe), np.append((value >= share) | maybe, True)
    possible = np.flatnonzero(below & above)
    return int(possible.min()), int(possible.max())
