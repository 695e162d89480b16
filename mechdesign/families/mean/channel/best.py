"""The best mechanism for a mean at a given epsilon."""

from __future__ import annotations

import math

from mechdesign.families.mean import GridMean
from mechdesign.families.mean.optimal import best_channel, worst_variance_of


def best_variance(epsilon: float) -> float | None:
    """Return the worst-case variance of :func:`best_mechanism` on [0, 1]; None where there is none.

    Examples
    --------
    >>> round(4 * best_variance(1.0), 3)
    3.992
    """
    found = worst_variance_of(epsilon)
    return found / 4.0 if math.isfinite(found) else None


def best_mechanism(epsilon: float, low: float = -1.0, high: float = 1.0) -> GridMean | None:
    """Return the solved mechanism for values in [low, high]; None outside epsilon = 0.001 .. 16.

    Examples
    --------
    >>> mechanism = best_mechanism(1.0, 0.0, 10.0)
    >>> mechanism.audit().holds, round(mechanism.worst_variance() / 25, 3)
    (True, 3.992)
    """
    return best_channel(epsilon, low, high)
