"""Large packing programs by a first-order method: steps of a sparse matrix, begun from the last solution.

The primal-dual hybrid gradient method (Chambolle and Pock 2011), with step sizes from the sums of rows and
columns (Pock and Chambolle 2011) and restarts from the mean (Applegate et al. 2021). Its multipliers are
inexact; whoever asks proves a bound of its own from them (weak duality).

Weighted least squares over distributions with a relative-entropy penalty, and the proof from its dual.

::

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
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

BLOCK, MOST = 200, 3
"""Steps from restart to restart, and blocks at most."""

BALANCE = 3.0
"""Steps of the variables against those of the multipliers, for gains of at most 1 and entries of about 1."""


class SteppedProgram:
    """Maximise ``gains . x`` over x >= 0: groups of variables sum to at most 1, and so do further rows.

    Parameters
    ----------
    gains : (n,) array
    groups : (n,) array
        The group of each variable; group g is row g.
    exactly : (groups,) array of bool
        Groups that sum to exactly 1.

    Examples
    --------
    >>> none = np.zeros(1, dtype=bool)
    >>> program = SteppedProgram(np.array([2.0, 1.0]), np.zeros(2, dtype=np.int64), none)
    >>> program.solve(10.0, 1e-6)
    True
    >>> program.values.round(3).tolist(), program.multipliers.round(3).tolist()
    ([1.0, 0.0], [2.0])
    """

    def __init__(self, gains: Array, groups: Places, exactly: NDArray[np.bool_]) -> None:
        self.gains, self.groups = np.zeros(0), np.zeros(0, dtype=np.int64)
        self.exactly, self.size = exactly, len(exactly)
        self.open = np.zeros(0, dtype=bool)
        self._parts: list[tuple[Places, Places, Array]] = []
        self.values: Array = np.zeros(0)
        self.multipliers: Array = np.zeros(0)
        self.sums: Array = np.zeros(0)
        self._append(gains, groups)

    def begin(self, values: Array, multipliers: Array) -> None:
        """Take a solution to begin from."""
        self.values, self.multipliers = values, multipliers

    def _append(self, gains: Array, groups: Places) -> None:
        first = len(self.gains)
        self._parts.append((groups, np.arange(first, first + len(gains)), np.ones(len(gains))))
        self.gains = np.concatenate([self.gains, gains])
        self.groups = np.concatenate([self.groups, groups])
        self.open = np.concatenate([self.open, np.ones(len(gains), dtype=bool)])

    def column(self, gain: float, rows: Places, entries: Array) -> None:
        """Add a variable with its entries in the rows that exist; the first row is its group."""
        self._append(np.array([gain]), rows[:1])
        self._parts.append((rows[1:], np.full(len(rows) - 1, len(self.gains) - 1), entries[1:]))

    def rows(self, value: list[tuple[Places, Array]]) -> None:
        """Add rows whose sums are at most 1, each with its columns and their entries."""
        for columns, entries in value:
            self._parts.append((np.full(len(columns), self.size), columns, entries))
            self.size += 1

    def entry(self, row: int, column: int, value: float) -> None:
        """Set one entry that was 0."""
        self._parts.append((np.array([row]), np.array([column]), np.array([value])))

    def close(self, columns: Places) -> None:
        """Keep variables at 0 from now on."""
        self.open[columns] = False

    def drop(self, rows: Places) -> None:
        """Remove rows; those behind move up."""
        places, columns, entries = self._entries()
        left = np.ones(self.size, dtype=bool)
        left[rows] = False
        kept = left[places]
        self._parts = [((np.cumsum(left) - 1)[places[kept]], columns[kept], entries[kept])]
        self.multipliers = _longer(self.multipliers, self.size)[left]
        self.size = int(left.sum())

    def _entries(self) -> tuple[Places, Places, Array]:
        rows, columns, entries = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        self._parts = [(rows, columns, entries)]
        return rows, columns, entries

    def solve(self, seconds: float, error: float, blocks: int = 3) -> bool:
        """Step until the multipliers' bound is above the solution's value by ``error`` at most.

        Parameters
        ----------
        seconds : float
            After this time no further block of steps is begun.
        error : float
        blocks : int
            Largest number of blocks.
        """
        until = time.monotonic() + seconds
        rows, columns, entries = self._entries()
        used = self.open[columns]
        shape = (self.size, len(self.gains))
        matrix: Any = sparse.csr_array((entries[used], (rows[used], columns[used])), shape=shape)
        x = np.where(self.open, _longer(self.values, len(self.gains)), 0.0)
        y = _longer(self.multipliers, self.size)
        steps = Steps(matrix, self.gains, self.groups, self.exactly, self.open)
        self.values, self.multipliers = steps.taken(x, y, until, error, blocks)
        self.sums = matrix @ self.values
        return True


class Steps:
    """Steps of the method on one matrix, whose first rows are those of the groups.

    Parameters
    ----------
    matrix : sparse (rows, n)
    gains, groups, exactly
        As those of :class:`SteppedProgram`.
    open_ : (n,) array of bool
        The variables that may be above 0.
    """

    def __init__(
        self, matrix: Any, gains: Array, groups: Places, exactly: NDArray[np.bool_], open_: NDArray[np.bool_]
    ) -> None:
        self.matrix, self.turned = matrix, matrix.T.tocsr()
        self.scale = max(float(gains.max(initial=0.0)), 1e-300)
        self.gains, self.groups, self.exactly, self.open = gains / self.scale, groups, exactly, open_

    def taken(self, x: Array, y: Array, until: float, error: float, blocks: int) -> tuple[Array, Array]:
        """Return variables and multipliers after at most ``blocks`` blocks of steps from those given."""
        matrix, turned, gains = self.matrix, self.turned, self.gains
        step = np.where(self.open, BALANCE / np.maximum(matrix.sum(axis=0), 1.0), 0.0)
        price_step = 1.0 / (BALANCE * np.maximum(matrix.sum(axis=1), 1.0))
        least = np.zeros(len(y))
        least[: len(self.exactly)][self.exactly] = -np.inf
        y = y / self.scale
        for _ in range(blocks):
            total_x, total_y = np.zeros(len(x)), np.zeros(len(y))
            for _ in range(BLOCK):
                after = np.maximum(x + step * (gains - turned @ y), 0.0)
                y = np.maximum(y + price_step * (matrix @ (2.0 * after - x) - 1.0), least)
                x = after
                total_x += x
                total_y += y
            x, y = total_x / BLOCK, total_y / BLOCK
            bound = self._bound(gains - turned @ y, y)
            if bound - float(gains @ x) <= error / self.scale or time.monotonic() > until:
                break
        return x, y * self.scale

    def _bound(self, left: Array, prices: Array) -> float:
        """Return the bound of weak duality, with the best prices of the groups."""
        best = np.where(self.exactly, -np.inf, 0.0)
        own = prices[: len(best)]
        np.maximum.at(best, self.groups[self.open], (left + own[self.groups])[self.open])
        return float(prices[len(best) :].sum() + best.sum())


def _longer(found: Array, size: int) -> Array:
    return np.concatenate([found, np.zeros(size - len(found))])


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
    >>> from mechdesign.collect.attributes import EffectTransform
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
            found, slope, made = dual.at(tried)
            if found <= value + 1e-4 * length * gain or dual.gap <= goal:
                break
            length /= 2.0
            if length < 1e-9:  # rounding is all that is left
                return step
        point, value, gradient, shares = tried, found, slope, made
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
    found = descend(scaled, point * scale, jac=True, method="L-BFGS-B", callback=enough, options=options)
    return int(found.nit)
