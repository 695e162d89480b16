"""Vertices of small polytopes, by two ways that share nothing: basic solutions and Qhull."""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError

Array = NDArray[np.float64]

BATCH = 200_000


def basic_solutions(columns: Array, limits: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return all basic feasible solutions of ``columns x = limits``, ``x >= 0``, by trying every basis.

    Parameters
    ----------
    columns : (r, N) array
    limits : (r,) array

    Returns
    -------
    values : (solutions, r) array
        The basic variables, >= 0 up to rounding (negative ones within 1e-12 are set to 0).
    bases : (solutions, r) int array
        The columns they belong to.

    Examples
    --------
    >>> values, bases = basic_solutions(np.array([[1.0, 2.0]]), np.array([4.0]))
    >>> values.ravel().tolist(), bases.ravel().tolist()
    ([4.0, 2.0], [0, 1])
    """
    rows, count = columns.shape
    choices = combinations(range(count), rows)
    found_values, found_bases = [], []
    while len(batch := np.array(list(islice(choices, BATCH)), dtype=np.int64)):
        matrices = columns[:, batch].transpose(1, 0, 2)
        regular = np.abs(np.linalg.det(matrices)) > 1e-9
        bases = batch[regular]
        values = np.linalg.solve(matrices[regular], np.broadcast_to(limits[:, None], (len(bases), rows, 1)))[
            ..., 0
        ]
        feasible = (values >= -1e-12).all(axis=1)
        found_values.append(np.maximum(values[feasible], 0.0))
        found_bases.append(bases[feasible])
    return np.concatenate(found_values), np.concatenate(found_bases)


def polytope_vertices(rows: Array, limits: Array, interior: Array) -> Array:
    """Return the vertices of ``rows x <= limits`` by Qhull, given a point strictly inside.

    Examples
    --------
    >>> square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> len(polytope_vertices(square, np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.5, 0.5])))
    4
    """
    from scipy.spatial import HalfspaceIntersection, QhullError

    halfspaces = np.column_stack([rows, -limits])
    try:
        return unique_rows(HalfspaceIntersection(halfspaces, interior).intersections)
    except QhullError as error:
        raise MethodError("vertices: Qhull gave up", str(error).splitlines()[0]) from None


def unique_rows(points: Array, digits: int = 9) -> Array:
    """Return the rows that differ after rounding, each in full precision."""
    if not len(points):
        return points
    _, first = np.unique(np.round(points, digits) + 0.0, axis=0, return_index=True)
    distinct: Array = points[np.sort(first)]
    return distinct
