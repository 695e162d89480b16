"""The spectral dual: a lower bound for any number of types, by quasi-Newton ascent on closed-form gradients.

Parameters nu (sum 0), delta in R^n and alpha_uw >= 0 (u < w). With l = -(E+1) delta + alpha 1,
c0 = E sum delta - sum alpha > 0 and

    K0 = (nu pi' + pi nu')/2 + Diag(delta) - alpha/2 - l l'/(4 c0),      s = -1 / (pi' K0^-1 pi),

the matrix K0 + s pi pi' is positive semidefinite and the bound is |W~ K0^(1/2)|_*^2 / s - pi.diag(G) (nuclear
norm). What is maximised is its logarithm; what is proven is
:mod:`mechdesign.families.workload.audit.workload_bound`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechdesign.families.workload.value import Array
from mechdesign.solvers.quasi_newton import descend

REFUSED = 1e6
"""The value of a point outside of the domain: the line search turns back."""

RIDGE = 1e-6
"""What is added to a singular Gram matrix, as a part of its mean eigenvalue; the check uses the true one."""

FLAT = 1e-9
"""Eigenvalues of the Gram matrix below this part of the largest count as 0."""

PAIRS_FROM = 1.2
"""From this epsilon on alpha raises the bound by more than a part in 1e6."""

MOST_PAIRED = 160
"""Types up to which alpha, n^2/2 unknowns, is optimised."""


@dataclass(frozen=True, eq=False)
class Dual:
    """A point of the dual: nu, delta and alpha (None where it is 0)."""

    nu: Array
    delta: Array
    alpha: Array | None = None

    def stretched(self, size: int) -> Dual:
        """Return the same profile over more types, by the relative place of a type."""
        before = len(self.nu)
        place = (np.arange(size) + 0.5) / size * before - 0.5
        ratio = np.interp(place, np.arange(before), self.nu / self.delta)
        delta = np.interp(place, np.arange(before), self.delta)
        return Dual(ratio * delta - np.mean(ratio * delta), delta)


class SpectralDual:
    """The dual of one workload, population and epsilon.

    Parameters
    ----------
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    epsilon : float
    pairs : bool
        Whether alpha is optimised as well.
    """

    def __init__(self, centered: Array, population: Array, epsilon: float, pairs: bool) -> None:
        self.centered, self.population = centered, population
        self.power, self.pairs = math.exp(epsilon), pairs
        size = len(population)
        values, vectors = np.linalg.eigh(centered)
        kept = values > FLAT * values[-1]
        if int(kept.sum()) < size - 1:
            outside = np.eye(size) - population[:, None]
            raised = centered + RIDGE * np.trace(centered) / size * (outside.T @ outside)
            values, vectors = np.linalg.eigh(raised)
            kept = values > FLAT * RIDGE * values[-1]
            if int(kept.sum()) > size - 1:  # the direction of pi
                kept = np.arange(size) > 0
        self.size = float(values[kept].sum())
        self.root = np.sqrt(values[kept] / self.size)[:, None] * vectors[:, kept].T
        self.upper = np.triu_indices(size, 1)

    def start(self) -> Dual:
        """Return the point of the trace bound."""
        size = len(self.population)
        alpha = np.zeros((size, size)) if self.pairs else None
        return Dual(np.zeros(size), self.population * size, alpha)

    def improved(self, dual: Dual, iterations: int = 300, tolerance: float = 1e-11) -> Dual:
        """Return a better point."""
        start = [dual.nu, dual.delta]
        low = np.full(2 * len(dual.nu), -np.inf)
        if self.pairs:
            alpha = np.zeros_like(self.centered) if dual.alpha is None else dual.alpha
            start.append(alpha[self.upper])
            low = np.concatenate([low, np.zeros(len(self.upper[0]))])
        found = descend(
            self._lowered, np.concatenate(start), low if self.pairs else None, iterations, tolerance
        )
        return self._read(found)

    def _read(self, point: Array) -> Dual:
        size = len(self.population)
        nu, delta = point[:size] - point[:size].mean(), point[size : 2 * size]
        if not self.pairs:
            return Dual(nu, delta)
        alpha = np.zeros((size, size))
        alpha[self.upper] = point[2 * size :]
        return Dual(nu, delta, alpha + alpha.T)

    def _form(self, dual: Dual) -> tuple[Array, Array, float]:
        linear = -(self.power + 1.0) * dual.delta
        constant = self.power * float(dual.delta.sum())
        form = np.diag(dual.delta)
        cross = np.outer(dual.nu, self.population) / 2.0
        form = form + cross + cross.T
        if dual.alpha is not None:
            linear = linear + dual.alpha.sum(axis=1)
            constant -= float(dual.alpha.sum()) / 2.0
            form = form - dual.alpha / 2.0
        return form, linear, constant

    def _lowered(self, point: Array) -> tuple[float, Array]:
        """Return minus the logarithm of the bound, and its gradient."""
        dual = self._read(point)
        form, linear, constant = self._form(dual)
        refused = REFUSED, np.zeros_like(point)
        if constant <= 0.0:
            return refused
        form = form - np.outer(linear, linear) / (4.0 * constant)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        if levels[0] <= 0.0:
            return refused
        try:
            slope = np.linalg.solve(form, self.population)
        except np.linalg.LinAlgError:
            return refused
        share = float(self.population @ slope)
        if share >= 0.0:
            return refused
        nuclear, scale = float(np.sqrt(levels).sum()), -1.0 / share
        turned = turn.T @ self.root
        gamma = (turned / np.sqrt(levels)[:, None]).T @ turned / nuclear + scale * np.outer(slope, slope)
        bent = gamma @ linear
        curved = float(linear @ bent) / (4.0 * constant**2)
        by_nu = gamma @ self.population
        by_delta = np.diag(gamma) + (self.power + 1.0) * bent / (2.0 * constant) + self.power * curved
        parts = [by_nu - by_nu.mean(), by_delta]
        if self.pairs:
            first, last = self.upper
            parts.append(-gamma[first, last] - (bent[first] + bent[last]) / (2.0 * constant) - curved)
        return -(2.0 * math.log(nuclear) - math.log(scale)), -np.concatenate(parts)

    def multipliers(self, dual: Dual) -> tuple[Array, Array]:
        """Return X and mu of this point: B = W~ X proves its bound."""
        raw, linear, constant = self._form(dual)
        form = raw - np.outer(linear, linear) / (4.0 * constant)
        slope = np.linalg.solve(form, self.population)
        scale = -1.0 / float(self.population @ slope)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        levels = np.maximum(levels, 1e-300)
        turned = turn.T @ self.root
        whole = form + scale * np.outer(self.population, self.population)
        # B = T^(-1/2) R K with R'R = G / tr G; R X = T^(-1/2) R K for X = R'(R R')^-1 T^(-1/2) R K
        inverse = self.root.T @ np.linalg.inv(self.root @ self.root.T)
        matrix = inverse @ (turn / np.sqrt(levels)) @ turned @ whole / math.sqrt(self.size)
        return matrix, dual.nu + scale * self.population

    def moments(self, dual: Dual) -> tuple[float, Array, Array]:
        """Return mass, first and second moments of the distribution of patterns that the dual asks for."""
        form, linear, constant = self._form(dual)
        form = form - np.outer(linear, linear) / (4.0 * constant)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        slope = np.linalg.solve(form, self.population)
        scale = -1.0 / float(self.population @ slope)
        turned = turn.T @ self.root
        gamma = (turned / np.sqrt(np.maximum(levels, 1e-300))[:, None]).T @ turned
        gamma = gamma / float(np.sqrt(np.maximum(levels, 0.0)).sum()) + scale * np.outer(slope, slope)
        moment = gamma / float(np.mean(gamma @ self.population))
        first = -moment @ linear / (2.0 * constant)
        return float(-first @ linear / (2.0 * constant)), first, moment
