"""Errors of hashing by the formulas of its paper, with ideal hash functions; and normal users.

The protocols that run here draw from a family of exactly pairwise equal collisions, which has at most as many
buckets as its prime; the paper's formula takes more buckets than categories when users are many.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SHARE = 0.01
"""Fake messages a user that the survey's experiments let the shufflers of MURS add."""


def normal_counts(users: int, categories: int) -> NDArray[np.float64]:
    """Return the expected number of users in each category when these are a rounded normal number.

    Its mean is the middle of the categories, its standard deviation a sixth of their number; what is beyond
    them is drawn again.

    Examples
    --------
    >>> normal_counts(1000, 4).round(1).tolist()
    [65.6, 434.4, 434.4, 65.6]
    """
    ends = np.linspace(-3.0, 3.0, categories + 1)
    below = np.array([0.5 * math.erfc(-end / math.sqrt(2.0)) for end in ends.tolist()])
    mass = np.diff(below)
    counts: NDArray[np.float64] = users * mass / mass.sum()
    return counts


def hashing_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the error of an empty category by local hashing as printed (SLH), or infinity outside its range.

    With M = epsilon^2 (n - 1) / (14 ln(2/delta)) and d' = (M + 2) / 3 buckets the variance is
    n M^2 / ((M - d')^2 (d' - 1)).

    Examples
    --------
    >>> round(hashing_rmse(100_000, 0.9, 1e-6), 1)
    41.3
    """
    mass = min(epsilon**2 * (users - 1) / (14.0 * math.log(2.0 / delta)), epsilon * (users - 1) / 27.0)
    buckets = round((mass + 2.0) / 3.0)
    if epsilon > 1.0 or not 2 <= buckets < mass:
        return math.inf
    return math.sqrt(users * mass**2 / ((mass - buckets) ** 2 * (buckets - 1.0)))


def fakes_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the same with fakes of the shufflers (MURS), one for a hundred users, or infinity.

    With d' buckets and F fakes the local epsilon solves 14 ln(2/delta) / epsilon^2 = (n - 1) / (e + d' - 1) +
    F / d', the variance is (n + F) (1/d') (1 - 1/d') / (p - 1/d')^2 with p = e / (e + d' - 1).

    Examples
    --------
    >>> round(fakes_rmse(100_000, 0.9, 1e-6), 1)
    40.9
    """
    needed, fakes = 14.0 * math.log(2.0 / delta) / epsilon**2, SHARE * users
    if epsilon > 1.0:
        return math.inf
    buckets = np.arange(2.0, max(4.0, users / needed))
    rest = needed - fakes / buckets
    with np.errstate(divide="ignore"):
        own = np.where(rest > 0.0, 1.0 - rest * (buckets - 1.0) / (users - 1.0), 1.0)
    fit = 1.0 / buckets
    gain = np.where(own > fit, own - fit, np.nan)
    variance = (users + fakes) * fit * (1.0 - fit) / gain**2
    return math.inf if np.isnan(variance).all() else math.sqrt(float(np.nanmin(variance)))
