"""Two primal-dual interior-point methods: for many weights, and for columns in one cone.

**Many weights**: a convex function f of few numbers that are linear in the weights::

    minimise  f(A w)   subject to  w >= 0,  Z w = r

The Hessian in w is F'F with as many rows as f has arguments. Each Newton system is solved by Woodbury's
identity, or directly where there are fewer weights, and refined once. A step aims at a complementarity that a
first step towards 0 has shown to be within reach, and corrects for that step's second order (Mehrotra 1992).

**Coupled cones**: linear programs whose columns lie in one cone and sum to one::

    maximise    sum_z w_z . k_z
    subject to  k_z[j] >= a_ij k_z[i]  and  k_z[i] >= a_ij k_z[j]   for every edge ij and every column z
                sum_z k_z = 1 in every row

A column is a report, a row an answer, an edge a pair of answers that privacy does not let differ by more
than the factor 1 / a_ij. Given the multiplier u of the sums the columns are independent, so Newton's
equations fall into one positive definite matrix H_z a column::

    H_z dk_z + du = g_z,    sum_z dk_z = r,    hence  (sum_z H_z^-1) du = sum_z H_z^-1 g_z - r:

n^3 operations a column instead of a sparse factorisation of everything. The steps are those of Mehrotra
with the further corrections of Gondzio.

The bound needs no convergence. For any multipliers y_z >= 0 of the inequalities A k_z >= 0 and every k that
satisfies the constraints::

    sum_z w_z . k_z <= sum_z (w_z + A'y_z) . k_z <= sum_x max_z (w_z + A'y_z)[x].
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

STEPS = 80
BACK = 0.995
"""How far a step goes towards the boundary."""

ENOUGH = 0.3
"""The least complementarity that a step aims at, as a part of the accuracy: less would spoil the slopes."""

SHORT = 0.1
"""A corrected step that stops at this part of its length is compared with one without correction."""


@dataclass(frozen=True, eq=False)
class ProgramState:
    """The function at some weights: value, slopes (K,), and a maker of the factor F of its Hessian."""

    value: float
    slopes: Array
    factor: Callable[[], Array]
    more: Any = None


class SmoothProgram(Protocol):
    """Objective of a smooth convex program."""

    left: Array
    right: Array

    def state(self, weights: Array) -> ProgramState | None:
        """Return the function at these weights; None outside of its domain."""
        ...


@dataclass(frozen=True, eq=False)
class Minimised:
    """Weights, multipliers of Z w = r, and the complementarity that is left, as a part of the value."""

    weights: Array
    multiplier: Array
    state: ProgramState
    complementarity: float
    steps: int


class Weighing:
    """The program where M is diagonal in a known basis: minimise sum g / m with m = A w, sum w = 1."""

    def __init__(self, spectra: Array, levels: Array) -> None:
        self.spectra, self.levels = spectra.T.copy(), levels
        self.left, self.right = np.ones((1, len(spectra))), np.ones(1)

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature."""
        moments = self.spectra @ weights
        if moments.min() <= 0.0:
            return None
        slopes = -(self.levels / moments**2) @ self.spectra
        return ProgramState(
            float((self.levels / moments).sum()), slopes, partial(self._factor, moments), moments
        )

    def _factor(self, moments: Array) -> Array:
        result: Array = np.sqrt(2.0 * self.levels / moments**3)[:, None] * self.spectra
        return result


class _Hessian:
    """The matrix Diag(d) + F'F, ready to solve with."""

    def __init__(self, factor: Array, diagonal: Array) -> None:
        self.factor, self.diagonal = factor, diagonal
        self.is_short = len(self.factor) < len(diagonal)
        scaled = self.factor / np.sqrt(diagonal)
        square = scaled @ scaled.T if self.is_short else scaled.T @ scaled
        self.root = np.linalg.cholesky(square + np.eye(len(square)))

    def _once(self, sides: Array) -> Array:
        if not self.is_short:
            root = np.sqrt(self.diagonal)[:, None]
            result: Array = _cholesky_solve(self.root, sides / root) / root
            return result
        scaled = sides / self.diagonal[:, None]
        inner = _cholesky_solve(self.root, self.factor @ scaled)
        whole: Array = scaled - (self.factor.T @ inner) / self.diagonal[:, None]
        return whole

    def times(self, columns: Array) -> Array:
        """Return the matrix times columns."""
        result: Array = self.diagonal[:, None] * columns + self.factor.T @ (self.factor @ columns)
        return result

    def solve(self, sides: Array) -> Array:
        """Return the solution for several right-hand sides, refined once."""
        step = self._once(sides)
        return step + self._once(sides - self.times(step))


def _cholesky_solve(root: NDArray[Any], sides: NDArray[Any]) -> Array:
    from scipy.linalg.lapack import dpotrs

    result: Array = dpotrs(root, sides, lower=True)[0]  # what cho_solve calls, for many small systems
    return result


def minimised(program: SmoothProgram, count: int, accuracy: float) -> Minimised:
    """Return the optimal weights and multipliers.

    Parameters
    ----------
    program : SmoothProgram
    count : int
        Number of weights; equal ones are the start.
    accuracy : float
        Complementarity, as a part of the value, at which to stop.
    """
    weights = np.full(count, 1.0 / count)
    state = program.state(weights)
    if state is None:
        raise np.linalg.LinAlgError("the patterns do not span the types")
    slack = np.full(count, max(float(np.abs(state.slopes).max()), 1e-12))
    multiplier = np.zeros(len(program.right))
    steps = 0
    while steps < STEPS:
        steps += 1
        gap = float(weights @ slack)
        missed = program.right - program.left @ weights
        uneven = state.slopes - program.left.T @ multiplier - slack
        if gap + float(weights @ np.abs(uneven)) <= accuracy * state.value and np.abs(missed).max() < 1e-10:
            break
        newton = _Newton(program, state, weights, slack, multiplier)
        step, length = newton.corrected(missed, ENOUGH * accuracy * state.value)
        moved: ProgramState | None = None
        for _ in range(40):
            moved = program.state(weights + length * step.weights)
            if moved is not None and moved.value <= 50.0 * state.value:
                break
            length /= 2.0
        if moved is None:
            break
        weights, state = weights + length * step.weights, moved
        multiplier = multiplier + length * step.multiplier
        slack = slack + length * step.slack
        if length < 1e-9:
            break
    return Minimised(weights, multiplier, state, float(weights @ slack) / state.value, steps)


@dataclass(frozen=True, eq=False)
class _Step:
    weights: Array
    multiplier: Array
    slack: Array


class _Newton:
    """The Newton system H dw - Z^T dl - ds = ..., Z dw = missed, s dw + w ds = aim - w s at one point."""

    def __init__(
        self, program: SmoothProgram, state: ProgramState, weights: Array, slack: Array, multiplier: Array
    ) -> None:
        self.left, self.weights, self.slack = program.left, weights, slack
        self.hessian = _Hessian(state.factor(), slack / weights)
        self.solved = self.hessian.solve(program.left.T)
        self.schur = program.left @ self.solved
        self.slopes = state.slopes - program.left.T @ multiplier

    def step(self, aims: Array | float, missed: Array) -> _Step:
        """Return the step to w s = aims and Z w = r."""
        rest = aims / self.weights - self.slopes
        solved = self.hessian.solve(rest[:, None])[:, 0]
        step_l = np.asarray(np.linalg.lstsq(self.schur, missed - self.left @ solved, rcond=1e-15)[0])
        step_w = solved + self.solved @ step_l
        step_s = (aims - self.weights * self.slack - self.slack * step_w) / self.weights
        return _Step(step_w, step_l, step_s)

    def reach(self, step: _Step) -> float:
        """Return how much of the step keeps weights and slack positive, 1 at most."""
        return min(_longest(self.weights, step.weights), _longest(self.slack, step.slack))

    def corrected(self, missed: Array, least: float) -> tuple[_Step, float]:
        """Return the step to take and its length; no less complementarity than ``least`` is aimed at."""
        count, now = len(self.weights), float(self.weights @ self.slack)
        first = self.step(0.0, missed)
        length = self.reach(first)
        ahead = (self.weights + length * first.weights) @ (self.slack + length * first.slack)
        aim = max(min(1.0, (float(ahead) / now) ** 3) * now, least) / count
        second = self.step(aim - first.weights * first.slack, missed)
        reached = self.reach(second)
        if reached >= SHORT:
            return second, reached
        plain = self.step(0.1 * now / count, missed)
        longest = self.reach(plain)
        return (plain, longest) if longest > reached else (second, reached)


def _longest(values: Array, step: Array) -> float:
    falling = step < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, BACK * float((-values[falling] / step[falling]).min()))


Edges = NDArray[np.int64]
Direction = tuple[Array, Array, Array, Array]

CORRECTIONS = 3
"""Further right-hand sides a factorisation is used for, as long as they lengthen the step."""

CENTRAL = 10.0
"""Products s y are corrected towards [1 / CENTRAL, CENTRAL] times their target."""

NEAREST = 0.995
"""Part of the way to the boundary that a step goes at most."""

LARGEST_CENTRING = 0.3
"""The part of the mean product that a step aims at is at most this."""


LEAST_PRODUCTS = 1e-200
"""Of the products s y all together: where they are less, all that is left of the gap is rounding."""

RIDGE = 1.0 + 1e-10
"""The diagonal of the scaled matrices: near the optimum a part of 1e-10 is what rounding takes from them."""


class CoupledCones:
    """The state of the method: primal and dual iterates, and the best bound.

    Parameters
    ----------
    weights : (n, m) array
        The coefficients w; of the order of 1 at most (scale them).
    edges : (Q, 2) int array
        Pairs i < j, each once.
    factors : (Q,) array
        a in [0, 1), for the bound not above the true factor.
    start : (n, m) array, optional
        Columns strictly inside the cone whose rows sum to one; all entries equal by default.

    Attributes
    ----------
    columns : (n, m) array
        The primal iterate.
    bound : float
        The best upper bound of the maximum so far, rounding errors included.

    Examples
    --------
    >>> cones = CoupledCones(np.eye(2) / 2, np.array([[0, 1]]), np.array([0.5]))
    >>> while cones.bound - cones.value > 1e-7 and cones.step():
    ...     pass
    >>> round(cones.value, 6), round(cones.bound, 6)
    (0.666667, 0.666667)
    """

    def __init__(self, weights: Array, edges: Edges, factors: Array, start: Array | None = None) -> None:
        rows, columns = weights.shape
        self.weights = weights
        self.columns = np.full((rows, columns), 1.0 / columns) if start is None else start.copy()
        self.edges, self.factors = edges, factors
        self._pair_up()
        self.slack: Array = self._matrix @ self.columns
        mean = max(float(np.abs(weights * self.columns).sum()), 1e-12) / self.slack.size
        self.multipliers = mean / self.slack
        self.prices: Array = (weights + self._transpose @ self.multipliers).mean(axis=1)
        self._inverses = np.empty((columns, rows, rows))
        self.bound = self._proven_bound()

    def relax(self, factors: Array) -> None:
        """Go on in larger cones: with factors none of which is larger. The bound starts again."""
        self.factors = factors
        self._pair_up()
        self.slack = np.maximum(self._matrix @ self.columns, self.slack)
        self.bound = self._proven_bound()

    def moved_to(self, edges: Edges, factors: Array) -> CoupledCones:
        """Return the cones of other edges with these columns, which lie inside; the bound starts again.

        Multipliers of edges that both have stay; the others give their products what the mean was.
        """
        other = CoupledCones(self.weights, edges, factors, self.columns)
        other.prices = self.prices
        target = self._mean() * self.slack.size / other.slack.size
        np.divide(target, other.slack, out=other.multipliers)
        rows = len(self.columns)
        _, now, before = np.intersect1d(
            edges @ (rows, 1), self.edges @ (rows, 1), assume_unique=True, return_indices=True
        )
        for mine, theirs in ((now, before), (now + len(edges), before + len(self.edges))):
            other.multipliers[mine] = self.multipliers[theirs]
        other.bound = other._proven_bound()
        return other

    def bound_with(self, factors: Array) -> float:
        """Return the bound that the present multipliers prove for other factors."""
        other = copy(self)
        other.factors = factors
        other._pair_up()
        return other._proven_bound()

    @property
    def value(self) -> float:
        """The objective of the primal iterate."""
        return float((self.weights * self.columns).sum())

    def _pair_up(self) -> None:
        """Set up the rows k[low] - a k[high] >= 0, both directions of every edge one after the other."""
        from scipy.sparse import csr_array

        first, second = self.edges.T
        self._low = np.concatenate([second, first])
        self._high = np.concatenate([first, second])
        both = np.concatenate([self.factors, self.factors])
        count = len(both)
        numbers = np.arange(count)
        matrix: csr_array = csr_array(
            (
                np.concatenate([np.ones(count), -both]),
                (np.concatenate([numbers, numbers]), np.concatenate([self._low, self._high])),
            ),
            shape=(count, len(self.columns)),
        )
        self._matrix = matrix
        self._transpose = matrix.T.tocsr()
        self._magnitudes = abs(self._transpose)
        self._squares: csr_array = matrix.power(2).T.tocsr()
        self._longest = int(np.bincount(self._transpose.nonzero()[0]).max(initial=0))

    def _mean(self) -> float:
        return float((self.slack * self.multipliers).mean())

    def _proven_bound(self) -> float:
        """Return sum_x max_z (w + A'y), each entry enlarged by what double precision may have lost."""
        unit = 2.0**-52
        reduced = self.weights + self._transpose @ self.multipliers
        size = np.abs(self.weights) + self._magnitudes @ self.multipliers
        best = (reduced + (self._longest + 4) * unit * size).max(axis=1)
        return float(best.sum() + (len(best) + 4) * unit * np.abs(best).sum())

    # One step

    def step(self) -> bool:
        """Make one step of the method; False where rounding does not let it go on."""
        mean = self._mean()
        if mean * self.slack.size < LEAST_PRODUCTS or not self._factorise():
            return False
        residuals = (
            self.weights - self.prices[:, None] + self._transpose @ self.multipliers,
            1.0 - self.columns.sum(axis=1),
            self._matrix @ self.columns - self.slack,
        )
        complementarity = self.slack * self.multipliers
        affine = self._direction(-complementarity, residuals)
        forward, back = self._lengths(affine)
        reached = self._products(affine, forward, back)
        target = mean * min(LARGEST_CENTRING, max(0.0, float(reached.mean()) / mean) ** 3)
        aims = np.subtract(target, complementarity, out=complementarity)
        aims -= np.multiply(affine[2], affine[3], out=reached)
        chosen = self._direction(aims, residuals)
        forward, back = self._lengths(chosen)
        for _ in range(CORRECTIONS):
            aimed = min(1.0, 0.1 + 1.08 * forward), min(1.0, 0.1 + 1.08 * back)
            products = self._products(chosen, *aimed)
            correction = np.clip(products, target / CENTRAL, target * CENTRAL)
            correction -= products
            more = self._direction(np.maximum(correction, -CENTRAL * target, out=correction))
            tried = tuple(np.add(one, other, out=other) for one, other in zip(chosen, more, strict=True))
            corrected = tried[0], tried[1], tried[2], tried[3]
            lengths = self._lengths(corrected)
            if sum(lengths) < forward + back + 0.01:
                break
            chosen, (forward, back) = corrected, lengths
        return self._move(chosen, forward, back)

    def _move(self, direction: Direction, forward: float, back: float) -> bool:
        if not np.isfinite(forward + back) or max(forward, back) < 1e-4:
            return False
        prices, columns, slack, multipliers = direction
        self.columns = self.columns + forward * columns
        self.slack = self.slack + forward * slack
        self.prices = self.prices + back * prices
        self.multipliers = self.multipliers + back * multipliers
        self.bound = min(self.bound, self._proven_bound())
        return True

    def _lengths(self, direction: Direction) -> tuple[float, float]:
        """Return how far slacks and multipliers may go: 1 at most, and never to the boundary."""
        return (
            NEAREST / max(NEAREST, -float((direction[2] / self.slack).min())),
            NEAREST / max(NEAREST, -float((direction[3] / self.multipliers).min())),
        )

    def _products(self, direction: Direction, forward: float, back: float) -> Array:
        """Return the products of slacks and multipliers after steps of these lengths."""
        slack, multipliers = forward * direction[2], back * direction[3]
        slack += self.slack
        multipliers += self.multipliers
        slack *= multipliers
        return slack

    def _direction(self, products: Array, residuals: tuple[Array, Array, Array] | None = None) -> Direction:
        """Return the changes of prices, columns, slacks and multipliers that meet the right-hand sides.

        Without residuals these are zeros.
        """
        from scipy.linalg import lapack

        if residuals is None:
            rhs = self._transpose @ (products / self.slack)
        else:
            moved = self.multipliers * residuals[2]
            np.subtract(products, moved, out=moved)
            moved /= self.slack
            rhs = self._transpose @ moved + residuals[0]
        free = np.einsum("zij,zj->iz", self._inverses, np.ascontiguousarray(rhs.T))
        sums = free.sum(axis=1)
        solution, _ = lapack.dpotrs(
            self._total, self._scale * (sums if residuals is None else sums - residuals[1]), lower=1
        )
        prices = self._scale * solution
        columns = free - np.einsum("zij,j->iz", self._inverses, prices)
        slack = self._matrix @ columns
        if residuals is not None:
            slack += residuals[2]
        change = self.multipliers * slack
        np.subtract(products, change, out=change)
        change /= self.slack
        return prices, columns, slack, change

    def _factorise(self) -> bool:
        """Invert H_z = A'(Y/S)A of every column, scaled to a unit diagonal, and factorise their sum."""
        from scipy.linalg import lapack

        ratios = self.multipliers / self.slack
        diagonal = self._squares @ ratios
        size = len(self.edges)
        off = np.ascontiguousarray((-self.factors[:, None] * (ratios[:size] + ratios[size:])).T)
        scales = np.ascontiguousarray((1.0 / np.sqrt(diagonal)).T)
        first, second = self.edges.T
        rows = len(self.columns)
        places, corners = first * rows + second, np.arange(rows)
        total = np.zeros((rows, rows))
        for scale, entries, inverse in zip(scales, off, self._inverses, strict=True):
            matrix = np.zeros((rows, rows))
            matrix.ravel()[places] = entries * (scale[first] * scale[second])
            matrix[corners, corners] = RIDGE
            factor, failed = lapack.dpotrf(matrix.T, lower=1)  # the transpose is in LAPACK's order
            if failed:
                return False
            lower, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
            lower *= scale
            lower *= scale[:, None]
            np.add(lower, lower.T, out=inverse)
            inverse[corners, corners] = lower[corners, corners]
            total += inverse
        if not np.isfinite(total).all():
            return False
        self._scale = 1.0 / np.sqrt(total.diagonal())
        self._total, failed = lapack.dpotrf(total * self._scale * self._scale[:, None], lower=1)
        return not failed
