"""Binomial probabilities with a proven error, by ratios of neighbours and without any special function.

Weights relative to the mode are products of ratios (n-j)/(j+1) * odds; dividing by their sum makes them
probabilities. What a window leaves out only makes the sum smaller, so the quotients are upper bounds but for
rounding; rounding is bounded by counting operations, each of which loses at most a part of 2^-53; what is
left out is bounded by geometric series, as ratios of neighbours fall. Nothing is subtracted, so that all
errors are relative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

UNIT = 2.0**-53
"""The largest relative error of one rounded operation."""

LEAST_WEIGHT = 1e-290
"""Windows end where weights relative to the mode would lose precision by underflow."""


def radius(variance: float, tail: float) -> int:
    """Return the distance from its mean at which a window of a sum of 0/1 variables may end, by Bernstein.

    The estimate only chooses windows; what lies outside is bounded by itself.
    """
    exponent = -math.log(max(tail, LEAST_WEIGHT))
    return math.ceil(exponent / 3.0 + math.sqrt(exponent * exponent / 9.0 + 2.0 * variance * exponent)) + 2


@dataclass(frozen=True)
class Window:
    """Probabilities of a binomial variable at ``first``, ``first + 1``, ...

    Attributes
    ----------
    first : int
    probability : array
        Close to the true ones: at most a part ``error`` above them; below them by at most that part and
        the part ``below + above``.
    below, above : float
        Upper bounds of what lies below and above the window.
    above_mean : float
        An upper bound of the sum of (j - last) times the probability of j over all j above the window.
    error : float
    """

    first: int
    probability: Doubles
    below: float
    above: float
    above_mean: float
    error: float

    @property
    def last(self) -> int:
        """The last number in the window."""
        return self.first + len(self.probability) - 1

    @property
    def upper(self) -> float:
        """The factor that makes the probabilities upper bounds."""
        return 1.0 + 2.0 * self.error

    @property
    def lower(self) -> float:
        """The factor that makes the probabilities lower bounds."""
        return (1.0 - 2.0 * self.error) * max(0.0, 1.0 - self.below - self.above)

    @cached_property
    def values(self) -> Doubles:
        """The numbers of the window, as doubles."""
        return np.arange(self.first, self.last + 1, dtype=np.float64)


def binomial_window(trials: int, odds: float, tail: float) -> Window:
    """Return the probabilities of a binomial variable on a window that omits about ``tail``.

    Parameters
    ----------
    trials : int
        At most 2^50.
    odds : float
        The odds of one trial, p / (1 - p), true up to a part of 8 units of rounding.
    tail : float
        Requested size of what is omitted on each side; the true size is bounded in the result.

    Examples
    --------
    >>> window = binomial_window(4, 1.0, 1e-9)
    >>> window.first, window.probability.tolist()
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    table = window_table([trials], odds, [tail])
    weights = np.concatenate([table.falling[0, ::-1], np.ones(1), table.rising[0]])
    probability = weights[weights > 0.0] / table.total[0]
    sides = (float(side[0]) for side in (table.below, table.above, table.above_mean, table.error))
    return Window(int(table.first[0]), probability, *sides)


class WindowTable(NamedTuple):
    """Windows of several binomials, one line each.

    Attributes
    ----------
    mode, first, last : (m,) array
    falling, rising : (m, width) array
        Weights relative to the mode: one below it and further down, one above it and further up; then 0.
    total : (m,) array
        Sums of the weights: the quotients are the probabilities.
    below, above, above_mean, error : (m,) array
        As for one window.
    """

    mode: Doubles
    first: Doubles
    last: Doubles
    falling: Doubles
    rising: Doubles
    total: Doubles
    below: Doubles
    above: Doubles
    above_mean: Doubles
    error: Doubles


def window_table(trials: Sequence[int], odds: float, tails: Sequence[float]) -> WindowTable:
    """Return the windows of several binomials with the same odds; see :func:`binomial_window`."""
    n, variance = np.array(trials, dtype=np.float64), odds / (1.0 + odds) ** 2
    reach = np.array([radius(count * variance, tail) for count, tail in zip(trials, tails, strict=True)])
    mode = np.minimum(n, np.floor((n + 1.0) * (odds / (1.0 + odds))))
    steps = np.arange(max(1.0, np.minimum(reach, n).max()))
    lines, center = n[:, None], mode[:, None]
    back = odds or 1.0  # at odds of 0 the mode is 0, and nothing is below it
    ratios = (lines - center - steps) / (center + steps + 1.0) * odds
    rising = _products(ratios, steps, np.minimum(reach, n - mode))
    ratios = (center - steps) / (lines - center + steps + 1.0) / back
    falling = _products(ratios, steps, np.minimum(reach, mode))
    up, down = (rising > 0.0).sum(axis=1), (falling > 0.0).sum(axis=1)
    total = falling.sum(axis=1) + 1.0 + rising.sum(axis=1)
    first, last = mode - down.astype(np.float64), mode + up.astype(np.float64)
    # A step of a product loses 3 units and the odds 8 more, so a weight 11 units a step, and their sum a
    # unit more for each term; the quotient loses both.
    error = 32.0 * (down + up + 9).astype(np.float64) * UNIT
    above, above_mean = _beyond(_edge(rising, up) / total, (n - last) / (last + 1.0) * odds)
    below, _ = _beyond(_edge(falling, down) / total, first / (n - first + 1.0) / back)
    return WindowTable(mode, first, last, falling, rising, total, below, above, above_mean, error)


def _products(ratios: Doubles, steps: Doubles, most: Doubles) -> Doubles:
    """Return products of ratios, at most as many in a line as stated, up to where they would underflow."""
    result: Doubles = np.where(steps < most[:, None], ratios, 0.0).cumprod(axis=1)
    result[result <= LEAST_WEIGHT] = 0.0
    return result


def _edge(weights: Doubles, counts: NDArray[np.int64]) -> Doubles:
    """Return the outermost weight of each line: 1, that of the mode, where the line is empty."""
    outermost: Doubles = weights[np.arange(len(counts)), counts - 1]
    return np.where(counts > 0, outermost, 1.0)


def _beyond(edge: Doubles, ratio: Doubles) -> tuple[Doubles, Doubles]:
    """Return bounds of sum p r^i and sum i p r^i over i >= 1; ratios further out are smaller still."""
    ratio = ratio * (1.0 + 1e-12)
    near = ratio >= 1.0 - 1e-9
    rest = np.where(near, 1.0, 1.0 - ratio)
    bound = 1.01 * edge * ratio / rest
    return np.where(near, np.inf, bound), np.where(near, np.inf, bound / rest)
