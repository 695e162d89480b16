"""Weak duality of fractional set partitioning, in integers.

For any y with y(Q) <= prior(Q) loss(Q) for every admissible set Q, where y(Q) is the sum of y over Q, every
channel of the notion "cloak" loses at least sum(y): its weights w_Q have sum over Q of w_Q = 1 at each place,
so sum_Q w_Q prior(Q) loss(Q) >= sum_Q w_Q y(Q) = sum_x y_x. Prices of a solver are made to keep this: if the
worst set is too dear by h per place, all prices fall by h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.problems.spectrum.partition.problem import SpectrumPartition

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Costs prior(Q) loss(Q) and prices y as integers over one power of two.

    Attributes
    ----------
    unit : int
        The denominator of all numbers here.
    costs, prices : list of int
    reduced : list of int
        Cost less price of each set: all >= 0.
    """

    unit: int
    costs: list[int]
    prices: list[int]
    reduced: list[int]

    @property
    def bound(self) -> Fraction:
        """No channel of the notion "cloak" over these sets loses less."""
        return Fraction(sum(self.prices), self.unit)


def exact_costs(problem: SpectrumPartition) -> tuple[int, list[int]]:
    """Return the unit and the costs of all admissible sets, exactly those of the prior's doubles."""
    prior = [Fraction(mass) for mass in problem.masses.tolist()]
    unit = math.lcm(*(mass.denominator for mass in prior), 1 << 80)
    wholes = np.array([int(mass * unit) for mass in prior], dtype=object)
    mass = problem.family.astype(object) @ wholes
    return unit, [int(m) * int(loss) for m, loss in zip(mass, problem.losses.tolist(), strict=True)]


def repaired(problem: SpectrumPartition, prices: Array) -> Exact:
    """Return prices next to those given that satisfy every inequality, in integers."""
    unit, costs = exact_costs(problem)
    wholes = np.array([int(Fraction(price) * unit) for price in prices.tolist()], dtype=object)
    sizes = problem.family.sum(axis=1).tolist()
    paid = (problem.family.astype(object) @ wholes).tolist()
    excess = max(-((cost - int(price)) // size) for cost, price, size in zip(costs, paid, sizes, strict=True))
    excess = max(0, excess)
    kept = [int(price) - excess for price in wholes.tolist()]
    reduced = [
        cost - int(price) + excess * size for cost, price, size in zip(costs, paid, sizes, strict=True)
    ]
    assert min(reduced) >= 0
    return Exact(unit, costs, kept, reduced)
