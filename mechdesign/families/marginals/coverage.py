"""Which marginals the views contain, counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

View = tuple[int, ...]

MOST_SUBSETS = 1_000_000
"""Orders that need more subsets to be looked at are not looked at."""


def covered_order(views: Sequence[View], attributes: int) -> int:
    """Return the largest k for which every k attributes lie in a view together, as far as it was counted.

    Orders with more than a million subsets of views are not counted; the answer then is a lower bound.

    Examples
    --------
    >>> covered_order([(0, 1), (1, 2), (0, 2)], 3), covered_order([(0, 1), (2,)], 3), covered_order([(0,)], 2)
    (2, 1, 0)
    """
    if any(len(view) == attributes for view in views):
        return attributes
    order = 0
    while order < attributes:
        following = order + 1
        needed = comb(attributes, following)
        within = sum(comb(len(view), following) for view in views)
        if within < needed or within > MOST_SUBSETS:
            break
        if len({subset for view in views for subset in combinations(view, following)}) < needed:
            break
        order = following
    return order
