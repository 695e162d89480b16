"""Pricing: patterns v with |Bv|^2 > (mu.v)(pi.v) at some dual numbers, by exchange of one type at a time.

What is found enters the master program; what is not found proves nothing. The bound is checked elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.workload_bound import WorkloadBound, patterns_from
from mechdesign.mechanisms.workload.value import Array, Sets, columns_of

FLIPS = 60
"""Exchanges of one start, at most."""

CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Prices:
    """Dual numbers X and mu, scaled so that tr X G = 1.mu.

    Parameters
    ----------
    matrix : (n, n) array
    multiplier : (n,) array
    centered : (n, n) array
        The centered Gram matrix G.
    population : (n,) array
    power : float
        E = e^epsilon.
    """

    matrix: Array
    multiplier: Array
    centered: Array
    population: Array
    power: float

    @classmethod
    def of(cls, matrix: Array, multiplier: Array, centered: Array, population: Array, power: float) -> Prices:
        """Return the numbers scaled so that tr X G = 1.mu, which leaves the bound as it is."""
        factor = float(np.sum(matrix * centered)) / float(multiplier.sum())
        return cls(matrix * factor, multiplier * factor**2, centered, population, power)

    def between(self, bound: WorkloadBound, share: float) -> Prices:
        """Return the numbers between these and those of a bound."""
        other = Prices.of(bound.matrix, bound.multiplier, self.centered, self.population, self.power)
        matrix = (1.0 - share) * self.matrix + share * other.matrix
        multiplier = (1.0 - share) * self.multiplier + share * other.multiplier
        return Prices(matrix, multiplier, self.centered, self.population, self.power)

    @property
    def form(self) -> Array:
        """The matrix B'B."""
        found: Array = self.matrix.T @ self.centered @ self.matrix
        return (found + found.T) / 2.0

    def ratios(self, sets: Sets) -> Array:
        """Return |Bv|^2 / ((mu.v)(pi.v)) for each set."""
        columns = columns_of(sets, self.power)
        top = np.einsum("kn,kn->k", columns @ self.form, columns)
        found: Array = top / np.maximum((columns @ self.multiplier) * (columns @ self.population), 1e-300)
        return found

    def climbed(self, sets: Sets) -> Sets:
        """Return local maxima of |Bv|^2 - (mu.v)(pi.v) under the exchange of one type, one per start."""
        form, mu, pi = self.form, self.multiplier, self.population
        step = self.power - 1.0
        sets = sets.copy()
        active = np.arange(len(sets))
        columns = columns_of(sets, self.power)
        applied, masses, shares = columns @ form, columns @ mu, columns @ pi
        fixed = step**2 * (np.diag(form) - mu * pi)
        for _ in range(FLIPS):
            signs = np.where(sets[active], -step, step)
            linear = 2.0 * applied[active] - shares[active, None] * mu - masses[active, None] * pi
            gains = signs * linear + fixed
            best = gains.argmax(axis=1)
            rows = np.arange(len(active))
            better = gains[rows, best] > 1e-12 * np.abs(masses[active] * shares[active])
            if not better.any():
                break
            active, best, moved = active[better], best[better], signs[rows, best][better]
            sets[active, best] = ~sets[active, best]
            applied[active] += moved[:, None] * form[best]
            masses[active] += moved * mu[best]
            shares[active] += moved * pi[best]
        return sets

    def worst_of_all(self, count: int) -> tuple[Sets, float]:
        """Return the patterns with the largest ratios among all of them, and the largest ratio."""
        size = len(self.population)
        kept: list[Sets] = []
        tops: list[Array] = []
        for first in range(0, 1 << size, CHUNK):
            sets = patterns_from(first, min(first + CHUNK, 1 << size), size)
            found = self.ratios(sets)
            chosen = np.argsort(-found)[:count]
            kept.append(sets[chosen])
            tops.append(found[chosen])
        together, values = np.vstack(kept), np.concatenate(tops)
        order = np.argsort(-values)[:count]
        return together[order], float(values[order[0]])


def shaken(sets: Sets, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the sets with this share of their entries flipped at random."""
    found: Sets = sets ^ (rng.random(sets.shape) < share)
    return found
