"""How often each subset of ``order`` points is covered: the state that greedy and local search work on."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.marginals.audit.covering import binomials, unranked

Wholes = NDArray[np.int64]
Halves = NDArray[np.int32]

MOST_ENTRIES = 1 << 21
"""Entries of the table of ranks by unsorted points; above it points are sorted each time."""


SORTING = 6
"""How many times as long as a look into the table sorting takes."""


class Subsets:
    """Ranks of subsets whose points come in any order.

    Parameters
    ----------
    points, order : int

    Attributes
    ----------
    count : int
        C(points, order).
    every : (count, order) array
        The subsets by their ranks.
    cost : int
        How long finding one rank takes, in units of the quicker way.
    """

    def __init__(self, points: int, order: int) -> None:
        self.points, self.order = points, order
        self.count = math.comb(points, order)
        self.every = unranked(np.arange(self.count), points, order)
        self._table = binomials(points, order)
        self._weights = points ** np.arange(order)
        self._rank: Wholes | None = None
        if points**order <= MOST_ENTRIES:
            numbers = np.arange(points**order)
            self._rank = self._sorted_ranks(numbers[:, None] // self._weights % points)
        self.cost = 1 if self._rank is not None else SORTING

    def ranks(self, subsets: Wholes) -> Wholes:
        """Return the ranks of subsets, given as (..., order) array of distinct points.

        Examples
        --------
        >>> Subsets(5, 2).ranks(np.array([[0, 1], [1, 0], [4, 3]])).tolist()
        [0, 0, 9]
        """
        if self._rank is None:
            return self._sorted_ranks(subsets)
        found: Wholes = self._rank[subsets @ self._weights]
        return found

    def halves(self, rest: Wholes) -> Halves:
        """Return the part that (..., order - 1) points have in a place of the table, for :meth:`joined`.

        Without a table that is the points themselves.
        """
        small = rest.astype(np.int32)
        if self._rank is None:
            return small
        found: Halves = small @ self._weights[1:].astype(np.int32)
        return found

    def joined(self, halves: Halves, point: Wholes) -> Wholes:
        """Return the ranks of subsets given by (n, parts) halves, each joined by its row's point.

        Examples
        --------
        >>> subsets = Subsets(5, 3)
        >>> rest = np.array([[[0, 1], [3, 1]]])
        >>> subsets.joined(subsets.halves(rest), np.array([4])).tolist()
        [[4, 8]]
        >>> subsets.ranks(np.array([[4, 0, 1], [4, 3, 1]])).tolist()
        [4, 8]
        """
        if self._rank is not None:
            found: Wholes = self._rank[halves + point[:, None]]
            return found
        column = np.broadcast_to(point[:, None, None], (*halves.shape[:2], 1))
        return self._sorted_ranks(np.concatenate([column, halves], axis=2))

    def _sorted_ranks(self, subsets: Wholes) -> Wholes:
        ordered = np.sort(subsets, axis=-1)
        ranks = np.zeros(subsets.shape[:-1], dtype=np.int64)
        for place in range(self.order):
            ranks += self._table[place + 1][ordered[..., place]]
        return ranks

    def of_blocks(self, blocks: Wholes) -> Wholes:
        """Return the ranks of all subsets of each block, a row per block."""
        return self.ranks(blocks[:, places(blocks.shape[1], self.order)])

    def times_covered(self, blocks: Wholes) -> Wholes:
        """Return the number of blocks that cover each subset."""
        return np.bincount(self.of_blocks(blocks).ravel(), minlength=self.count)


def places(size: int, part: int) -> Wholes:
    """Return the subsets of 0 .. size - 1 with ``part`` members, a row each, in lexicographic order.

    Examples
    --------
    >>> places(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(combinations(range(size), part)), dtype=np.int64).reshape(
        math.comb(size, part), part
    )


def without_redundant(blocks: Wholes, subsets: Subsets) -> Wholes:
    """Remove, one after the other, blocks all of whose subsets lie in blocks that are kept.

    Examples
    --------
    >>> without_redundant(np.array([[0, 1], [0, 2], [0, 1], [1, 2]]), Subsets(3, 2)).tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    ranks = subsets.of_blocks(blocks)
    times = np.bincount(ranks.ravel(), minlength=subsets.count)
    own = (times[ranks] == 1).sum(axis=1)
    kept = np.ones(len(blocks), dtype=np.bool_)
    for number in np.flatnonzero(own == 0).tolist():
        if (times[ranks[number]] > 1).all():
            kept[number] = False
            times[ranks[number]] -= 1
    return blocks[kept]
