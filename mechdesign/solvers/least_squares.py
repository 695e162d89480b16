"""Least squares over non-negative numbers, over increasing ones, and over distributions with an entropy.

Over non-negative numbers by active sets; over increasing ones by pool-adjacent-violators, the ironing step of
contract design; over distributions with a relative-entropy penalty, and the proof from its dual::

    minimize   F(p) = 1/2 sum_i w_i ((E p)_i - y_i)^2 + lambda KL(p || q)    over distributions p

for a positive reference q and lambda > 0. For every r = s (E p - y), with s = sqrt(w), 1/2 r^2 is the maximum
of x r - x^2/2 over x; with the minimum over p of a linear function plus lambda KL that gives the dual, for
any x, ::

    D(x) = -lambda log sum_v q_v exp(-(E'(s x))_v / lambda) - (s x)'y - |x|^2/2  <=  F(p).

It is strongly concave and has the gradient r - x, with r at p(x) ~ q exp(-E'(s x)/lambda). And p(x) has ::

    F(p(x)) - D(x) = 1/2 |r - x|^2 :

the gap is half the squared gradient, computed without subtracting large numbers. Since the part of F without
the entropy is convex and p* is positive, F(p) - F* >= lambda KL(p || p*), and by Pinsker's inequality p, and
every sum of its cells, is within sqrt(gap / (2 lambda)) of the exact minimizer in variation distance.

Fits of tables need the map from a flat table to the coordinates of its effects (:class:`EffectTransform`). In
these a table consists of those of every marginal that no smaller marginal tells. Along an axis of size k
stands the matrix whose first row is 1 everywhere and whose other rows are Helmert's, orthonormal and with sum
0. The coordinates of a table that are constant along all axes but those of a set B are those of its marginal
on B in an orthonormal basis of the functions that sum to 0 along each attribute of B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RIDGE = 1e-10
"""What is added to the diagonal, as a part of its mean: a singular matrix has a Cholesky factor then."""


def nonnegative_quadratic(matrix: Array, linear: Array) -> Array:
    """Return about the x >= 0 that minimises x'Hx/2 + c'x, for H positive semidefinite.

    The result is a step for a method that judges it, not a certified minimiser: H gets a small ridge.

    Parameters
    ----------
    matrix : (k, k) array
        H.
    linear : (k,) array
        c.

    Examples
    --------
    >>> nonnegative_quadratic(np.eye(2), np.array([-3.0, 1.0])).round(6).tolist()
    [3.0, 0.0]
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    size = len(linear)
    ridge = RIDGE * float(np.trace(matrix)) / size
    factor = np.linalg.cholesky(matrix + max(ridge, np.finfo(float).tiny) * np.eye(size)).T
    target = -solve_triangular(factor.T, linear, lower=True)
    result: Array = nnls(factor, target, maxiter=30 * size)[0]
    return result


def nonnegative_least_squares(matrix: Array, target: Array) -> Array:
    """Return an x >= 0 that minimises the length of A x - b, by Lawson and Hanson's algorithm.

    At most as many entries are above 0 as the matrix has rows; where the minimiser is not unique, that is one
    of several.

    Parameters
    ----------
    matrix : (m, n) array
    target : (m,) array

    Examples
    --------
    >>> matrix = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> nonnegative_least_squares(matrix, np.array([3.0, 1.0])).round(9).tolist()
    [2.0, 1.0, 0.0]
    """
    from scipy.optimize import nnls

    result: Array = nnls(matrix, target)[0]
    return result


def increasing_blocks(values: Array, weights: Array) -> NDArray[np.int64]:
    """Return the first position of each block of the weighted non-decreasing least-squares fit.

    Parameters
    ----------
    values, weights : (k,) array
        Weights are positive.

    Returns
    -------
    (b,) int array
        Starts at 0; the fit is constant on each block, its weighted mean there.

    Examples
    --------
    >>> increasing_blocks(np.array([1.0, 102.0, 4.1]), np.array([100.0, 1.0, 100.0]))
    array([0, 1])
    """
    if (np.diff(values) >= 0).all():
        return np.arange(len(values))
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).blocks[:-1], dtype=np.int64)


DISTANCE = 1e-5
"""The variation distance from the exact minimizer that is asked for, where nothing else is said."""

PAIRS = 30
"""Pairs of steps and slopes that the quasi-Newton method remembers."""

STEPS, NEWTON_STEPS = 5000, 200
FIRST = 200
"""Quasi-Newton steps before Newton's method takes over, where the matrix is not too large for that."""

SMALL_WORK, NEWTON_WORK = 1 << 22, 1 << 29
"""Rows^2 times columns: up to the first Newton's method is used at once, up to the second in the end."""

MOST_ENTRIES = 1 << 24
"""Rows times columns of a matrix that Newton's method is used with."""


class LinearMap(Protocol):
    """A matrix E, perhaps only by what it does."""

    def matrix(self) -> Array:
        """Return the matrix itself, which is small when it is asked for."""

    @property
    def squares(self) -> Array:
        """About the mean square of each row's entries; it only sets the scale of the variables."""

    def forward(self, shares: Array) -> Array:
        """Return E p."""

    def back(self, multipliers: Array) -> Array:
        """Return E'x."""


@dataclass(frozen=True, eq=False)
class EntropicFit:
    """A distribution and the proof of how near it is to the minimizer.

    Attributes
    ----------
    shares : (cells,) array
        Positive up to underflow, sums to 1.
    multipliers : (rows,) array
        x, where to start for a similar program.
    penalty : float
        lambda.
    gap : float
        An upper bound of F(p) - F*.
    steps : int
    """

    shares: Array
    multipliers: Array
    penalty: float
    gap: float
    steps: int

    @property
    def distance(self) -> float:
        """An upper bound of the variation distance from the exact minimizer."""
        return min(1.0, math.sqrt(self.gap / (2.0 * self.penalty)))


class _Dual:
    """The negative dual and its gradient, with the distribution that belongs to a point."""

    def __init__(self, design: LinearMap, target: Array, weights: Array, reference: Array, penalty: float):
        self.design, self.target, self.penalty = design, target, penalty
        self.root, self.logs = np.sqrt(weights), np.log(reference)
        self.gap, self.point, self.shares = math.inf, np.zeros(0), np.zeros(0)

    def at(self, point: Array) -> tuple[float, Array, Array]:
        """Return the value, the gradient x - r and the distribution; remember where the gradient is least."""
        scaled = self.root * point
        exponents = self.logs - self.design.back(scaled) / self.penalty
        top = float(exponents.max())
        powers = np.exp(exponents - top)
        total = float(powers.sum())
        shares = powers / total
        gradient = point - self.root * (self.design.forward(shares) - self.target)
        value = self.penalty * (top + math.log(total)) + float(scaled @ self.target)
        gap = 0.5 * float(gradient @ gradient)
        if gap < self.gap:
            self.gap, self.point, self.shares = gap, point.copy(), shares
        return value + 0.5 * float(point @ point), gradient, shares


def entropic_least_squares(
    design: LinearMap,
    target: Array,
    weights: Array,
    reference: Array,
    penalty: float,
    start: Array | None = None,
    distance: float = DISTANCE,
    steps: int = STEPS,
) -> EntropicFit:
    """Return the distribution that minimizes weighted squares plus ``penalty`` times the relative entropy.

    Parameters
    ----------
    design : LinearMap
        E, rows by cells.
    target, weights : (rows,) arrays
        y, and w >= 0.
    reference : (cells,) array
        q, positive with sum 1.
    penalty : float
        lambda > 0, in units of the weighted squares.
    start : (rows,) array, optional
        Multipliers of a similar program.
    distance : float
        Stop when the distribution is proven to be within this variation distance of the exact one.
    steps : int
        Largest number of steps.

    Returns
    -------
    EntropicFit
        With the smallest gap that was reached, should the steps not suffice.

    Examples
    --------
    >>> from mechdesign.solvers.least_squares import EffectTransform
    >>> one = np.array([0.4])
    >>> fit = entropic_least_squares(EffectTransform([2]), one, np.ones(1) * 1e6, np.full(2, 0.5), 1e-6)
    >>> fit.shares.round(4), fit.gap < 1e-12  # p_0 - p_1 = 0.4 sqrt 2
    (array([0.7828, 0.2172]), True)
    """
    dual = _Dual(design, target, weights, reference, penalty)
    goal = 2.0 * penalty * distance**2
    point = np.zeros(len(target)) if start is None else start
    work = len(target) ** 2 * len(reference)
    finishes = work <= NEWTON_WORK and len(target) * len(reference) <= MOST_ENTRIES
    taken = 0
    dual.at(point)
    if work > SMALL_WORK and dual.gap > goal:
        taken = _quasi_newton(dual, weights, point, goal, FIRST if finishes else steps)
        point = dual.point
    if finishes and dual.gap > goal:
        taken += _newton(dual, point, goal)
    return EntropicFit(dual.shares, dual.point, penalty, dual.gap, taken)


def _newton(dual: _Dual, point: Array, goal: float) -> int:
    """Climb by Newton's method with halved steps; return how many were taken."""
    rows, scale = dual.design.matrix(), np.outer(dual.root, dual.root / dual.penalty)
    value, gradient, shares = dual.at(point)
    for step in range(NEWTON_STEPS):
        if dual.gap <= goal:
            return step
        now = rows @ shares
        spread = rows * np.sqrt(shares)
        curvature = spread @ spread.T - np.outer(now, now)
        curvature *= scale
        curvature.reshape(-1)[:: len(rows) + 1] += 1.0  # the diagonal
        move = np.linalg.solve(curvature, -gradient)
        gain, length = float(gradient @ move), 1.0
        while True:
            tried = point + length * move
            height, slope, weights = dual.at(tried)
            if height <= value + 1e-4 * length * gain or dual.gap <= goal:
                break
            length /= 2.0
            if length < 1e-9:  # rounding is all that is left
                return step
        point, value, gradient, shares = tried, height, slope, weights
    return NEWTON_STEPS


def _quasi_newton(dual: _Dual, weights: Array, point: Array, goal: float, steps: int) -> int:
    """Climb by L-BFGS in variables scaled by the curvature at even shares; return the steps."""
    from scipy.optimize import minimize

    scale = np.sqrt(1.0 + weights * dual.design.squares / dual.penalty)

    def scaled(moved: Array) -> tuple[float, Array]:
        value, gradient, _ = dual.at(moved / scale)
        return value, gradient / scale

    def enough(_: Any) -> None:
        if dual.gap <= goal:
            raise StopIteration

    options = {"maxcor": PAIRS, "maxiter": steps, "maxfun": 2 * steps, "ftol": 0.0, "gtol": 0.0}
    descend: Any = minimize  # its stubs know no numbers of pairs
    result = descend(scaled, point * scale, jac=True, method="L-BFGS-B", callback=enough, options=options)
    return int(result.nit)


TOGETHER = 16
"""Neighboring axes are transformed together while their table has at most this many cells."""

DENSE = 1 << 18
"""Products with the matrix itself are quicker where it has at most this many numbers."""


def contrasts(size: int) -> Array:
    """Return the matrix of an axis: a row of ones, then orthonormal rows with sum 0.

    Examples
    --------
    >>> contrasts(2).round(3)
    array([[ 1.   ,  1.   ],
           [ 0.707, -0.707]])
    """
    rows = np.zeros((size, size))
    rows[0] = 1.0
    for row in range(1, size):
        rows[row, :row], rows[row, row] = 1.0, -float(row)
        rows[row] /= math.sqrt(row * (row + 1.0))
    return rows


def _together(sizes: Sequence[int]) -> Array:
    """Return the matrix of neighboring axes."""
    result = np.ones((1, 1))
    for size in sizes:
        result = np.asarray(np.kron(result, contrasts(size)), dtype=np.float64)
    return result


class EffectTransform:
    """The map from a flat table to coordinates of its effects, all but the sum of the table.

    Parameters
    ----------
    sizes : sequence of int
        Of the axes; the last one runs fastest.
    chosen : (rows,) int array, optional
        Which coordinates, by their place in the flat table of coordinates, where index 0 along an axis is for
        the sum over it. All but the first by default.

    Examples
    --------
    >>> transform = EffectTransform([2, 2])
    >>> table = np.array([0.4, 0.1, 0.2, 0.3])
    >>> transform.forward(table).round(4)  # second attribute, first attribute, both
    array([0.1414, 0.    , 0.2   ])
    """

    def __init__(self, sizes: Sequence[int], chosen: NDArray[np.int64] | None = None) -> None:
        self.sizes = tuple(sizes)
        self.cells = math.prod(self.sizes)
        self.chosen = np.arange(1, self.cells) if chosen is None else chosen
        groups: list[list[int]] = []
        for size in self.sizes:
            if groups and math.prod(groups[-1]) * size <= TOGETHER:
                groups[-1].append(size)
            else:
                groups.append([size])
        self._matrix: Array | None = None
        self._factors = [_together(group) for group in groups]

    @cached_property
    def dense(self) -> Array | None:
        """The matrix, rows by cells, where it is small."""
        return self.matrix() if len(self.chosen) * self.cells <= DENSE else None

    def matrix(self) -> Array:
        """Return the matrix, rows by cells."""
        if self._matrix is None:
            rows = np.ones((len(self.chosen), 1))
            for size, places in zip(self.sizes, np.unravel_index(self.chosen, self.sizes), strict=True):
                rows = rows[:, :, None] * contrasts(size)[places][:, None, :]
                rows = rows.reshape(len(self.chosen), rows.shape[1] * size)
            self._matrix = rows
        return self._matrix

    @cached_property
    def squares(self) -> Array:
        """The mean square of each row's entries: the product of 1/k over the attributes of its effect."""
        per_axis = [np.concatenate([[1.0], np.full(size - 1, 1.0 / size)]) for size in self.sizes]
        result: Array = reduce(np.multiply.outer, per_axis).ravel()[self.chosen]
        return result

    def forward(self, shares: Array) -> Array:
        """Return the chosen coordinates of a flat table."""
        if self.dense is not None:
            return np.asarray(self.dense @ shares)
        result: Array = self._turned(shares, [factor.T for factor in self._factors])[self.chosen]
        return result

    def back(self, multipliers: Array) -> Array:
        """Return the flat table of sums over coordinates of multiplier times row."""
        if self.dense is not None:
            return np.asarray(multipliers @ self.dense)
        spread = np.zeros(self.cells)
        spread[self.chosen] = multipliers
        return self._turned(spread, self._factors)

    def _turned(self, flat: Array, factors: Sequence[Array]) -> Array:
        """Multiply along every group of axes: the last one is turned, and moves to the front."""
        for factor in reversed(factors):
            size = len(factor)
            flat = (flat.reshape(-1, size) @ factor).T.ravel()
        return flat
