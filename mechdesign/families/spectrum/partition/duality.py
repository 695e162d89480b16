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

from mechdesign.families.spectrum.partition.problem import SpectrumPartition

Array = NDArray[np.float64]

BITS = 30
"""Of a limb: sums of a few hundred fit into 64 bits."""

MASK = (1 << BITS) - 1


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
    wholes = [int(mass * unit) for mass in prior]
    return unit, [
        mass * loss
        for mass, loss in zip(_exact_sums(problem.family, wholes), problem.losses.tolist(), strict=True)
    ]


def _exact_sums(members: NDArray[np.bool_], numbers: list[int]) -> list[int]:
    """Return the sum of the numbers over each set, exactly: in limbs of 30 bits, the highest with the sign.

    Examples
    --------
    >>> _exact_sums(np.array([[True, True], [False, True]]), [1 << 100, -3])
    [1267650600228229401496703205373, -3]
    """
    count = max(number.bit_length() for number in numbers) // BITS + 1
    limbs = [[number >> BITS * k & MASK for number in numbers] for k in range(count)]
    limbs.append([number >> BITS * count for number in numbers])
    sums = (members.astype(np.int64) @ np.array(limbs, dtype=np.int64).T).tolist()
    return [sum(part << BITS * k for k, part in enumerate(row)) for row in sums]


def repaired(problem: SpectrumPartition, prices: Array) -> Exact:
    """Return prices next to those given that satisfy every inequality, in integers."""
    unit, costs = exact_costs(problem)
    wholes = [int(Fraction(price) * unit) for price in prices.tolist()]
    sizes = problem.family.sum(axis=1).tolist()
    paid = _exact_sums(problem.family, wholes)
    excess = max(-((cost - price) // size) for cost, price, size in zip(costs, paid, sizes, strict=True))
    excess = max(0, excess)
    kept = [price - excess for price in wholes]
    reduced = [cost - price + excess * size for cost, price, size in zip(costs, paid, sizes, strict=True)]
    assert min(reduced) >= 0
    return Exact(unit, costs, kept, reduced)
