"""Pricing: patterns v with |Bv|^2 > (mu.v)(pi.v) at some dual numbers, by exchange of one type at a time.

What is found enters the master program; what is not found proves nothing. The bound is checked elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.audit.workload_bound import WorkloadBound, patterns_from
from mechdesign.families.workload.value import Array, Sets, columns_of

JUMPS = 20
"""Steps to the maximum of the tangent, at most."""

FLIPS = 60
"""Exchanges of one start, at most."""

CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Dual numbers B and mu, scaled so that tr B W~' = 1.mu.

    Parameters
    ----------
    directions : (r, n) array
        B.
    multiplier : (n,) array
    rows : (r, n) array
        The centered queries W~.
    population : (n,) array
    power : float
        E = e^epsilon.
    """

    directions: Array
    multiplier: Array
    rows: Array
    population: Array
    power: float

    @classmethod
    def of(cls, bound: WorkloadBound, rows: Array, power: float) -> DualPrices:
        """Return the numbers of a bound, scaled, which leaves it as it is."""
        factor = float(np.sum(bound.directions * rows)) / float(bound.multiplier.sum())
        directions, multiplier = bound.directions * factor, bound.multiplier * factor**2
        return cls(directions, multiplier, rows, bound.population, power)

    def between(self, bound: WorkloadBound, share: float) -> DualPrices:
        """Return the numbers between these and those of a bound."""
        other = DualPrices.of(bound, self.rows, self.power)
        directions = (1.0 - share) * self.directions + share * other.directions
        multiplier = (1.0 - share) * self.multiplier + share * other.multiplier
        return DualPrices(directions, multiplier, self.rows, self.population, self.power)

    @property
    def form(self) -> Array:
        """The matrix B'B."""
        found: Array = self.directions.T @ self.directions
        return found

    def ratios(self, sets: Sets) -> Array:
        """Return |Bv|^2 / ((mu.v)(pi.v)) for each set; infinite where mu.v is not positive."""
        columns = columns_of(sets, self.power)
        top = np.maximum(np.einsum("kn,kn->k", columns @ self.form, columns), 0.0)
        mass = columns @ self.multiplier
        with np.errstate(over="ignore"):  # infinite where weights differ by more than doubles divide
            found: Array = top / np.maximum(mass * (columns @ self.population), 1e-300)
        found[mass <= 0.0] = np.inf
        return found

    def climbed(self, sets: Sets) -> Sets:
        """Return local maxima of |Bv|^2 - (mu.v)(pi.v) under the exchange of one type, one per start."""
        form, mu, pi = self.form, self.multiplier, self.population
        step = self.power - 1.0
        sets = self._jumped(sets, form)
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

    def _jumped(self, sets: Sets, form: Array) -> Sets:
        """Maximise the tangent of the convex |Bv|^2/(pi.v) - mu.v over all patterns, repeatedly."""
        for _ in range(JUMPS):
            columns = columns_of(sets, self.power)
            applied, shares = columns @ form, columns @ self.population
            squares = np.einsum("kn,kn->k", applied, columns) / shares
            slopes = (2.0 * applied - squares[:, None] * self.population) / shares[:, None] - self.multiplier
            moved = slopes > 0.0
            proper = moved.any(axis=1) & ~moved.all(axis=1)
            moved[~proper] = sets[~proper]
            if (moved == sets).all():
                break
            sets = moved
        return sets.copy()

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
