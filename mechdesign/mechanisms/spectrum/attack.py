"""The attack of section 6.3.2: a user who asks from several places locates the owner by least squares.

Each answer tells d_i, the distance to the edge of the owner's circle, and

    (x_i - x_p)^2 + (y_i - y_p)^2 = (d_i + r)^2                                                   (6.3)

is linear in x_p, y_p, r and q = x_p^2 + y_p^2 - r^2: four queries solve it, more are fitted. A widening that
is the same in all answers is a part of r and hides nothing of the place; one drawn for each place is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.validation import choice, finite_array, in_range, integer

Array = NDArray[np.float64]
Draw = Literal["none", "common", "each"]

LEAST_QUERIES = 4
STEPS, SHORTEST = 40, 2.0**-20
"""Steps of Gauss and Newton after the linear fit, shortened until the fit is better."""


def locate(x: Sequence[float] | Array, y: Sequence[float] | Array, edge: Sequence[float] | Array) -> Array:
    """Return (x_p, y_p, r) fitted to distances from queries to the edge of the owner's circle.

    Parameters
    ----------
    x, y : (n,) numbers
        Where was asked from, n >= 4 places that lie on no circle or line together with each other.
    edge : (n,) numbers
        The distances d_i.

    Raises
    ------
    DataError
        When there are fewer than four queries.

    Examples
    --------
    >>> import math
    >>> places = [(9.0, 0.0), (0.0, 7.0), (-8.0, 1.0), (2.0, -6.0), (5.0, 5.0)]
    >>> edge = [math.hypot(x - 1.0, y - 2.0) - 1.5 for x, y in places]
    >>> locate(*zip(*places), edge).round(6)
    array([1. , 2. , 1.5])
    """
    xs, ys, far = (finite_array(name, given, 1) for name, given in (("x", x), ("y", y), ("edge", edge)))
    if len(xs) < LEAST_QUERIES:
        raise DataError(f"queries: {len(xs)} do not locate anybody; ask from {LEAST_QUERIES} places at least")
    rows = np.column_stack([2.0 * xs, 2.0 * ys, 2.0 * far, -np.ones(len(xs))])
    solved = np.linalg.lstsq(rows, xs**2 + ys**2 - far**2, rcond=None)[0]
    guess = np.array(solved[:3], dtype=np.float64)
    for _ in range(STEPS):
        across, up = guess[0] - xs, guess[1] - ys
        distance = np.maximum(np.hypot(across, up), 1e-12)
        slopes = np.column_stack([across / distance, up / distance, -np.ones(len(xs))])
        step = np.linalg.lstsq(slopes, distance - guess[2] - far, rcond=None)[0]
        size = 1.0
        while size > SHORTEST and _misfit(guess - size * step, xs, ys, far) >= _misfit(guess, xs, ys, far):
            size /= 2.0
        if size <= SHORTEST:
            break
        guess -= size * step
    return guess


def _misfit(guess: Array, xs: Array, ys: Array, far: Array) -> float:
    """Return the sum of squares that is minimised."""
    return float(((np.hypot(guess[0] - xs, guess[1] - ys) - guess[2] - far) ** 2).sum())


def attack_errors(
    level: float,
    rng: np.random.Generator,
    queries: int = 8,
    repetitions: int = 100,
    draw: Draw = "each",
    ring: float = 10.0,
    protection: float = 1.0,
) -> Array:
    """Return how far the attacker's places are from the owner's, attack by attack.

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

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(attack_errors(0.5, rng, draw="common").max() < 1e-6), bool(attack_errors(0.5, rng).mean() > 0.2)
    (True, True)
    """
    mean = in_range("level", level, 0.0, 1e6)
    choice("draw", draw, ("none", "common", "each"))
    count, times = integer("queries", queries, LEAST_QUERIES), integer("repetitions", repetitions, 1)
    errors = np.zeros(times)
    for attack in range(times):
        angle, far = rng.uniform(0.0, 2.0 * np.pi, count), ring * rng.uniform(0.5, 1.0, count)
        x, y = far * np.cos(angle), far * np.sin(angle)
        wide = mean * {"none": np.zeros(count), "common": np.full(count, rng.exponential())}.get(
            draw, rng.exponential(size=count)
        )
        errors[attack] = np.hypot(*locate(x, y, far - protection - wide)[:2])
    return errors
