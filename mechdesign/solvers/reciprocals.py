"""Minimise a sum of c_A / (B w)_A over the simplex, with a proven bound: multiplicative steps, then Newton's.

For every w with finite errors and every u of the simplex, f(u) >= f(w)^2 / max_v p_v(w), where p = -grad f.
Proof: by Cauchy and Schwarz, f(w)^2 = (sum sqrt(c/I(u)) sqrt(c I(u))/I(w))^2 <= f(u) sum_A c I(u)/I(w)^2, and
the last sum is sum_v u_v p_v <= max p. There is equality at the optimum, where p_v = f on the support.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

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
    information : (A, V) sparse array
        1 / (error of one report); nothing where a way to ask does not tell.
    """

    weights: Array
    information: csr_array

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
    def transposed(self) -> csr_array:
        """The array the other way round, row by row."""
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
        found = _newton(terms, shares)
        best = max(best, error_lower_bound(terms, found))
        if terms.mean(found) <= value:
            shares, value = found, terms.mean(found)
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
        dense = matrix.multiply(w[None, :]).toarray()
        system = (dense * curvature[:, None]).T @ dense
        system[np.diag_indices(columns)] += barrier
        solved: Array = w * np.linalg.solve(system, w * gradient)
        return solved
    spread = w * w / barrier  # Woodbury's identity
    scaled = matrix.copy()
    scaled.data *= spread[scaled.indices]
    system = (scaled @ transposed).toarray()
    system[np.diag_indices(rows)] += 1.0 / curvature
    first = spread * gradient
    result: Array = first - spread * (transposed @ np.linalg.solve(system, matrix @ first))
    return result


def _length(
    matrix: csr_array, weights: Array, w: Array, barrier: float, step: Array, decrement: float
) -> float:
    """Return a step length that stays inside and descends enough; 0 where rounding leaves none."""

    def merit(point: Array) -> float:
        return float((weights / (matrix @ point)).sum() + point.sum() - barrier * np.log(point).sum())

    length = 1.0
    if (step < 0).any():
        length = min(1.0, 0.95 * float((-w[step < 0] / step[step < 0]).min()))
    before = merit(w)
    while length > 1e-10:
        if merit(w + length * step) <= before - 0.1 * length * decrement:
            return length
        length *= 0.5
    return 0.0
