r"""Linear programs whose columns lie in one cone and sum to one: an interior point method made for them.

::

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

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]
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
        if not self._factorise():
            return False
        residuals = (
            self.weights - self.prices[:, None] + self._transpose @ self.multipliers,
            1.0 - self.columns.sum(axis=1),
            self._matrix @ self.columns - self.slack,
        )
        nothing = (np.zeros_like(residuals[0]), np.zeros_like(residuals[1]), np.zeros_like(residuals[2]))
        mean = self._mean()
        affine = self._direction(-self.slack * self.multipliers, residuals)
        forward, back = self._lengths(affine)
        reached = (self.slack + forward * affine[2]) * (self.multipliers + back * affine[3])
        target = mean * min(LARGEST_CENTRING, max(0.0, float(reached.mean()) / mean) ** 3)
        chosen = self._direction(target - self.slack * self.multipliers - affine[2] * affine[3], residuals)
        forward, back = self._lengths(chosen)
        for _ in range(CORRECTIONS):
            aimed = min(1.0, 0.1 + 1.08 * forward), min(1.0, 0.1 + 1.08 * back)
            products = (self.slack + aimed[0] * chosen[2]) * (self.multipliers + aimed[1] * chosen[3])
            wanted = np.clip(products, target / CENTRAL, target * CENTRAL) - products
            more = self._direction(np.maximum(wanted, -CENTRAL * target), nothing)
            tried = tuple(one + other for one, other in zip(chosen, more, strict=True))
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
            NEAREST / max(NEAREST, float((-direction[2] / self.slack).max())),
            NEAREST / max(NEAREST, float((-direction[3] / self.multipliers).max())),
        )

    def _direction(self, products: Array, residuals: tuple[Array, Array, Array]) -> Direction:
        """Return the changes of prices, columns, slacks and multipliers that meet the right-hand sides."""
        from scipy.linalg import lapack

        dual, sums, primal = residuals
        rhs = self._transpose @ ((products - self.multipliers * primal) / self.slack) + dual
        free = np.einsum("zij,zj->iz", self._inverses, np.ascontiguousarray(rhs.T))
        solution, _ = lapack.dpotrs(self._total, self._scale * (free.sum(axis=1) - sums), lower=1)
        prices = self._scale * solution
        columns = free - np.einsum("zij,j->iz", self._inverses, prices)
        slack = self._matrix @ columns + primal
        return prices, columns, slack, (products - self.multipliers * slack) / self.slack

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
            matrix[corners, corners] = 1.0
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
