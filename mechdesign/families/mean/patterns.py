"""The columns of a private channel, their prices, and the lower bounds that prices prove.

A column of an epsilon-private channel has entries within a factor e^eps of each other, so it is a sum of
columns theta w with w_x in {q, 1}, q = e^-eps: the two-valued patterns are the extreme rays. A mechanism is
a measure over pairs (output value t, pattern w) that satisfies, for every input x of a grid on [-1, 1],

    sum theta w_x = 1,    sum theta t w_x = x,    S_x = sum theta t^2 w_x    (second moment).

For multipliers l_x, s_x and weights c_x of the second moments, let f_x(t) = c_x t^2 - s_x t - l_x and

    F(t) = sum_x min(f_x(t), q f_x(t)),

the price of the cheapest pattern at t. If F >= 0 for every t that may be reported, then, by adding up,

    sum_x c_x S_x >= sum_x (l_x + s_x x)

for every mechanism. Between the roots of the f_x, F is a parabola, so its minimum over all real t is
found exactly: the bound holds for any output values, not only for those of a grid, and for any
output alphabet (report a number, a text, a sketch: only the estimate t made of it matters).

The grids of inputs and of output values that the programs start from are here as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST, MOST = 21, 41
"""Limits of the default number of inputs: half a second and a few seconds. 61 take half a minute."""


def default_inputs(epsilon: float) -> int:
    """Return an odd number of inputs, 21 to 41, for which rounding costs about a percent up to epsilon = 5.

    Rounding costs at most h^2/4 for a step h, and the best variance falls about like e^(-3 eps/4) (measured),
    so the number grows like e^(3 eps/8) from epsilon = 3.

    Examples
    --------
    >>> [default_inputs(epsilon) for epsilon in (0.5, 3.0, 4.0, 5.0, 10.0)]
    [21, 21, 31, 41, 41]
    """
    steps = (FEWEST - 1) * math.exp(min(3.0, 3.0 / 8.0 * max(0.0, epsilon - 3.0)))
    return min(MOST, 2 * math.ceil(steps / 2.0 - 0.25) + 1)


def symmetric_grid(size: int) -> Array:
    """Return evenly spaced numbers from -1 to 1, symmetric to the last bit.

    Examples
    --------
    >>> symmetric_grid(3)
    array([-1.,  0.,  1.])
    """
    steps = np.arange(size, dtype=np.float64)
    grid: Array = (steps - steps[::-1]) / (size - 1)
    return grid


def largest_output(epsilon: float) -> float:
    """Return the larger of Duchi's and the piecewise mechanism's largest output, on the scale of [-1, 1]."""
    return 1.0 / math.tanh(epsilon / 4.0)


Patterns = NDArray[np.bool_]

UNIT = 2.0**-53
STEPS = 4
"""Newton steps towards the least shift; each squares the error, and the last is safeguarded."""


@dataclass(frozen=True)
class PatternPrices:
    """Multipliers of the inputs: ``level`` of sums, ``slope`` of means, ``curve`` of second moments.

    Mirrored, as the multipliers of a symmetric program are: level and curve are the same for x and -x, slope
    changes its sign. Then F(-t) = F(t), and outputs t >= 0 are enough.
    """

    level: Array
    slope: Array
    curve: Array

    def shifted(self, amount: float) -> PatternPrices:
        """Return the prices with every level lowered, which raises F by at least n q times the amount."""
        return PatternPrices(self.level - amount, self.slope, self.curve)


@dataclass(frozen=True)
class Priced:
    """The cheapest patterns (k, n) at some outputs t >= 0, their prices F(t), and the rounding errors."""

    outputs: Array
    patterns: Patterns
    values: Array
    errors: Array


def cheapest(prices: PatternPrices, small: float, outputs: Array | None = None) -> Priced:
    """Return the cheapest pattern at each output, or at the minimum of every parabola piece of F.

    Parameters
    ----------
    prices : PatternPrices
    small : float
        q = e^-eps.
    outputs : (k,) array, optional
        The outputs t >= 0 that may be reported; every real number by default.

    Examples
    --------
    >>> prices = PatternPrices(np.array([1.0, 1.0]), np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> priced = cheapest(prices, 0.5)
    >>> round(float(priced.values.min()), 6), round(float(priced.outputs[priced.values.argmin()]), 6)
    (-2.0, 0.0)
    """
    if outputs is None:
        edges = _edges(prices)
        middles = np.append((edges[:-1] + edges[1:]) / 2.0, edges[-1] + 1.0)
        patterns = _values(prices, middles) < 0.0
        weights = np.where(patterns, 1.0, small)
        curve, slope = weights @ prices.curve, weights @ prices.slope
        with np.errstate(divide="ignore", invalid="ignore"):
            lowest = np.where(curve > 0.0, slope / (2.0 * curve), edges)
        points = np.clip(lowest, edges, np.append(edges[1:], np.inf))
    else:
        points = outputs
        patterns = _values(prices, points) < 0.0
        weights = np.where(patterns, 1.0, small)
    values = np.einsum("kn,kn->k", weights, _values(prices, points))
    return Priced(points, patterns, values, _errors(prices, points))


def _values(prices: PatternPrices, points: Array) -> Array:
    """Return f_x(t), shape (points, inputs)."""
    column = points[:, None]
    return (prices.curve * column - prices.slope) * column - prices.level


def _errors(prices: PatternPrices, points: Array) -> Array:
    """Return bounds of the rounding errors of F, those of the roots included.

    A root is computed with a backward error of a few units, so f_x there is a few units of the sum of
    the magnitudes of its terms; and where the sign of f_x is taken wrongly, |f_x| is no larger than that.
    """
    level, slope, curve = (np.abs(part).sum() for part in (prices.level, prices.slope, prices.curve))
    sizes = curve * points**2 + slope * points + level
    bounds: Array = (64.0 + len(prices.level)) * UNIT * sizes
    return bounds


def _edges(prices: PatternPrices) -> Array:
    """Return 0 and the positive roots of all f_x in increasing order."""
    level, slope, curve = prices.level, prices.slope, prices.curve
    root = np.sqrt(np.maximum(slope**2 + 4.0 * curve * level, 0.0))
    half = (slope + np.copysign(root, slope)) / 2.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        roots = np.concatenate([half / curve, -level / half])
    roots = roots[np.isfinite(roots) & (roots > 0.0)]
    return np.unique(np.append(roots, 0.0))


def proven_lower(prices: PatternPrices, grid: Array, small: float, outputs: Array | None = None) -> float:
    """Return a lower bound of sum_x c_x S_x over every private unbiased mechanism, rounding errors included.

    Where F is negative somewhere, all levels are lowered by the least amount that lifts it, found by
    Newton's method; what is left is lifted with F's slope in the amount, which is at least n q.
    """
    count = len(grid)
    priced = cheapest(prices, small, outputs)
    amount = 0.0
    for _ in range(STEPS):
        masses = small * count + (1.0 - small) * priced.patterns.sum(axis=1)
        more = float((-priced.values / masses).max())
        if more <= 0.0:
            break
        amount += more
        priced = cheapest(prices.shifted(amount), small, outputs)
    short = max(0.0, float((priced.errors - priced.values).max()))
    amount += short / (count * small)
    terms = np.concatenate([prices.level - amount, prices.slope * grid])
    slack = (len(terms) + 8) * 2.0 * UNIT * float(np.abs(terms).sum() + abs(amount) * count)
    return float(terms.sum()) - slack
