"""The master program of patterns: their best weights, and what epsilon is worth at these.

**Weights, by a primal-dual interior-point method.**
minimise  tr(G M(w)^-1)   subject to  w >= 0,  sum w_y z_y = 1,      M(w) = sum w_y z_y z_y^T

The objective depends on w through the D entries of M only, so every Newton system of K unknowns is reduced to
one of D by Woodbury's identity. Where reversing the types leaves G as it is, patterns stand for themselves
and their mirror image, M is block-diagonal over even and odd vectors, and D is halved.

**What epsilon is worth for weighed patterns, from what the patterns in use are priced at.**
**Statement.** Let the patterns v_s in {1, E}^n have the weights c_s with sum c_s v_s = 1, and let M, B = F~
M^-1 be as in :mod:`mechdesign.families.workload.workload_bound`. With pi, c, B and mu kept,

    L(E) = 2 tr(B F~') - pi.diag(G) - sum_s c_s (|B v_s|^2 / (pi.v_s) - mu.v_s) - 1.mu

is the Lagrangian, and the optimum has the derivative L'(E) where it has one.

*Proof sketch.* tr(F~ M^-1 F~') is the maximum over B of 2 tr(B F~') - tr(B M B'), and M = sum c_s v_s
v_s'/(pi.v_s). So the optimum is a saddle point of L: least over c >= 0, largest over B and mu. No set of
patterns depends on E, so E moves L alone (envelope theorem). For the worst type the optimum is largest over
pi as well.

At an optimum a pattern in use is worth what it costs, |B v_s|^2 = (mu.v_s)(pi.v_s), with equality in the
inequality that proves the bound. The mu that comes closest to all these equations is the dual solution
where the patterns in use determine one, so the channel determines the multipliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mechdesign.families.workload.patterns import (
    Array,
    OrbitValue,
    Sets,
    Translations,
    columns_of,
    pseudo_inverse,
)
from mechdesign.solvers.interior import ProgramState, minimised

CLOSE = 1e-11
"""Complementarity, as a part of the objective, at which the method stops."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Blocks of orthonormal columns in which the moment matrix is block-diagonal."""

    blocks: tuple[Array, ...]

    @classmethod
    def of(cls, centered: Array, population: Array) -> Basis:
        """Return even and odd vectors where reversal is a symmetry, else a single block."""
        size = len(population)
        tolerance = 1e-12 * float(np.abs(centered).max())
        mirrored = np.abs(centered - centered[::-1, ::-1]).max() <= tolerance
        if not mirrored or np.abs(population - population[::-1]).max() > 1e-15:
            return cls((np.eye(size),))
        half = size // 2
        even, odd = np.zeros((size, size - half)), np.zeros((size, half))
        for place in range(half):
            even[[place, -1 - place], place] = np.sqrt(0.5)
            odd[[place, -1 - place], place] = (np.sqrt(0.5), -np.sqrt(0.5))
        if size % 2:
            even[half, half] = 1.0
        return cls((even, odd))

    @property
    def is_mirrored(self) -> bool:
        """Whether a pattern stands for its mirror image as well."""
        return len(self.blocks) == 2

    def moment(self, parts: list[Array]) -> Array:
        """Return the matrix with these blocks."""
        whole = sum(
            (block @ part @ block.T for block, part in zip(self.blocks, parts, strict=True)),
            np.zeros((len(self.blocks[0]),) * 2),
        )
        return np.asarray(whole)


@dataclass(frozen=True, eq=False)
class Weighted:
    """The weights w of the columns, with the multipliers mu of sum w z = 1 and the inverse of M."""

    weights: Array
    multiplier: Array
    inverse: Array
    value: float
    complementarity: float
    steps: int


class Master:
    """The program for fixed columns.

    Parameters
    ----------
    columns : (K, n) array
        Patterns z with pi.z = 1.
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    basis : Basis
    """

    def __init__(self, columns: Array, centered: Array, population: Array, basis: Basis) -> None:
        self.basis, self.population = basis, population
        self.parts = [columns @ block for block in basis.blocks]
        self.grams = [block.T @ centered @ block for block in basis.blocks]
        even = basis.blocks[0]
        self.left = self.parts[0].T  # the constraint, in coordinates of the even block
        self.right = even.T @ np.ones(len(population))

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature at these weights; None where M is singular."""
        value, slopes = 0.0, np.zeros(len(weights))
        inverses: list[Array] = []
        turned: list[tuple[Array, Array]] = []
        for part, gram in zip(self.parts, self.grams, strict=True):
            moment = (part * weights[:, None]).T @ part
            try:
                factor = np.linalg.cholesky(moment)
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))  # M^-1 = root^T root
            levels, turn = np.linalg.eigh(root @ gram @ root.T)
            inverse = np.asarray(root.T @ root)
            inverses.append(inverse)
            turned.append((np.asarray(part @ root.T @ turn), levels))
            value += float(np.sum(gram * inverse))
            slopes -= np.einsum("kn,kn->k", part @ (inverse @ gram @ inverse), part)
        return ProgramState(value, slopes, partial(_factor, turned), inverses)

    def best_weights(self, accuracy: float = CLOSE) -> Weighted:
        """Return the optimal weights and multipliers."""
        solution = minimised(self, len(self.parts[0]), accuracy)
        whole = self.basis.moment(solution.state.more)
        even = self.basis.blocks[0]
        return Weighted(
            solution.weights,
            -(even @ solution.multiplier),
            whole,
            solution.state.value,
            solution.complementarity,
            solution.steps,
        )


def _factor(turned: list[tuple[Array, Array]]) -> Array:
    """Return F with F'F the Hessian of tr(G M^-1) in the weights.

    With M^-1 = T T' and M^-1 G M^-1 = T Diag(l) T' the entry of two columns with the coordinates a = T'z and
    b is sum over i <= j of (l_i + l_j) c_ij^2 a_i a_j b_i b_j, c_ij^2 = 2 off the diagonal.
    """
    factors = []
    for part, levels in turned:
        first, last = np.triu_indices(len(levels))
        scale = np.sqrt(np.maximum(levels[first] + levels[last], 0.0))
        scale *= np.where(first == last, 1.0, np.sqrt(2.0))
        factors.append((part[:, first] * part[:, last] * scale).T)
    return np.vstack(factors)


@dataclass(frozen=True, eq=False)
class PatternWorth:
    """Patterns with their best weights, and the multipliers that belong to them.

    Parameters
    ----------
    centered : (n, n) array
        The Gram matrix G~ of the queries less their averages over the population.
    population : (n,) array
    epsilon : float
        That the weights are best for.
    sets : (K, n) array of bool
    amounts : (K,) array
        The weights c; with a group those of every translate.
    group : Translations, optional
        Each pattern stands for all its translates.

    Examples
    --------
    >>> rows = np.array([[0.5, -0.5]])  # the share of one of two types, by randomized response
    >>> response = PatternWorth(rows.T @ rows, np.full(2, 0.5), 1.0, np.eye(2, dtype=bool),
    ...                         np.full(2, 1.0 / (1.0 + math.e)))
    >>> round(response.lagrangian(1.0), 9)  # E / (E - 1)^2
    0.920673595
    >>> slope = (response.lagrangian(1.001) - response.lagrangian(0.999)) / 0.002
    >>> round(slope, 4), round(-math.e * (math.e + 1) / (math.e - 1) ** 3, 4)
    (-1.9923, -1.9923)
    """

    centered: Array
    population: Array
    epsilon: float
    sets: Sets
    amounts: Array
    group: Translations | None = None

    @cached_property
    def form(self) -> Array:
        """B'B."""
        columns = self._columns(self.epsilon)
        masses = columns @ self.population
        if self.group is None:
            moment = (columns * (self.amounts / masses)[:, None]).T @ columns
            inverse = pseudo_inverse((moment + moment.T) / 2.0)
        else:
            inverse = OrbitValue(self.group, columns * self.amounts[:, None]).inverse
        form: Array = inverse @ self.centered @ inverse
        return form

    @cached_property
    def multiplier(self) -> Array:
        """The prices mu of the equations sum c_s v_s = 1."""
        columns = self._columns(self.epsilon)
        squares, masses = self._earned(columns)
        if self.group is not None:  # every type has the same price, and all prices add up to the value
            return np.full(len(self.population), float(self.amounts @ (squares / masses)))
        roots = np.sqrt(self.amounts / masses)
        multiplier = np.linalg.lstsq(columns * roots[:, None], roots * squares / masses, rcond=1e-9)[0]
        return np.asarray(multiplier, dtype=np.float64)

    def _columns(self, epsilon: float) -> Array:
        return columns_of(self.sets, math.exp(epsilon))

    def _earned(self, columns: Array) -> tuple[Array, Array]:
        """Return |Bv|^2 and pi.v of each pattern."""
        return np.einsum("kn,kn->k", columns @ self.form, columns), columns @ self.population

    @cached_property
    def _each(self) -> Array:
        """How often each pattern counts."""
        copies = 1 if self.group is None else self.group.size
        weights: Array = copies * self.amounts
        return weights

    def lagrangian(self, epsilon: float) -> float:
        """Return the Lagrangian at another epsilon."""
        earned, _ = self._totals(self.epsilon)
        now, paid = self._totals(epsilon)
        own = float(self.population @ np.diag(self.centered))
        return 2.0 * earned - own - now + paid - float(self.multiplier.sum())

    def _totals(self, epsilon: float) -> tuple[float, float]:
        """Return the worth and the cost of all patterns."""
        columns = self._columns(epsilon)
        squares, masses = self._earned(columns)
        return float(self._each @ (squares / masses)), float(self._each @ (columns @ self.multiplier))

    def by_type(self) -> Array:
        """Return by how much a larger e^epsilon for each type alone lowers the error, shape (n,).

        Per unit of e^epsilon for all types the error falls by the sum.
        """
        columns = self._columns(self.epsilon)
        squares, masses = self._earned(columns)
        slopes = (2.0 * columns @ self.form - (squares / masses)[:, None] * self.population) / masses[:, None]
        worth: Array = self._each @ np.where(self.sets, slopes - self.multiplier, 0.0)
        return worth
