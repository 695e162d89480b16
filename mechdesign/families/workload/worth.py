r"""What epsilon is worth for weighed patterns, from what the patterns in use are priced at.

**Statement.** Let the patterns v_s in {1, E}^n have the weights c_s with sum c_s v_s = 1, and let M, B = F~
M^-1 be as in :mod:`mechdesign.families.workload.audit.workload_bound`. With pi, c, B and mu kept,

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
from functools import cached_property

import numpy as np

from mechdesign.families.workload.orbits import OrbitValue, Translations
from mechdesign.families.workload.value import Array, Sets, columns_of, pseudo_inverse


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
        found: Array = inverse @ self.centered @ inverse
        return found

    @cached_property
    def multiplier(self) -> Array:
        """The prices mu of the equations sum c_s v_s = 1."""
        columns = self._columns(self.epsilon)
        squares, masses = self._earned(columns)
        if self.group is not None:  # every type has the same price, and all prices add up to the value
            return np.full(len(self.population), float(self.amounts @ (squares / masses)))
        roots = np.sqrt(self.amounts / masses)
        found = np.linalg.lstsq(columns * roots[:, None], roots * squares / masses, rcond=1e-9)[0]
        return np.asarray(found, dtype=np.float64)

    def _columns(self, epsilon: float) -> Array:
        return columns_of(self.sets, math.exp(epsilon))

    def _earned(self, columns: Array) -> tuple[Array, Array]:
        """Return |Bv|^2 and pi.v of each pattern."""
        return np.einsum("kn,kn->k", columns @ self.form, columns), columns @ self.population

    @cached_property
    def _each(self) -> Array:
        """How often each pattern counts."""
        copies = 1 if self.group is None else self.group.size
        found: Array = copies * self.amounts
        return found

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
        found: Array = self._each @ np.where(self.sets, slopes - self.multiplier, 0.0)
        return found
