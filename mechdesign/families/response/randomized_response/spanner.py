"""A few pairs of answers from which all distances follow up to a small factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-12
"""A way that is longer than the distance by no more than this part is as long."""


def spanner(distance: Array, stretch: float) -> NDArray[np.int64]:
    """Return pairs i < j so that every distance is at least its shortest way over them / (1 + stretch).

    The greedy spanner: pairs are looked at by rising distance, and kept where no way over those kept so far
    is short enough (Althoefer et al., 1993). Which pairs are kept need not be exact: they say which
    constraints are written down, not what is proven.

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


def inner_lengths(distance: Array, edges: NDArray[np.int64]) -> Array:
    """Return lengths of the edges, at most their distances, over which every way has at most its distance.

    Every pair has a shortest way over the edges, longer than its distance by some factor; each edge of the
    way is divided by this factor or a larger one. So privacy over the edges with these lengths is privacy
    for all pairs.

    Parameters
    ----------
    distance : (n, n) array
        Symmetric, > 0 off the diagonal.
    edges : (Q, 2) int array
        Of a spanner.

    Examples
    --------
    >>> triangle = np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> inner_lengths(triangle, np.array([[0, 1], [1, 2]])).tolist()
    [1.5, 1.5]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    size = len(distance)
    first, second = edges.T
    graph = csr_array((distance[first, second], (first, second)), shape=distance.shape)
    ways, before = shortest_path(graph, directed=False, return_predecessors=True)
    longer = np.maximum(ways / np.where(np.eye(size, dtype=bool), 1.0, distance), 1.0)
    longer[longer <= 1.0 + ROUNDING] = 1.0
    divisors = np.ones((size, size))
    start, end = np.nonzero(longer > 1.0)
    at = end
    while len(at):
        previous = before[start, at]
        np.maximum.at(divisors, (previous, at), longer[start, end])
        going = previous != start
        start, end, at = start[going], end[going], previous[going]
    divisors = np.maximum(divisors, divisors.T)
    lengths: Array = distance[first, second] / divisors[first, second]
    return lengths
