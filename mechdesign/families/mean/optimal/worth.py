r"""What epsilon is worth for the best channel of a number, from the prices of its patterns.

**Statement.** Let columns (t_j, w_j) with amounts theta_j be a best mechanism, and l, s, c the multipliers
that prove it (:mod:`.patterns`), f_x(t) = c_x t^2 - s_x t - l_x. With all of these kept,

    L(q) = sum_x (l_x + s_x x) - constant + sum_j theta_j sum_x w_jx(q) f_x(t_j),      q = e^-eps,

is the Lagrangian, and the optimum moves at its rate where the optimum has a derivative.

*Proof sketch.* theta >= 0 and the real outputs t_j are the variables, and neither set depends on q. L is
what the constraints sum theta w = 1 and sum theta t w = x leave of the weighed second moments, and for the
worst case the weights c are multipliers as well. At the optimum it is a saddle point, so only the entries
w_jx = q of the patterns move it (envelope theorem). Outputs of a grid that moves with epsilon are moved
along.

By symmetry a column also stands for its mirror image, which has the same prices: amounts count twice.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.mean.optimal.channel import solved
from mechdesign.families.mean.optimal.generation import Generated
from mechdesign.families.mean.optimal.grids import Array, symmetric_grid

STEP = 1e-4
"""How far epsilon is moved in the Lagrangian, as a part of it."""


def priced_entries(found: Generated, epsilon: float, stretch: float = 1.0) -> Array:
    """Return theta_j w_jx f_x(t_j) for each column and input, at an epsilon.

    Parameters
    ----------
    found : Generated
        With prices.
    epsilon : float
    stretch : float
        By what factor the outputs move.

    Raises
    ------
    MethodError
        Where the solution has no prices.
    """
    prices = found.prices
    if prices is None:
        raise MethodError("mean-channel", "a stored solution has no prices", "solve it for its epsilon")
    column = (stretch * found.outputs)[:, None]
    values = (prices.curve * column - prices.slope) * column - prices.level
    entries: Array = 2.0 * found.amounts[:, None] * values
    return entries * np.where(found.patterns, 1.0, math.exp(-epsilon))


def lagrangian_of(found: Generated, epsilon: float, stretch: float = 1.0) -> float:
    """Return the Lagrangian on [-1, 1] at an epsilon; see :func:`priced_entries`.

    Examples
    --------
    >>> found = solved(1.0)
    >>> abs(lagrangian_of(found, 1.0) / found.value - 1.0) < 1e-6
    True
    >>> slope = (lagrangian_of(found, 1.001) - lagrangian_of(found, 0.999)) / 0.002
    >>> near = (solved(1.02).value - solved(0.98).value) / 0.04
    >>> round(slope, 1), round(near, 1)
    (-8.1, -8.1)
    """
    prices = found.prices
    entries = priced_entries(found, epsilon, stretch)  # refuses where there are none
    assert prices is not None
    grid = symmetric_grid(found.patterns.shape[1])
    own = math.fsum(prices.level) + float(prices.slope @ grid)
    return own - found.constant + math.fsum(entries.ravel().tolist())


@lru_cache(maxsize=256)
def variance_slope(epsilon: float) -> float:
    """Return the derivative of the least worst variance on [-1, 1] in epsilon, on the default inputs.

    Examples
    --------
    >>> round(variance_slope(1.0), 1)
    -8.1
    """
    found, step = solved(epsilon), STEP * epsilon
    return (lagrangian_of(found, epsilon + step) - lagrangian_of(found, epsilon - step)) / (2.0 * step)
