"""Two queries: a linear program over reports, each an estimate with its pattern, with exact pricing.

A report is a pattern v with an estimate s of the answers and the probabilities c v:

    minimise  sum c |s|^2 pi.v   subject to   sum c v = 1,   sum c s v = W~,   c >= 0.

It has 3n equations, and their multipliers -mu and 2 B jump about. So they are held in a box about the best
ones so far: a column and its negative for each equation, at a price. The box moves and grows where the proven
bound rises and shrinks where it does not (du Merle, Villeneuve, Desrosiers and Hansen 1999). All patterns are
priced by :mod:`.estimates`. Symmetries of the queries leave fewer equations (:mod:`.reflections`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mechdesign.families.workload.linear_queries.estimates import violations
from mechdesign.families.workload.linear_queries.pricing import DualPrices
from mechdesign.families.workload.linear_queries.reflections import Reflections
from mechdesign.families.workload.value import Array, Sets, columns_of
from mechdesign.solvers.linear import LinearProgram, solve_linear

ROUNDS, NEWEST = 80, 150
RADIUS, WIDEST = 0.05, 2.0
"""Half the width of the box, as a part of the mean size of the multipliers: at first and at most."""

MOST_REPORTS, KEPT = 4000, 2500
"""Reports at which those with the worst prices leave the program, and how many stay."""


@dataclass(frozen=True, eq=False)
class Duals:
    """B and mu, for rows with pi.|W~|^2 = 1."""

    directions: Array
    multiplier: Array

    def scaled(self, rows: Array) -> Duals:
        """Return the multiple for which tr B W~' = 1.mu, which proves the same."""
        factor = float((self.directions * rows).sum()) / float(self.multiplier.sum())
        return Duals(self.directions * factor, self.multiplier * factor**2)

    def value(self, rows: Array) -> float:
        """Return the bound that they prove, if no pattern violates them."""
        return float((self.directions * rows).sum()) ** 2 / float(self.multiplier.sum()) - 1.0

    @property
    def vector(self) -> Array:
        """The multipliers of all equations."""
        return np.concatenate([-self.multiplier, *(2.0 * self.directions)])


@dataclass(frozen=True, eq=False)
class _Found:
    """Weights c, the multipliers, the value, and what each report costs beyond its worth at these."""

    weights: Array
    duals: Duals
    value: float
    reduced: Array


class Plane:
    """The program for some reports.

    Parameters
    ----------
    rows : (2, n) array
        The centered queries, with pi.|W~|^2 = 1.
    shares : (n,) array
    power : float
    group : Reflections
    sets : (k, n) array of bool
        Patterns of reports that suffice; they stay in the program.
    places : (k, 2) array
        Their estimates.
    """

    def __init__(
        self, rows: Array, shares: Array, power: float, group: Reflections, sets: Sets, places: Array
    ) -> None:
        self.rows, self.shares, self.power, self.group = rows, shares, power, group
        self.sets, self.places, self.first = sets, places, len(sets)
        self.basis = group.basis
        self.members = np.abs(self.basis).sum(axis=0)
        self.sides = np.concatenate([np.ones(len(shares)), *rows]) @ self.basis

    def solved(self, box: tuple[Array, Array] | None) -> _Found | None:
        """Return the best weights, with multipliers in a box if its middle and half its width are given."""
        from scipy import sparse

        columns = columns_of(self.sets, self.power)
        cost = (self.places**2).sum(axis=1) * (columns @ self.shares)
        whole = np.hstack([columns, *(columns * side[:, None] for side in self.places.T)])
        table = (whole @ self.basis).T
        eye = np.eye(len(self.sides))
        everything, costs, high = table, cost, np.ones(len(cost))
        if box is not None:
            middle = box[0] @ self.basis / self.members
            width = box[1] @ np.abs(self.basis) / self.members
            everything = np.hstack([table, eye, -eye])
            costs = np.concatenate([cost, middle + width, width - middle])
            high = np.concatenate([high, np.full(2 * len(eye), 1e3)])
        none = sparse.csr_array((0, len(costs)))
        equal = sparse.csr_array(everything)
        program = LinearProgram(-costs, none, np.zeros(0), equal, self.sides, np.zeros(len(costs)), high)
        found = solve_linear(program)
        if found.status != "optimal":
            return None
        prices = -found.equal_multipliers
        parts = (self.basis @ prices).reshape(1 + len(self.rows), -1)
        return _Found(
            found.variables[: len(cost)],
            Duals(parts[1:] / 2.0, -parts[0]),
            float(costs @ found.variables) - 1.0,
            cost - table.T @ prices,
        )

    def priced(self, duals: Duals) -> tuple[Sets, Array, float]:
        """Return patterns that violate the multipliers, worst first, their estimates, the largest excess."""
        prices = DualPrices(duals.directions, duals.multiplier, self.rows, self.shares, self.power)
        sets, places, excess = violations(prices, self.group)
        order = np.argsort(-excess)[:NEWEST]
        return sets[order], places[order], float(excess.max(initial=0.0))

    def _grow(self, found: _Found, sets: Sets, places: Array) -> None:
        kept = np.ones(len(self.sets), dtype=bool)
        if len(kept) > MOST_REPORTS:
            kept = found.reduced <= np.partition(found.reduced, KEPT)[KEPT]
            kept |= found.weights > 0.0
            kept[: self.first] = True
        self.sets = np.vstack([self.sets[kept], sets])
        self.places = np.vstack([self.places[kept], places])

    def repaired(self, duals: Duals, excess: float) -> Duals:
        """Return multipliers that no pattern violates: mu + excess pi."""
        return Duals(duals.directions, duals.multiplier + excess * self.shares).scaled(self.rows)

    def improved(self, start: Duals, gap: float) -> tuple[Duals, int]:
        """Add reports until the bound and the value agree to within ``gap``; return the bound and rounds."""
        best = self.repaired(start, self.priced(start)[2])
        radius, rounds = RADIUS, 0
        while rounds < ROUNDS:
            rounds += 1
            width = radius * np.repeat([np.abs(part).mean() for part in _parts(best)], len(self.shares))
            found = self.solved((best.vector, width))
            if found is None:
                break
            sets, places, excess = self.priced(found.duals)
            reached = self.repaired(found.duals, excess)
            gained, before = reached.value(self.rows) - best.value(self.rows), best.value(self.rows)
            if gained > 0.0:
                best = reached
                radius = min(2.0 * radius, WIDEST) if gained > 0.5 * (found.value - before) else radius
            else:
                radius *= 0.6
            self._grow(found, sets, places)
            if found.value <= (1.0 + gap) * best.value(self.rows):
                free = self.solved(None)
                if free is None or free.value <= (1.0 + gap) * best.value(self.rows):
                    break
                self._grow(free, *self.priced(free.duals)[:2])
                radius = min(2.0 * radius, WIDEST)
        return best, rounds


def _parts(duals: Duals) -> list[Array]:
    return [duals.multiplier, *([2.0 * duals.directions] * len(duals.directions))]
