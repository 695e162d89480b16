"""Views from coverings: CoverDesign of algorithm 3.1 in bounded time; balanced views where none fits."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.marginals.covering_design.bounds import lower_bound
from mechdesign.families.marginals.covering_design.geometric import construct, why_not
from mechdesign.families.marginals.covering_design.portfolio import run as portfolio
from mechdesign.families.marginals.covering_design.problem import CoveringDesign

Wholes = NDArray[np.int64]

EFFORT, NODES = 2_000_000, 20_000
"""What is spent on one covering: a few tenths of a second."""


@cache
def covering(points: int, order: int, block: int, most: int) -> Wholes | None:
    """Return views of ``block`` attributes that cover every ``order``, unless more than ``most``.

    Only where a construction misses the proven bound is there a search, in a bounded number of steps, so
    that the answer is the same every time.

    Examples
    --------
    >>> len(covering(8, 3, 4, 65)), covering(16, 3, 4, 65)
    (14, None)
    """
    if lower_bound(points, order, block)[0] > most:
        return None
    problem = CoveringDesign(points=points, order=order, block=block)
    if why_not(problem) is not None:
        return None
    blocks: Wholes = construct(problem)[0]
    if len(blocks) > lower_bound(points, order, block)[0]:
        blocks = portfolio(problem, EFFORT, NODES).variables["blocks"]
    return blocks if len(blocks) <= most else None


def balanced(points: int, block: int, count: int) -> Wholes:
    """Return ``count`` different views in which all attributes are equally frequent, as far as possible.

    Views that are each other's cyclic shifts are taken together, so that every attribute is in equally many
    of them; only the last such group may be taken in part.

    Examples
    --------
    >>> balanced(5, 2, 5).tolist()
    [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]
    """
    found: dict[tuple[int, ...], None] = {}
    for rest in combinations(range(1, points), block - 1):
        base = (0, *rest)
        if base in found:
            continue
        for shift in range(points):
            found[tuple(sorted((point + shift) % points for point in base))] = None
            if len(found) == count:
                return np.array(list(found), dtype=np.int64)
    assert len(found) == math.comb(points, block)
    return np.array(list(found), dtype=np.int64)
