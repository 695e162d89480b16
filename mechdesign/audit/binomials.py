"""Binomial probabilities with a proven error, by ratios of neighbours and without any special function.

Weights relative to the mode are products of ratios (n-j)/(j+1) * odds; dividing by their sum makes them
probabilities. What a window leaves out only makes the sum smaller, so the quotients are upper bounds but for
rounding; rounding is bounded by counting operations, each of which loses at most a part of 2^-53; what is
left out is bounded by geometric series, as ratios of neighbours fall. Nothing is subtracted, so that all
errors are relative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

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
    """Return the probabilities of a binomial variable on a window that leaves out about ``tail``.

    Parameters
    ----------
    trials : int
        At most 2^50.
    odds : float
        The odds of one trial, p / (1 - p), true up to a part of 8 units of rounding.
    tail : float
        Wanted size of what is left out on each side; the true size is bounded in the result.

    Examples
    --------
    >>> window = binomial_window(4, 1.0, 1e-9)
    >>> window.first, window.probability.tolist()
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    if odds == 0.0 or trials == 0:
        return Window(0, np.ones(1), 0.0, 0.0, 0.0, 4.0 * UNIT)
    chance = odds / (1.0 + odds)
    mode = min(trials, int((trials + 1) * chance))
    reach = radius(trials * chance / (1.0 + odds), tail)
    low, high = max(0, mode - reach), min(trials, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)
    if odds == 1.0:  # fair coins: the two sides are the same, around two modes where there are two
        rising = _kept(((trials - up) / (up + 1.0)).cumprod())
        falling = np.concatenate([[1.0], rising]) if trials % 2 else rising
    else:
        rising = _kept(((trials - up) / (up + 1.0) * odds).cumprod())
        down = np.arange(mode, low, -1, dtype=np.float64)
        falling = _kept((down / (trials - down + 1.0) / odds).cumprod())
    weights = np.concatenate([falling[::-1], [1.0], rising])
    first, last = mode - len(falling), mode + len(rising)
    # A step of a product loses 3 units and the odds 8 more, so a weight 11 units a step, and their sum a
    # unit more for each term; the quotient loses both.
    error = 32.0 * (len(weights) + 8) * UNIT
    probability = weights / weights.sum()
    above, above_mean = _beyond(float(probability[-1]), (trials - last) / (last + 1.0) * odds)
    below, _ = _beyond(float(probability[0]), first / (trials - first + 1.0) / odds)
    return Window(first, probability, below, above, above_mean, error)


def _kept(weights: Doubles) -> Doubles:
    """Return falling weights up to where they would lose precision by underflow."""
    if not len(weights) or weights[-1] > LEAST_WEIGHT:
        return weights
    return weights[: int(np.searchsorted(-weights, -LEAST_WEIGHT))]


def _beyond(edge: float, ratio: float) -> tuple[float, float]:
    """Return bounds of sum p r^i and sum i p r^i over i >= 1; ratios further out are smaller still."""
    ratio *= 1.0 + 1e-12
    if ratio == 0.0:
        return 0.0, 0.0
    if ratio >= 1.0 - 1e-9:
        return math.inf, math.inf
    return 1.01 * edge * ratio / (1.0 - ratio), 1.01 * edge * ratio / (1.0 - ratio) ** 2
