"""Local search for patterns of many types, in single precision: it finds patterns, and proves nothing.

Under the exchange of type b the slopes of all other types move by a row of one matrix,

    l_u = 2 (F v)_u - (pi.v) mu_u - (mu.v) pi_u,      F = B'B,
    l  moves by  +-(E - 1) T_b,                       T = 2 F - mu pi' - pi mu',

so that an exchange costs a pass over the types, in blocks of starts that stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.master import FLIPS, JUMPS, DualPrices
from mechdesign.families.workload.patterns import Array, Sets

BLOCK = 1 << 17
"""Entries of a block of starts."""

LEAST_GAIN = 1e-6
"""Exchanges that gain a smaller part of (mu.v)(pi.v) are not told from rounding."""


class QuickSearch:
    """Local maxima of |Bv|^2 - (mu.v)(pi.v) under the exchange of one type.

    Parameters
    ----------
    prices : DualPrices

    Examples
    --------
    >>> rows, shares = np.array([[1.0, -1.0, 0.0]]), np.full(3, 1 / 3)
    >>> prices = DualPrices(rows, np.full(3, 0.5), rows, shares, 3.0)
    >>> QuickSearch(prices).climbed(np.array([[True, True, False]])).astype(int).tolist()
    [[0, 1, 0]]
    """

    def __init__(self, prices: DualPrices) -> None:
        form, mu, pi = prices.form, prices.multiplier, prices.population
        scale = float(mu.sum())  # the slopes are then of one size
        self.step = prices.power - 1.0
        self.form, self.mu, self.pi = (form / scale).astype("f"), (mu / scale).astype("f"), pi.astype("f")
        across = np.outer(mu / scale, pi)
        self.moves = (2.0 * form / scale - across - across.T).astype("f")
        self.fixed = self.step**2 * np.diag(self.moves) / 2.0

    def ratios(self, sets: Sets) -> Array:
        """Return |Bv|^2 / ((mu.v)(pi.v)) for each set; infinite where mu.v is not positive."""
        ratios = np.empty(len(sets))
        for start in range(0, len(sets), self._height):
            columns = self._columns(sets[start : start + self._height])
            squares = np.einsum("kn,kn->k", columns @ self.form, columns)
            mass = columns @ self.mu
            part = squares / np.maximum(mass * (columns @ self.pi), np.float32(1e-30))
            ratios[start : start + self._height] = np.where(mass > 0.0, part, np.inf)
        return ratios

    def climbed(self, sets: Sets) -> Sets:
        """Return a local maximum from each start."""
        parts = [sets[start : start + self._height] for start in range(0, len(sets), self._height)]
        climbed: Sets = np.vstack([self._exchanged(self._jumped(part)) for part in parts])
        return climbed

    @property
    def _height(self) -> int:
        return max(1, BLOCK // len(self.mu))

    def _columns(self, sets: Sets) -> NDArray[Any]:
        columns: NDArray[Any] = sets * np.float32(self.step) + np.float32(1.0)
        return columns

    def _jumped(self, sets: Sets) -> Sets:
        """Maximise the tangent of the convex |Bv|^2/(pi.v) - mu.v over all patterns, repeatedly."""
        sets, moving = sets.copy(), np.arange(len(sets))
        for _ in range(JUMPS):
            here = sets[moving]
            columns = self._columns(here)
            applied, shares = columns @ self.form, columns @ self.pi
            squares = np.einsum("kn,kn->k", applied, columns) / shares
            moved = 2.0 * applied - squares[:, None] * self.pi > shares[:, None] * self.mu
            inside = moved.sum(axis=1)
            proper = (inside > 0) & (inside < len(self.mu)) & (moved != here).any(axis=1)
            moving = moving[proper]
            sets[moving] = moved[proper]
            if not len(moving):
                break
        return sets

    def _exchanged(self, sets: Sets) -> Sets:
        """Exchange the best type of each set until nothing gains."""
        columns = self._columns(sets)
        masses, shares = columns @ self.mu, columns @ self.pi
        linear = 2.0 * (columns @ self.form) - np.outer(shares, self.mu) - np.outer(masses, self.pi)
        signs = np.where(sets, np.float32(-self.step), np.float32(self.step))
        least = LEAST_GAIN * np.abs(masses * shares)
        active, sets = np.arange(len(sets)), sets.copy()
        for _ in range(FLIPS):
            gains = signs * linear
            gains += self.fixed
            best = gains.argmax(axis=1)
            rows = np.arange(len(active))
            better = gains[rows, best] > least
            if not better.any():
                break
            if better.mean() < 0.75:
                active, best, least = active[better], best[better], least[better]
                linear, signs, rows = linear[better], signs[better], np.arange(len(active))
                moved = signs[rows, best]
            else:
                moved = np.where(better, signs[rows, best], np.float32(0.0))
            linear += moved[:, None] * self.moves[best]
            changed = moved != 0.0
            signs[rows[changed], best[changed]] *= -1.0
            sets[active[changed], best[changed]] ^= True
        return sets
