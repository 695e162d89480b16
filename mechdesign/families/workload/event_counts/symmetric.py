"""Counts of one event a user: the best weights of all patterns, by classes of patterns.

A pattern gives a report the probability c E or c for each type: no event, and an event in slot 1 .. m. Slots
can be exchanged, so only two numbers of a pattern matter: whether no event has E, and how many slots have.
The patterns of a class share its probability evenly. So the moment matrix M has one eigenvalue on differences
of slots and a block of order 2 on the rest, and the program has 2 (m + 1) weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.audit.event_patterns import OneEventBound
from mechdesign.families.workload.value import Array
from mechdesign.solvers.interior import ProgramState, minimised

ACCURACY = 1e-11


@dataclass(frozen=True, eq=False)
class PatternClasses:
    """The best weights of the classes of patterns.

    Attributes
    ----------
    none : (K,) bool array
        Whether a report of the class is more likely without an event.
    inside : (K,) int array
        For how many slots it is more likely.
    chances : (K,) array
        How likely a report of the class is, averaged over the users.
    bound : OneEventBound
        The numbers that prove that no report is better.
    """

    none: NDArray[np.bool_]
    inside: NDArray[np.int64]
    chances: Array
    bound: OneEventBound


class _Program:
    """Minimise (m - 1)/l + tr(G M^-1) over the weights of the classes, l and M linear in them."""

    def __init__(self, slots: int, prior: Array, power: float) -> None:
        inside = np.tile(np.arange(slots + 1), 2)
        none = np.repeat([False, True], slots + 1)
        tells = (inside > 0) & (inside < slots) | (none != (inside == slots))
        self.none, self.inside = none[tells], inside[tells]
        first = np.where(self.none, power, 1.0)
        size = slots + (power - 1.0) * self.inside
        chance = prior[0] * first + prior[1] / slots * size
        self.slots = slots
        self.even = np.stack([first, size / math.sqrt(slots)], axis=1) / chance[:, None]  # (K, 2)
        apart = (power - 1.0) ** 2 * self.inside * (slots - self.inside)
        self.spread = apart / (slots * max(slots - 1, 1)) / chance**2
        self.asked = np.array([-prior[1] / slots, prior[0] / math.sqrt(slots)])
        self.gram = slots * np.outer(self.asked, self.asked)
        self.left = self.even.T.copy()
        self.right = np.array([1.0, math.sqrt(slots)])

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature; None where some count is not determined."""
        level = float(self.spread @ weights)
        moment = (self.even * weights[:, None]).T @ self.even
        if level <= 0.0 or np.linalg.det(moment) <= 0.0:
            return None
        inverse = np.linalg.inv(moment)
        sandwich = inverse @ self.gram @ inverse
        value = (self.slots - 1) / level + float(np.sum(self.gram * inverse))
        slopes = -(self.slots - 1) / level**2 * self.spread
        slopes = slopes - np.einsum("ki,ij,kj->k", self.even, sandwich, self.even)
        return ProgramState(value, slopes, partial(self._factor, level, inverse), [inverse])

    def _factor(self, level: float, inverse: Array) -> Array:
        """Return F with F'F the Hessian: 2 (z S z')(z M^-1 z') of two classes, S of rank 1."""
        root = np.linalg.cholesky(inverse)
        sharp = self.even @ inverse @ self.asked * math.sqrt(self.slots)
        rows = math.sqrt(2.0) * sharp[:, None] * (self.even @ root)
        apart = math.sqrt(2.0 * (self.slots - 1) / level**3) * self.spread
        return np.vstack([rows.T, apart])


def best_classes(slots: int, prior: Array, epsilon: float) -> PatternClasses:
    """Return the best weights of all classes of patterns, with the numbers of their bound.

    Parameters
    ----------
    slots : int
    prior : (2,) array
        Shares of users without and with an event.
    epsilon : float
    """
    program = _Program(slots, prior, math.exp(epsilon))
    found = minimised(program, len(program.none), ACCURACY)
    (inverse,) = found.state.more
    level = float(program.spread @ found.weights)
    ahead = inverse @ program.asked
    b1 = 1.0 / level
    b2 = float(ahead[1]) / math.sqrt(slots) - b1 / slots
    mu = -found.multiplier
    bound = OneEventBound(
        slots,
        (float(prior[0]), float(prior[1])),
        (float(ahead[0]), b1, b2),
        (float(mu[0]), float(mu[1]) / math.sqrt(slots)),
    )
    return PatternClasses(program.none, program.inside, found.weights, bound)
