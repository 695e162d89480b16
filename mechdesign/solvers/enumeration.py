"""Lower bounds of covering programs over zero-one variables by branching, each node's proven by weak duality.

An integer solver's word "optimal" rests on a tree that nobody sees. Here the tree is our own: a node's
bound is that of :func:`mechdesign.solvers.linear.solve_linear`, which does not trust its solver, and a node
is empty only where all its free variables together do not cover.

Vertices of small polytopes, by two ways that share nothing: basic solutions and Qhull.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.solvers.integer import BinaryProgram
from mechdesign.solvers.linear import LinearProgram, solve_linear

Array = NDArray[np.float64]

CLOSED = 1e-10
"""A node within this part of the sum of the costs is as good as the incumbent."""


@dataclass(frozen=True)
class BranchProof:
    """Result of branching: a proven bound.

    Attributes
    ----------
    bound : float
        No feasible point costs less.
    variables : (N,) array of bool
        The best point known: the incumbent, or a better one that a node has shown.
    nodes : int
        How many linear programs were solved.
    """

    bound: float
    variables: NDArray[np.bool_]
    nodes: int


def branch(program: BinaryProgram, incumbent: NDArray[np.bool_], nodes: int = 200) -> BranchProof:
    """Prove a lower bound of a program with rows >= 0, the better the more nodes there may be.

    Parameters
    ----------
    program : BinaryProgram
        With entries >= 0 in its rows.
    incumbent : (N,) array of bool
        A feasible point.
    nodes : int
        Linear programs at most.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    >>> program = BinaryProgram(np.ones(3), rows, np.ones(3), np.zeros(3, dtype=bool))
    >>> round(branch(program, np.ones(3, dtype=bool)).bound, 6)
    2.0
    """
    best, value = incumbent, _value(program, incumbent)
    slack = CLOSED * float(np.abs(program.costs).sum())
    low, high = program.fixed.astype(np.float64), np.ones(len(program.costs))
    numbers, solved, closed = count(), 1, math.inf
    first, point = _relaxed(program, low, high)
    waiting: list[tuple[float, int, Array, Array, Array]] = [(first, next(numbers), low, high, point)]
    while waiting:
        bound, _, low, high, point = heapq.heappop(waiting)
        if bound >= value - slack or solved >= nodes:
            closed = min(closed, bound)
            break  # all others are no lower
        fraction = np.abs(point - np.rint(point))
        place = int(fraction.argmax())
        if fraction[place] <= 1e-7:
            text = point > 0.5
            if (program.rows @ text >= program.limits).all() and _value(program, text) < value:
                best, value = text, _value(program, text)
            if (low == high).all() or fraction[place] == 0.0:
                closed = min(closed, bound)
                continue
            place = int(np.where(low < high, fraction, -1.0).argmax())
        for end in (0.0, 1.0):
            below, above = low.copy(), high.copy()
            below[place] = above[place] = end
            if (program.rows @ above < program.limits).any():
                continue
            found, other = _relaxed(program, below, above)
            solved += 1
            if found >= value - slack:
                closed = min(closed, found)
            else:
                heapq.heappush(waiting, (max(found, bound), next(numbers), below, above, other))
    return BranchProof(min(closed, _not_above(program, best)), best, solved)


def _value(program: BinaryProgram, point: NDArray[np.bool_]) -> float:
    return math.fsum(program.costs[point].tolist())


def _not_above(program: BinaryProgram, point: NDArray[np.bool_]) -> float:
    """Return the cost of a point, rounded down."""
    cost = sum((Fraction(cost) for cost in program.costs[point].tolist()), Fraction(0))
    found = float(cost)
    return found if Fraction(found) <= cost else float(np.nextafter(found, -np.inf))


def _relaxed(program: BinaryProgram, low: Array, high: Array) -> tuple[float, Array]:
    """Return a proven lower bound over the box, and where the relaxation has its optimum."""
    from scipy.sparse import csr_array

    rows: Any = -program.rows
    none = csr_array((0, len(low)))
    relaxed = LinearProgram(-program.costs, rows, -program.limits, none, np.zeros(0), low, high)
    result = solve_linear(relaxed)
    if result.bound is None:  # the solver gave up: nothing is proven below this node
        return -math.inf, low
    return -result.bound, result.variables


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
