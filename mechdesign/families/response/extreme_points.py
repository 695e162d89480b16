"""All extreme points of the polytope of private channels, for few answers: an independent check.

A linear or convex utility has its maximum at an extreme point. Without delta, the columns of a channel
are combinations of the extreme rays of K = {p : p_i <= e^eps p_i'}, the 2^n - 2 patterns in {1, e^eps}^n
that are not constant; a channel is a point theta >= 0 of sum theta_js s = 1, and every extreme channel is
the image of a basic solution. All bases are tried (n <= 4), and images that are not extreme are left out
by the rank of their active constraints. With delta or a distance the polytope is given to Qhull, up to
dimension n (m - 1) = 6. The two ways to find vertices share nothing.
Figures 1 and 5 of Zhou, Lu, Wu (2019) are the case n = 2.
"""

from __future__ import annotations

import math
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Outcome
from mechdesign.families.response.linear_program import polished
from mechdesign.families.response.randomized_response import RandomizedResponse

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
    rounded = np.ascontiguousarray(np.round(points, digits) + 0.0)
    first: dict[bytes, int] = {}
    for number, row in enumerate(rounded.view(f"V{rounded.itemsize * rounded.shape[1]}").ravel().tolist()):
        first.setdefault(row, number)
    distinct: Array = points[list(first.values())]
    return distinct


MAX_BASES = 1_000_000
MAX_DIMENSION = 6
RANK_TOLERANCE = 1e-9

RANKED = 256
"""Channels whose ranks are computed together."""

CORNER_ERROR = 1e-12
"""Corners solve small linear systems in floating point; the bound is enlarged by this part."""

FLAT = 1e-3
"""Epsilons below this leave rays so close together that floating point cannot tell them apart."""

FLAT_POLYTOPE, STEEP_POLYTOPE = 0.01, 6.0
"""Qhull needs the exponents epsilon d, or a delta, inside this range."""


def extreme_points(problem: RandomizedResponse) -> Array:
    """Return the extreme channels of a problem's polytope, shape (vertices, n, m).

    Examples
    --------
    The polygon of figure 1 has the four corners A, B, C and D, that of figure 5 has eight:

    >>> import mechdesign as md
    >>> len(extreme_points(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.1)))
    4
    >>> len(extreme_points(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.1, delta=0.2)))
    8
    """
    reason = why_not(problem)
    if reason is not None:
        raise MethodError("extreme points", reason)
    if 1 in (problem.size, problem.reports) or (problem.epsilon == 0.0 and problem.delta == 0.0):
        return np.repeat(np.eye(problem.reports)[:, None, :], problem.size, axis=1)
    if problem.delta > 0 or problem.distance is not None:
        return _by_halfspaces(problem)
    return _by_rays(problem)


def _by_rays(problem: RandomizedResponse) -> Array:
    n, m = problem.size, problem.reports
    numbers = np.arange(1, (1 << n) - 1)
    rays = np.where((numbers >> np.arange(n)[:, None]) & 1, math.exp(problem.epsilon), 1.0)
    owners = np.repeat(np.arange(m), rays.shape[1])
    columns = np.tile(rays, m)
    values, bases = basic_solutions(columns, np.ones(n))
    channels = np.zeros((len(values), m, n))
    for place in range(n):
        chosen = bases[:, place]
        np.add.at(
            channels, (np.arange(len(values)), owners[chosen]), columns.T[chosen] * values[:, place][:, None]
        )
    distinct = unique_rows(channels.transpose(0, 2, 1).reshape(len(values), n * m))
    points = distinct.reshape(-1, n, m)
    return points[_are_extreme(points, problem.epsilon)]


def _are_extreme(channels: Array, epsilon: float) -> NDArray[np.bool_]:
    """Return of which channels the active constraints (row sums, p >= 0, p_ij <= e^eps p_i'j) have full rank.

    Channels with as many active constraints as each other are decided together.
    """
    _, n, m = channels.shape
    exponential = math.exp(epsilon)
    unit = np.eye(n * m).reshape(n, m, n * m)
    more, less = np.nonzero(~np.eye(n, dtype=np.bool_))
    ratios = (unit[more] - exponential * unit[less]).reshape(-1, n * m)
    rows = np.concatenate([unit.sum(axis=1), unit.reshape(n * m, n * m), ratios])
    zero = (channels < RANK_TOLERANCE).reshape(-1, n * m)
    tight = np.abs(channels[:, more] - exponential * channels[:, less]) < RANK_TOLERANCE
    sums = np.ones((len(channels), n), dtype=np.bool_)
    active = np.concatenate([sums, zero, tight.reshape(-1, len(ratios))], axis=1)
    counts = active.sum(axis=1)
    full = np.zeros(len(channels), dtype=np.bool_)
    for count in range(n * m, len(rows) + 1):
        alike = np.flatnonzero(counts == count)
        for start in range(0, len(alike), RANKED):
            block = alike[start : start + RANKED]
            chosen = np.nonzero(active[block])[1].reshape(-1, count)
            full[block] = np.linalg.matrix_rank(rows[chosen], tol=RANK_TOLERANCE) == n * m
    return full


def _by_halfspaces(problem: RandomizedResponse) -> Array:
    """Substitute the last report of each row and enumerate the corners of what is left."""
    n, m = problem.size, problem.reports
    rows, limits = _halfspaces(problem)
    # p = base + lift x, where x holds the first m - 1 entries of every row
    lift = np.kron(np.eye(n), np.vstack([np.eye(m - 1), -np.ones(m - 1)]))
    base = np.tile(np.concatenate([np.zeros(m - 1), [1.0]]), n)
    interior = np.full(n * (m - 1), 1.0 / m)
    corners = polytope_vertices(rows @ lift, limits - rows @ base, interior)
    return (base + corners @ lift.T).reshape(-1, n, m)


def _halfspaces(problem: RandomizedResponse) -> tuple[Array, Array]:
    n, m = problem.size, problem.reports
    unit = np.eye(n * m).reshape(n, m, n * m)
    rows, limits = [-unit[i, j] for i in range(n) for j in range(m)], [0.0] * (n * m)
    distance = problem.distances()
    sizes = range(1, m) if problem.notion == "ldp" and problem.delta > 0 else range(1, 2)
    for first in range(n):
        for second in range(n):
            if first == second:
                continue
            factor = math.exp(problem.epsilon * (1.0 if distance is None else distance[first, second]))
            for size in sizes:
                for reports in combinations(range(m), size):
                    rows.append(sum(unit[first, j] - factor * unit[second, j] for j in reports))
                    limits.append(problem.delta)
    return np.array(rows), np.array(limits)


def run(problem: RandomizedResponse) -> Outcome:
    """Evaluate the utility at every extreme point and take the best."""
    corners = extreme_points(problem)
    values = [problem.objective({"channel": corner}) for corner in corners]
    best = int(np.argmax(values))
    channel, notes = polished(problem, corners[best])
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=float(values[best]) + _margin(problem, max(abs(value) for value in values)),
        bound_source="the maximum over all extreme points, which are known to 1e-12",
        solver="enumeration",
        notes={**notes, "extreme_points": len(corners)},
    )


def _margin(problem: RandomizedResponse, largest: float) -> float:
    """Return the most utility that the errors of the corners may hide."""
    if problem.is_linear:
        return CORNER_ERROR * float(np.abs(problem.centred_weights()[0]).sum())
    # the information is of second order in epsilon, its slope of first
    return CORNER_ERROR * largest / min(1.0, problem.epsilon) if problem.epsilon > 0 else 0.0


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why enumeration does not apply, or None."""
    n, m = problem.size, problem.reports
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if n > 4:
        return f"{n} answers have too many extreme points; the limit is 4 answers"
    if problem.delta > 0 or problem.distance is not None:
        return _why_not_halfspaces(problem)
    if math.comb(m * ((1 << n) - 2), n) > MAX_BASES:
        return f"{n} answers and {m} reports have more than {MAX_BASES} bases"
    if problem.epsilon > 10 or 0.0 < problem.epsilon < FLAT:
        return "e^epsilon is too large, or too close to 1, to distinguish extreme points"
    return None


def _why_not_halfspaces(problem: RandomizedResponse) -> str | None:
    n, m = problem.size, problem.reports
    if m == 1:
        return None
    if n * (m - 1) > MAX_DIMENSION:
        return f"with delta or a distance the dimension is {n * (m - 1)}; the limit is {MAX_DIMENSION}"
    distance = problem.distances()
    steps = np.ones(1) if distance is None or n == 1 else distance[~np.eye(n, dtype=bool)]
    low, high = problem.epsilon * float(steps.min()), problem.epsilon * float(steps.max())
    if (n > 1 and max(low, problem.delta) < FLAT_POLYTOPE) or 0.0 < problem.delta < FLAT:
        return "the polytope is too flat to distinguish extreme points (delta, epsilon or a distance near 0)"
    if high > STEEP_POLYTOPE:
        return "e^epsilon is too large to distinguish extreme points"
    return None
