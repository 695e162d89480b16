"""The simplex tableau of the binary problem, as section 2.2.2 and 3.2.2 of Zhou, Lu and Wu (2019) set it up.

Variables x_1 = p_00, x_2 = p_11 and six slacks; rows: two lower and two upper privacy limits, p_00 <= 1,
p_11 <= 1. Columns are counted from 1, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BASES_1 = ((1, 2, 3, 4, 7, 8), (1, 2, 4, 6, 7, 8), (1, 2, 3, 5, 7, 8))
"""Model I, delta = 0: the bases of the cases 1 to 3, eqs. (7) to (9)."""

BASES_2 = ((1, 2, 3, 4, 7, 8), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 6, 7))
"""Model II, delta > 0: the same, eqs. (16) to (18)."""


def coefficients(epsilon: float) -> Array:
    """Return the 6 x 8 matrix A of both models."""
    power = math.exp(epsilon)
    rows = [[power, 1], [1, power], [1, power], [power, 1], [1, 0], [0, 1]]
    return np.hstack([np.array(rows), np.diag([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0])])


def right_side(epsilon: float, delta: float, printed: bool = False) -> Array:
    """Return b; as printed for model II the upper limits lack delta.

    Examples
    --------
    >>> right_side(0.0, 0.25).tolist(), right_side(0.0, 0.25, printed=True).tolist()
    ([0.75, 0.75, 1.25, 1.25, 1.0, 1.0], [0.75, 0.75, 1.0, 1.0, 1.0, 1.0])
    """
    upper = math.exp(epsilon) + (0.0 if printed else delta)
    return np.array([1.0 - delta, 1.0 - delta, upper, upper, 1.0, 1.0])


def basic_solution(epsilon: float, delta: float, basis: Sequence[int], printed: bool = False) -> Array:
    """Return (p_00, p_11) of the basic solution of a basis.

    Examples
    --------
    >>> basic_solution(0.1, 0.2, BASES_2[0]).round(3).tolist()
    [0.62, 0.62]
    """
    columns = [number - 1 for number in basis]
    found = np.linalg.solve(coefficients(epsilon)[:, columns], right_side(epsilon, delta, printed))
    return np.array([found[columns.index(0)], found[columns.index(1)]])


def reduced_costs(epsilon: float, prior: Sequence[float] | Array, basis: Sequence[int]) -> Array:
    """Return the two reduced costs c_j - c_B B^-1 A_j of the columns outside a basis, in their order.

    A basic feasible solution is optimal when none of them is positive (theorem 1 of the paper).
    """
    matrix, costs = coefficients(epsilon), np.array([*prior, *[0.0] * 6])
    inside = [number - 1 for number in basis]
    outside = [column for column in range(8) if column not in inside]
    prices = np.linalg.solve(matrix[:, inside].T, costs[inside])
    found: Array = costs[outside] - prices @ matrix[:, outside]
    return found
