"""A few pairs of answers from which all distances follow up to a small factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def spanner(distance: Array, stretch: float) -> NDArray[np.int64]:
    """Return pairs i < j so that every distance is at least its shortest way over them / (1 + stretch).

    The greedy spanner: pairs are looked at by rising distance, and kept where no way over those kept so far
    is short enough (Althoefer et al., 1993). Which pairs are kept need not be exact: they say which
    constraints are written down first, not what is proven.

    Parameters
    ----------
    distance : (n, n) array
        Symmetric, > 0 off the diagonal.
    stretch : float
        > 0.

    Examples
    --------
    >>> places = np.arange(4.0)
    >>> spanner(abs(places[:, None] - places), 0.1).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    size = len(distance)
    first, second = np.triu_indices(size, 1)
    order = np.argsort(distance[first, second], kind="stable")
    ways = np.full((size, size), np.inf)
    np.fill_diagonal(ways, 0.0)
    kept = []
    for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True):
        length = float(distance[i, j])
        if ways[i, j] > (1.0 + stretch) * length:
            kept.append((i, j))
            np.minimum(ways, ways[:, [i]] + (length + ways[j]), out=ways)
            np.minimum(ways, ways[:, [j]] + (length + ways[i]), out=ways)
    return np.array(sorted(kept), dtype=np.int64).reshape(-1, 2)
