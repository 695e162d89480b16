"""The excess of many binomials over thresholds, bounded by running sums of their probabilities.

A table has a line for each binomial and its mode in the same column; probabilities and errors are those of
the windows of :mod:`mechdesign.exact.binomials`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.binomials import Doubles, WindowTable, radius, window_table

BEFORE = 2
"""The sums begin this far below the mode: thresholds are seldom below the mean."""

CELLS = 2**17
"""Largest number of cells of a table; a single line may have more."""


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
        Requested size of what is omitted on each side of each binomial.
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
        most = max(n * odds / (1.0 + odds) ** 2 for n in trials)
        width = max(1, min(max(trials), radius(most, min(tails))))
        lines = max(1, CELLS // width)
        parts = [
            _sums(window_table(trials[at : at + lines], odds, tails[at : at + lines]), width, upper)
            for at in range(0, len(trials), lines)
        ]
        self.first, self.factor = (np.concatenate(found) for found in list(zip(*parts, strict=True))[:2])
        self.size = np.concatenate([part.size for part in parts])
        self.tails = np.concatenate([part.tails.ravel() for part in parts])
        self.integral = np.concatenate([part.integral.ravel() for part in parts])
        self.start = np.arange(len(trials)) * (len(self.tails) // len(trials))

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


def _sums(found: WindowTable, width: int, upper: bool) -> _Sums:
    """Return the running sums of windows, in tables of this width."""
    lines = len(found.mode)
    table = np.zeros((lines, BEFORE + 1 + width + 1))
    reach = found.rising.shape[1]
    table[:, BEFORE] = 1.0
    table[:, BEFORE + 1 : BEFORE + 1 + reach] = found.rising
    for step in range(min(BEFORE, reach)):
        table[:, BEFORE - 1 - step] = found.falling[:, step]
    table /= found.total[:, None]
    tails = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    integral = np.zeros_like(tails)
    last = BEFORE + (found.last - found.mode).astype(np.int64)
    slack = 0.25 * found.error  # 8 units a term of a sum, where a window has 32
    if upper:
        inside = np.arange(tails.shape[1]) <= last[:, None]
        tails = tails + found.above[:, None]
        inner = np.where(inside, tails, 0.0)
        integral[:, :-1] = inner[:, :0:-1].cumsum(axis=1)[:, ::-1]
        integral += found.above_mean[:, None]  # E(N - last)_+, and Pr[N > last] is part of it
        factor = (1.0 + 2.0 * found.error) * (1.0 + slack)
    else:
        integral[:, :-1] = tails[:, :0:-1].cumsum(axis=1)[:, ::-1]
        kept = np.maximum(0.0, 1.0 - found.below - found.above)
        factor = (1.0 - 2.0 * found.error) * kept * (1.0 - slack)
    return _Sums(found.mode - BEFORE, factor, last + 1, tails, integral)


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
