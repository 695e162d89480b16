"""The excess of many binomials over thresholds, bounded by running sums of their probabilities.

A table has a line for each binomial and its mode in the same column; the probabilities and what bounds their
errors are those of :mod:`mechdesign.audit.binomials`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.binomials import LEAST_WEIGHT, UNIT, Doubles, radius

BEFORE = 2
"""The sums begin this far below the mode: thresholds are seldom below the mean."""

CELLS = 2**17
"""Tables are no larger, unless a single line is."""


class Excess:
    """Running sums that bound the excess E(N - t)_+ of binomials N over thresholds t, from above or below.

    For a threshold t with whole part first + i - 1 and t' = first + i the excess is
    E(N - t')_+ + (t' - t) Pr[N >= t'].

    Parameters
    ----------
    trials : sequence of int
        Of each binomial; at most 2^50.
    odds : float
        The odds of one trial, p / (1 - p), true up to a part of 8 units of rounding.
    tails : sequence of float
        What may be left out on each side of each binomial.
    upper : bool
        Whether the sums bound from above.

    Attributes
    ----------
    first : array
        The threshold that the sums of each binomial start at; it may be below 0.
    tails, integral : arrays
        Bounds of Pr[N >= first + i], and of E(N - first - i)_+, for i = 0, 1, ...; without the factor.
    start, size : arrays of int
        Where the sums of each binomial start, and how far from there the last ones are.
    factor : array
        What the sums have to be multiplied by to be bounds whatever was rounded.

    Examples
    --------
    >>> coins = Excess([4, 2], 1.0, [1e-9, 1e-9], upper=True)
    >>> coins.bound(np.array([3.0, 0.5])).tolist()
    [0.0625, 0.625]
    """

    def __init__(self, trials: Sequence[int], odds: float, tails: Sequence[float], upper: bool) -> None:
        self.upper = upper
        counts, variance = np.array(trials, dtype=np.float64), odds / (1.0 + odds) ** 2
        reach = [radius(n * variance, tail) for n, tail in zip(trials, tails, strict=True)]
        reaches = np.minimum(np.array(reach, dtype=np.float64), counts)
        width = max(BEFORE, int(reaches.max()))
        lines = max(1, CELLS // width)
        parts = [
            _sums(counts[at : at + lines], odds, reaches[at : at + lines], width, upper)
            for at in range(0, len(counts), lines)
        ]
        self.first, self.factor = (np.concatenate(found) for found in list(zip(*parts, strict=True))[:2])
        self.size = np.concatenate([part.size for part in parts])
        self.tails = np.concatenate([part.tails.ravel() for part in parts])
        self.integral = np.concatenate([part.integral.ravel() for part in parts])
        self.start = np.arange(len(counts)) * (len(self.tails) // len(counts))

    def bound(self, thresholds: Doubles) -> Doubles:
        """Return the bounds of the excess over the thresholds, one of each binomial, but for the factor."""
        return excess(self.tails, self.integral, thresholds - self.first, self.upper, self.start, self.size)


class _Sums(NamedTuple):
    """Some of the lines; ``tails`` and ``integral`` are tables."""

    first: Doubles
    factor: Doubles
    size: NDArray[np.int64]
    tails: Doubles
    integral: Doubles


def _sums(trials: Doubles, odds: float, reach: Doubles, width: int, upper: bool) -> _Sums:
    mode = np.minimum(trials, np.floor((trials + 1.0) * (odds / (1.0 + odds))))
    steps, n, m = np.arange(width, dtype=np.float64), trials[:, None], mode[:, None]
    rising = _products((n - m - steps) / (m + steps + 1.0) * odds, steps, np.minimum(reach, trials - mode))
    back = odds or 1.0  # at odds of 0 the mode is 0, and nothing lies below
    falling = _products((m - steps) / (n - m + steps + 1.0) / back, steps, np.minimum(reach, mode))
    above, below = (rising > 0.0).sum(axis=1), (falling > 0.0).sum(axis=1)
    ones = np.ones((len(trials), 1))
    weights = np.concatenate([falling[:, BEFORE - 1 :: -1], ones, rising, 0.0 * ones], axis=1)
    total = falling.sum(axis=1) + 1.0 + rising.sum(axis=1)
    # As for a window: 11 units a step, and a unit more for each term of the sum.
    count = above + below + 1
    error, slack = 32.0 * (count + 8) * UNIT, 8.0 * (count + 8) * UNIT

    weights /= total[:, None]
    tails = weights[:, ::-1].cumsum(axis=1)[:, ::-1]
    lines, last = np.arange(len(trials)), BEFORE + above
    beyond, beyond_mean = _beyond(weights[lines, last], (trials - mode - above) / (mode + above + 1.0) * odds)
    integral = np.zeros_like(tails)
    if upper:
        inside = np.arange(tails.shape[1]) <= last[:, None]
        tails = tails + beyond[:, None]
        inner = np.where(inside, tails, 0.0)
        integral[:, :-1] = inner[:, :0:-1].cumsum(axis=1)[:, ::-1]
        integral += beyond_mean[:, None]  # E(N - last)_+ is beyond_mean, and Pr[N > last] part of it
        factor = (1.0 + 2.0 * error) * (1.0 + slack)
    else:
        integral[:, :-1] = tails[:, :0:-1].cumsum(axis=1)[:, ::-1]
        edge = np.where(below > 0, falling[lines, below - 1], 1.0) / total
        least = mode - below
        under, _ = _beyond(edge, least / (trials - least + 1.0) / back)
        factor = (1.0 - 2.0 * error) * np.maximum(0.0, 1.0 - under - beyond) * (1.0 - slack)
    return _Sums(mode - BEFORE, factor, last + 1, tails, integral)


def _products(ratios: Doubles, steps: Doubles, most: Doubles) -> Doubles:
    """Return the products of ratios, as many in a line as wanted and are not lost by underflow."""
    found: Doubles = np.where(steps < most[:, None], ratios, 0.0).cumprod(axis=1)
    found[found <= LEAST_WEIGHT] = 0.0
    return found


def _beyond(edge: Doubles, ratio: Doubles) -> tuple[Doubles, Doubles]:
    """Return bounds of sum p r^i and sum i p r^i over i >= 1; ratios further out are smaller still."""
    ratio = ratio * (1.0 + 1e-12)
    near = ratio >= 1.0 - 1e-9
    rest = np.where(near, 1.0, 1.0 - ratio)
    found = 1.01 * edge * ratio / rest
    return np.where(near, np.inf, found), np.where(near, np.inf, found / rest)


def excess(
    tails: Doubles,
    integral: Doubles,
    distances: Doubles,
    upper: bool,
    start: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Doubles:
    """Return bounds of the excess for thresholds at these distances from where the running sums start.

    ``tails`` and ``integral`` hold the sums of several variables, those of a threshold from ``start`` to
    ``start + size``.
    """
    whole = np.floor(distances) + 1.0
    place = start + np.clip(whole, 0.0, size).astype(np.int64)
    part = np.clip(whole - distances, 0.0, 1.0)
    if not upper:
        part = np.where((whole < 0.0) | (whole > size), 0.0, part)
    found: Doubles = integral[place] + part * tails[place]
    if upper:
        found += np.where(whole < 0.0, 1.0 - whole, 0.0)
    return found
