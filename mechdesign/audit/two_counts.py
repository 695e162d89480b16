"""The divergence of two independent counts without looking at every pair of values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TINY = 1e-290
"""Smaller probabilities are moved to this or to 0, to the safe side, so that no quotient leaves its range;
and the sum grows by it, for what is less than the least double."""

MARGIN = 2.0**-50
"""Eight roundings: more than the quotient of two probabilities and what it is compared with have."""


def sorted_excess(top: Array, bottom: Array, top2: Array, bottom2: Array, factor: float) -> float:
    """Return an upper bound of the sum of the positive parts of top x top2 - factor * bottom x bottom2.

    For each value of the first count, the values of the second that count are those with the largest
    quotients of chances: sums from the largest on give all of them at once. Who is a rounding away from
    counting is counted as well, and what that may take away, beside the errors of the sums, is added.

    Parameters
    ----------
    top, top2 : (n,), (m,) arrays
        Upper bounds of the chances of the two counts with one input.
    bottom, bottom2 : (n,), (m,) arrays
        Lower bounds of those with the other input.
    factor : float
        At most e^40.

    Examples
    --------
    >>> one, other = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    >>> round(sorted_excess(one, other, one, other, 2.0), 12)
    0.4375
    """
    top, top2 = np.maximum(top, TINY), np.maximum(top2, TINY)
    bottom, bottom2 = np.where(bottom < TINY, 0.0, bottom), np.where(bottom2 < TINY, 0.0, bottom2)
    with np.errstate(divide="ignore"):
        quotients = top2 / bottom2
    order = np.argsort(-quotients, kind="stable")
    rising = quotients[order][::-1]
    counted = len(top2) - np.searchsorted(rising, factor * bottom / top * (1.0 - MARGIN), side="left")
    wide = np.longdouble
    gains = np.concatenate([[wide(0)], np.cumsum(top2[order], dtype=wide)])[counted]
    losses = np.concatenate([[wide(0)], np.cumsum(bottom2[order], dtype=wide)])[counted]
    slack = 4.0 * MARGIN + 2.0 * (len(top) + len(top2) + 8) * float(np.finfo(wide).eps)
    excess = top * gains * (1.0 + slack) - factor * bottom * losses * (1.0 - slack)
    return float(np.sum(excess)) * (1.0 + MARGIN) + TINY
