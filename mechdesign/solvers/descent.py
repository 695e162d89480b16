"""Methods of descent: quasi-Newton, local ascent, first-order steps, sums of reciprocals over the simplex.

Nothing is claimed about where L-BFGS-B and SLSQP stop.

**Large packing programs** by steps of a sparse matrix, begun from the last solution: the primal-dual hybrid
gradient method (Chambolle and Pock 2011), with step sizes from the sums of rows and columns (Pock and
Chambolle 2011) and restarts from the mean (Applegate et al. 2021). Its multipliers are inexact; whoever asks
proves a bound of its own from them (weak duality).

**Sums of reciprocals** c_A / (B w)_A over the simplex, minimised by multiplicative steps, then Newton's. For
every w with finite errors and every u of the simplex, f(u) >= f(w)^2 / max_v p_v(w), where p = -grad f.
Proof: by Cauchy and Schwarz, f(w)^2 = (sum sqrt(c/I(u)) sqrt(c I(u))/I(w))^2 <= f(u) sum_A c I(u)/I(w)^2, and
the last sum is sum_v u_v p_v <= max p. There is equality at the optimum, where p_v = f on the support.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

MEMORY = 30


def descend(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    low: Array | None = None,
    iterations: int = 300,
    tolerance: float = 1e-12,
    is_enough: Callable[[], bool] | None = None,
) -> Array:
    """Return where the descent stops.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient.
    start : (n,) array
    low : (n,) array, optional
        Lower limits; -inf where there is none.
    iterations : int
    tolerance : float
        It stops when a step lowers the value by less than this part of it.
    is_enough : callable, optional
        Asked after each step; it stops when this is true.

    Examples
    --------
    >>> bowl = lambda x: (float((x - 1) @ (x - 1)), 2 * (x - 1))
    >>> found = descend(bowl, np.zeros(2), np.array([-np.inf, 2.0]))
    >>> found.round(6).tolist()
    [1.0, 2.0]
    """
    from scipy.optimize import Bounds, minimize

    def after_step(intermediate_result: Any) -> None:
        if is_enough is not None and is_enough():
            raise StopIteration

    limits = None if low is None else Bounds(low, np.full(len(start), np.inf))
    result = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        callback=after_step,
        options={
            "maxcor": MEMORY,
            "maxiter": iterations,
            "maxfun": 2 * iterations,
            "ftol": tolerance,
            "gtol": 0.0,
        },
    )
    return np.asarray(result.x, dtype=np.float64)


def local_maximum(
    function: Callable[[Array], float],
    slope: Callable[[Array], Array],
    start: Array,
    rows: Array,
    limits: Array,
    low: Array,
    high: Array,
) -> Array:
    """Return where sequential quadratic programming (SLSQP) stops, for ``rows x <= limits``.

    It stops at a point whose slope leads nowhere: that may be a local maximum, a saddle, or a minimum that it
    was started at. Nothing is claimed about it.

    Parameters
    ----------
    function, slope : callable
        The function to be maximised and its gradient.
    start : (n,) array
    rows : (m, n) array
    limits : (m,) array
    low, high : (n,) arrays

    Examples
    --------
    >>> none = np.zeros((0, 1))
    >>> square = lambda x: float(x[0] ** 2)
    >>> local_maximum(square, lambda x: 2 * x, np.zeros(1), none, np.zeros(0), -np.ones(1), np.ones(1))
    array([0.])
    """
    from scipy.optimize import Bounds, minimize

    constraints: list[Any] = []
    if len(limits):
        constraints = [{"type": "ineq", "fun": lambda x: limits - rows @ x, "jac": lambda x: -rows}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a trial point outside of its bounds
        descend: Any = minimize  # its stubs know no list of constraints with bounds
        result = descend(
            lambda x: -function(x),
            start,
            jac=lambda x: -slope(x),
            method="SLSQP",
            bounds=Bounds(low, high),
            constraints=constraints,
            options={"ftol": 1e-14, "maxiter": 500},
        )
    return np.clip(np.asarray(result.x, dtype=np.float64), low, high)


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
        remaining = left[places]
        self._parts = [((np.cumsum(left) - 1)[places[remaining]], columns[remaining], entries[remaining])]
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
        from scipy.sparse import csr_array

        until = time.monotonic() + seconds
        rows, columns, entries = self._entries()
        used = self.open[columns]
        shape = (self.size, len(self.gains))
        matrix: Any = csr_array((entries[used], (rows[used], columns[used])), shape=shape)
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


def _longer(numbers: Array, size: int) -> Array:
    return np.concatenate([numbers, np.zeros(size - len(numbers))])


STEPS, MOST_STEPS = 100, 3000
"""Multiplicative steps before Newton's method, and where that is too large."""

MOST_DENSE = 1500
"""Equations of a Newton step: as many as marginals or as views, whichever are fewer."""

CLOSE = 1e-8
"""The relative gap at which it ends."""

SHRINK = 0.15
"""The factor of the barrier from one centering to the next."""

CENTERING = 30
"""Newton steps for one barrier, at most."""


@dataclass(frozen=True)
class ErrorTerms:
    """Targets, the ways to ask, and the information of one report of each way about the targets.

    Attributes
    ----------
    weights : (A,) array
        Weights of what is wanted.
    information : (A, V) sparse or dense array
        1 / (error of one report); nothing, or 0, where a way to ask does not tell.
    """

    weights: Array
    information: Any

    def errors(self, shares: Array) -> Array:
        """Return each error for one user in all; infinite where nothing tells."""
        with np.errstate(divide="ignore"):
            result: Array = 1.0 / (self.information @ shares)
        return result

    def mean(self, shares: Array) -> float:
        """Return the weighted mean of the errors."""
        return float(self.weights @ self.errors(shares))

    def worst(self, shares: Array) -> float:
        """Return the largest error times its weight, relative to the mean weight."""
        return float((self.weights * self.errors(shares)).max() * len(self.weights))

    def prices(self, shares: Array) -> Array:
        """Return by how much the mean error falls per share of each way to ask: - its gradient."""
        result: Array = self.transposed @ (self.weights * self.errors(shares) ** 2)
        return result

    @cached_property
    def transposed(self) -> Any:
        """The array the other way round, row by row."""
        if isinstance(self.information, np.ndarray):
            return np.ascontiguousarray(self.information.T)
        return self.information.T.tocsr()


@dataclass(frozen=True)
class ProvenShares:
    """Shares, the mean error for one user, and a bound that no shares of these ways to ask go below."""

    shares: Array
    value: float
    bound: float


def error_lower_bound(terms: ErrorTerms, shares: Array) -> float:
    """Return f^2 / max p.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> terms = ErrorTerms(np.array([0.5, 0.5]), csr_array(np.diag([0.1, 0.3])))
    >>> w = np.sqrt(terms.errors(np.ones(2)))
    >>> w /= w.sum()  # the closed form: proportional to the square root of the cost
    >>> bool(abs(error_lower_bound(terms, w) / terms.mean(w) - 1.0) < 1e-12)
    True
    """
    price = float(terms.prices(shares).max())
    value = terms.mean(shares)
    return value * (value / price) if math.isfinite(price) else 0.0


def allocate(terms: ErrorTerms) -> ProvenShares:
    """Return the best shares; everything that is wanted has to be told by some way to ask.

    Multiplicative steps w_v <- w_v sqrt(p_v), normalised, never increase the mean error (Yu 2010); they find
    a symmetric optimum at once, and the closed form where all is told in one way only. Otherwise
    Newton's method follows.
    """
    large = min(terms.information.shape) > MOST_DENSE
    shares, best = _multiplicative(terms, MOST_STEPS if large else STEPS)
    value = terms.mean(shares)
    if value > best * (1.0 + CLOSE) and not large:
        candidate = _newton(terms, shares)
        best = max(best, error_lower_bound(terms, candidate))
        if terms.mean(candidate) <= value:
            shares, value = candidate, terms.mean(candidate)
    return ProvenShares(shares, value, best)


def _multiplicative(terms: ErrorTerms, steps: int) -> tuple[Array, float]:
    shares = np.full(terms.information.shape[1], 1.0 / terms.information.shape[1])
    best = 0.0
    for _ in range(steps):
        prices = terms.prices(shares)
        value = float(prices @ shares)  # f is homogeneous of degree -1
        best = max(best, value * (value / float(prices.max())))
        if value <= best * (1.0 + CLOSE):
            break
        shares = shares * np.sqrt(prices / value)
        shares /= shares.sum()
    return shares, best


def _newton(terms: ErrorTerms, shares: Array) -> Array:
    """Minimise f(w) + sum w - mu sum log w without the constraint, for mu to 0; then normalise.

    The minimum of f(w) + sum w has sum w = f(w), and w / sum w minimises f on the simplex, because f is
    homogeneous of degree -1.
    """
    matrix, transposed = terms.information, terms.transposed
    weights = terms.weights / terms.mean(shares)  # so that the optimum is about 1
    w = np.maximum(shares, 1e-3 / len(shares))
    barrier = 0.1 / len(w)
    while barrier * len(w) > CLOSE / 5.0:
        for _ in range(CENTERING):
            information = matrix @ w
            gradient = 1.0 - transposed @ (weights / information**2) - barrier / w
            step = -_solved(terms, 2.0 * weights / information**3, w, barrier, gradient)
            decrement = -float(step @ gradient)
            if not decrement > 1e-3 * barrier:
                break
            length = _length(matrix, weights, w, barrier, step, decrement)
            if length == 0.0:
                break
            w = w + length * step
        barrier *= SHRINK
    normalised: Array = w / w.sum()
    return normalised


def _solved(terms: ErrorTerms, curvature: Array, w: Array, barrier: float, gradient: Array) -> Array:
    """Return (M' D M + mu / w^2)^-1 gradient, by a system of as many equations as M has rows, or columns."""
    matrix, transposed = terms.information, terms.transposed
    rows, columns = matrix.shape
    if columns <= rows:
        dense = matrix * w if isinstance(matrix, np.ndarray) else matrix.multiply(w[None, :]).toarray()
        system = (dense * curvature[:, None]).T @ dense
        system.flat[:: columns + 1] += barrier
        solved: Array = w * np.linalg.solve(system, w * gradient)
        return solved
    spread = w * w / barrier  # Woodbury's identity
    if isinstance(matrix, np.ndarray):
        system = (matrix * spread) @ transposed
    else:
        scaled: Any = matrix.copy()
        scaled.data *= spread[scaled.indices]
        system = (scaled @ transposed).toarray()
    system.flat[:: rows + 1] += 1.0 / curvature
    first = spread * gradient
    result: Array = first - spread * (transposed @ np.linalg.solve(system, matrix @ first))
    return result


def _length(
    matrix: csr_array | Array, weights: Array, w: Array, barrier: float, step: Array, decrement: float
) -> float:
    """Return a step length that stays inside and descends enough; 0 where rounding leaves none."""

    def merit(point: Array) -> float:
        return float((weights / (matrix @ point)).sum() + point.sum() - barrier * np.log(point).sum())

    length, down = 1.0, step < 0.0
    if down.any():
        length = min(1.0, 0.95 * float((-w[down] / step[down]).min()))
    before = merit(w)
    while length > 1e-10:
        if merit(w + length * step) <= before - 0.1 * length * decrement:
            return length
        length *= 0.5
    return 0.0
