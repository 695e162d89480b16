"""Attacks on an owner's place: what answers from many places tell, with a widening and without.

Each answer tells e_i, the distance to the edge of the owner's circle, and with r the protection radius ::

    e_i = |z_i - p| - r - X_i,   X_i >= 0 the widening.

Section 6.3.2 of the thesis solves (6.3) for X = 0 by four answers; X that is the same in all answers is a
part of r and hides nothing. If X is drawn for each place, exponential, the likelihood of (p, r) is
exp(-sum of X_i / L) where all X_i >= 0, and 0 elsewhere: the best guess keeps every X_i >= 0, which N answers
leave an area of the order (L / N)^2 for. So the error falls like 1 / N, and not like its root.

``locate`` maximises that likelihood with r unknown, by linear programs round the last guess; ``locate_known``
takes the mean of the feasible polygon, on which the likelihood is nearly even, for an attacker who knows r.

Those linear programs have few variables and many rows: minimise c.v with A v >= b, by the dual simplex
method. The basis is as many rows as there are variables. It starts with rows of a large box, of which c is a
nonnegative combination; the row that is broken most enters, and that which keeps c one leaves. For thousands
of small programs this is faster than calling a general solver; it proves nothing and no certificate uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MethodError
from mechdesign.core.validation import finite_array, in_range, integer, one_of

Array = NDArray[np.float64]

STEPS, UPDATES = 1000, 20
"""Steps in all, and those after which the inverse is computed again, which loses what rounding has done."""

BROKEN = 1e-12
"""A row counts as broken by more than this part of the size of its terms."""


def least(cost: Array, rows: Array, limits: Array, box: float) -> Array:
    """Return v that minimises ``cost . v`` with ``rows v >= limits`` and every v_k within -box and box.

    Parameters
    ----------
    cost : (n,) array
    rows : (m, n) array
    limits : (m,) array
    box : float

    Raises
    ------
    MethodError
        When no v keeps all rows, or rounding lets the method run in circles.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> least(np.array([1.0, 2.0]), rows, np.array([0.0, 0.0, 3.0]), 100.0)
    array([3., 0.])
    """
    size = len(cost)
    sign = np.where(cost >= 0, 1.0, -1.0)
    every = np.vstack([rows, np.eye(size), -np.eye(size)])
    bounds = np.concatenate([limits, np.full(2 * size, -box)])
    basis = len(rows) + np.arange(size) + np.where(sign > 0, 0, size)
    needed = bounds - BROKEN * (1.0 + np.abs(bounds))
    inverse = np.diag(sign)
    for step in range(1, STEPS + 1):
        result: Array = inverse @ bounds[basis]
        missing = needed - every @ result
        enters = int(missing.argmax())
        if missing[enters] <= 0:
            return result
        part = every[enters] @ inverse
        weights, shares = (cost @ inverse).tolist(), part.tolist()
        useful = [place for place in range(size) if shares[place] > 1e-12]
        if not useful:
            raise MethodError("few variables", "no point keeps all rows")
        leaves = min(useful, key=lambda place: max(weights[place], 0.0) / shares[place])
        basis[leaves] = enters
        if (
            step % UPDATES
        ):  # one row of the basis is another one, so the inverse changes by a matrix of rank 1
            part[leaves] -= 1.0
            inverse = inverse - np.outer(inverse[:, leaves], part / shares[leaves])
        else:
            inverse = np.linalg.inv(every[basis])
    raise MethodError("few variables", f"not solved in {STEPS} steps")


Draw = Literal["none", "common", "each"]

LEAST_QUERIES = 4
ATTACK_STEPS, SHORTEST = 30, 2.0**-30
"""Linear programs, or polygons, each round the last guess; shortened until the guess is better."""

REACH = 3.0
"""A guess lies within REACH times the largest distance between the places that were asked from."""


def locate(x: Sequence[float] | Array, y: Sequence[float] | Array, edge: Sequence[float] | Array) -> Array:
    """Return the (x_p, y_p, r) of the largest likelihood, given distances to the edge of the owner's circle.

    Parameters
    ----------
    x, y : (n,) numbers
        Where was asked from, n >= 4 places that lie on no circle or line together with each other.
    edge : (n,) numbers
        The distances e_i.

    Raises
    ------
    DataError
        When there are fewer than four queries.

    Notes
    -----
    Minimizes the sum of the widenings X_i, the distance to p less r + e_i, with all X_i >= 0. Distances are
    convex in p, so their tangents lie below: what keeps the limits of a linear program keeps those of the
    distances.

    Examples
    --------
    >>> import math
    >>> places = [(9.0, 0.0), (0.0, 7.0), (-8.0, 1.0), (2.0, -6.0), (5.0, 5.0)]
    >>> edge = [math.hypot(x - 1.0, y - 2.0) - 1.5 for x, y in places]
    >>> locate(*zip(*places), edge).round(6)
    array([1. , 2. , 1.5])
    """
    xs, ys, far = _checked(x, y, edge)
    guess = _first(xs, ys, far)
    box = REACH * _spread(xs, ys, far)

    def misfit(place: Array) -> float:
        distance = np.hypot(place[0] - xs, place[1] - ys)
        return float(distance.sum() - len(xs) * (distance - far).min())

    for _ in range(ATTACK_STEPS):
        across, up, distance = _seen(guess, xs, ys)
        rows = np.column_stack([across, up, -np.ones(len(xs))])
        try:
            step = least(rows.sum(axis=0), rows, far - distance, box)[:2]
        except MethodError:
            break
        size, before = 1.0, misfit(guess)
        while size > SHORTEST and misfit(guess + size * step) >= before:
            size /= 2.0
        if size <= SHORTEST:
            break
        guess = guess + size * step
    return np.array([*guess, float((np.hypot(guess[0] - xs, guess[1] - ys) - far).min())])


def locate_known(
    x: Sequence[float] | Array, y: Sequence[float] | Array, edge: Sequence[float] | Array, protection: float
) -> Array:
    """Return (x_p, y_p), the mean of the polygon of places that all answers allow, for a known radius r.

    Where the answers leave the polygon open, as few of them from one side do, it is the place of ``locate``.

    Examples
    --------
    >>> import math
    >>> angles = [k * math.pi / 5 for k in range(10)]
    >>> places = [(9.0 * math.cos(angle), 9.0 * math.sin(angle)) for angle in angles]
    >>> edge = [math.hypot(x - 1.0, y - 2.0) - 1.5 - 0.125 for x, y in places]
    >>> bool(np.hypot(*(locate_known(*zip(*places), edge, 1.5) - [1.0, 2.0])) < 0.05)
    True
    """
    xs, ys, far = _checked(x, y, edge)
    guess = locate(xs, ys, far)[:2]
    for _ in range(3):
        across, up, distance = _seen(guess, xs, ys)
        box = REACH * _spread(xs, ys, far)
        corners = _polygon(across, up, far + protection - distance, box)
        if corners is None or np.abs(corners).max() >= box * (1.0 - 1e-9):
            break
        guess = guess + _mean(corners)
    return guess


def _checked(x: Sequence[float] | Array, y: Sequence[float] | Array, edge: Sequence[float] | Array) -> Array:
    arrays = [finite_array(name, numbers, 1) for name, numbers in (("x", x), ("y", y), ("edge", edge))]
    if len(arrays[0]) < LEAST_QUERIES:
        raise DataError(
            "queries", f"{len(arrays[0])} do not locate an owner", f"ask from {LEAST_QUERIES} places at least"
        )
    return np.array(arrays)


def _spread(xs: Array, ys: Array, far: Array) -> float:
    return float(np.ptp(xs) + np.ptp(ys) + np.abs(far).max())


def _first(xs: Array, ys: Array, far: Array) -> Array:
    """Return the place that solves (6.3) by least squares; the middle where that is far away."""
    rows = np.column_stack([2.0 * xs, 2.0 * ys, 2.0 * far, -np.ones(len(xs))])
    solved = np.linalg.lstsq(rows, xs**2 + ys**2 - far**2, rcond=None)[0]
    middle = np.array([xs.mean(), ys.mean()])
    near = np.abs(solved[:2] - middle).max() <= _spread(xs, ys, far)
    return np.array(solved[:2], dtype=np.float64) if near else middle


def _seen(guess: Array, xs: Array, ys: Array) -> tuple[Array, Array, Array]:
    """Return the directions from the places to the guess, and the distances."""
    across, up = guess[0] - xs, guess[1] - ys
    distance = np.maximum(np.hypot(across, up), 1e-12)
    return across / distance, up / distance, distance


def _polygon(across: Array, up: Array, limits: Array, box: float) -> Array | None:
    """Return the corners of ``across u + up v >= limits`` in a box round 0; None where nothing is left."""
    corners = box * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    order = np.argsort(-limits, kind="stable")  # the tightest first, so that few corners remain
    for a, b, limit in zip(across[order], up[order], limits[order], strict=True):
        above = corners[:, 0] * a + corners[:, 1] * b - limit
        if (above >= 0).all():
            continue
        if (above < 0).all():
            return None
        after, beyond = np.roll(corners, -1, axis=0), np.roll(above, -1)
        cut = (above >= 0) != (beyond >= 0)
        part = np.where(cut, above / np.where(cut, above - beyond, 1.0), 0.0)
        crossing = corners + part[:, None] * (after - corners)
        pieces = np.stack([corners, crossing], axis=1).reshape(-1, 2)
        corners = pieces[np.stack([above >= 0, cut], axis=1).ravel()]
    return corners


def _mean(corners: Array) -> Array:
    """Return the mean of a convex polygon; of its corners where it has no area."""
    x, y = (corners - corners[0]).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    area = cross.sum()
    if area <= 0:
        return np.asarray(corners.mean(axis=0))
    middle = [float(((part + np.roll(part, -1)) * cross).sum() / (3.0 * area)) for part in (x, y)]
    return np.asarray(corners[0] + np.array(middle))


def attack_errors(
    level: float,
    rng: np.random.Generator,
    queries: int = 8,
    repetitions: int = 100,
    draw: Draw = "each",
    ring: float = 10.0,
    protection: float = 1.0,
    known: bool = False,
) -> Array:
    """Return the distances between the attacker's guesses and the owner's location, attack by attack.

    Parameters
    ----------
    level : float
        L_p: the mean of the exponential widening.
    rng : numpy Generator
    queries, repetitions : int
    draw : {"none", "common", "each"}
        No widening; one for all queries of an attack; one for each query.
    ring : float
        Queries come from places at half to full this distance around the owner.
    protection : float
    known : bool
        Whether the attacker knows the protection radius.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(attack_errors(0.5, rng, draw="common").max() < 1e-6), bool(attack_errors(0.5, rng).mean() > 0.1)
    (True, True)
    """
    mean = in_range("level", level, 0.0, 1e6)
    one_of("draw", draw, ("none", "common", "each"))
    count, times = integer("queries", queries, LEAST_QUERIES), integer("repetitions", repetitions, 1)
    errors = np.zeros(times)
    for attack in range(times):
        angle, far = rng.uniform(0.0, 2.0 * np.pi, count), ring * rng.uniform(0.5, 1.0, count)
        x, y = far * np.cos(angle), far * np.sin(angle)
        wide = mean * {"none": np.zeros(count), "common": np.full(count, rng.exponential())}.get(
            draw, rng.exponential(size=count)
        )
        edge = far - protection - wide
        place = locate_known(x, y, edge, protection) if known else locate(x, y, edge)
        errors[attack] = np.hypot(*place[:2])
    return errors
