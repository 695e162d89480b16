r"""One unit hidden in each of several rows of counts at once: the divergence of independent fair coins.

In every row a user's own message stands for one of two values, and each of T further messages is with
chance c a fair coin between the two. With s coins in a row and j messages for the first value the likelihood
ratio is j / (s + 1 - j). The ratios of rows multiply: their logarithms are rounded up to a lattice, and
convolved.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import HALF, blanket_divergence, coin_groups
from mechdesign.audit.mass import SLACK, UNIT, Divergence, binomial, grown

Array = NDArray[np.float64]

FINENESS = 48
"""Points of the lattice in a standard deviation of a row's logarithm."""

MOST_POINTS = 1 << 15
"""A lattice with more points is made coarser: a bound still, and a larger one."""

CUT = 1e-9
"""So small a part of delta is cut off above the lattice, and added to the divergence."""


@lru_cache(maxsize=1024)
def rows_divergence(
    trials: int, chance: Fraction, rows: int, epsilon: float, delta: float = 1e-6
) -> Divergence:
    """Return the divergence of one unit in each of so many rows, rounded up.

    Parameters
    ----------
    trials : int
        How many messages of honest users in a row may be a coin.
    chance : Fraction
        That one is.
    rows : int
        Rows are independent.
    epsilon : float
    delta : float
        The delta that matters.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> one, two = (rows_divergence(200, half, rows, 0.5) for rows in (1, 2))
    >>> 0.0 < one < two < 1.0
    True
    """
    if rows == 1:
        return blanket_divergence(trials, chance, Fraction(1), Fraction(0), epsilon)
    coins, shares, tail = coin_groups(((trials, chance),))
    typical = max(1.0, trials * float(chance))
    step = max(2.0 / math.sqrt(typical) / FINENESS, 2.0 * epsilon / MOST_POINTS)
    low, chances, beyond, error = _row(coins, shares, step)
    cut = CUT * delta / rows
    chances, low, beyond = _trimmed(chances, low, beyond, cut)
    single, single_low, total_beyond, single_error = chances, low, beyond, error
    for _ in range(rows - 1):
        error = grown(error, single_error, (min(len(chances), len(single)) + 8) * UNIT)
        chances = np.convolve(chances, single)
        low, total_beyond = (
            low + single_low,
            total_beyond + beyond * (1.0 - min(1.0, total_beyond)),
        )
        chances, low, total_beyond = _trimmed(chances, low, total_beyond, cut)
    losses = (low + np.arange(len(chances))) * (step * (1.0 + SLACK))
    kept = losses > epsilon
    gains = -np.expm1((epsilon - losses[kept]) * (1.0 + 4.0 * UNIT)) * (1.0 + SLACK)
    found = float((chances[kept] * gains).sum()) * (1.0 + error + (len(chances) + 16) * UNIT)
    return min(1.0, found + (total_beyond + rows * tail) * (1.0 + SLACK))


def _row(coins: list[int], shares: list[float], step: float) -> tuple[int, Array, float, float]:
    """Return the law of a row's logarithm on the lattice: first point, masses, mass above all, error."""
    parts: list[tuple[NDArray[np.int64], Array]] = [(np.zeros(1, dtype=np.int64), np.zeros(1))]
    beyond = 0.0
    for count, share in zip(coins, shares, strict=True):
        law = binomial(count, HALF)
        number = law.low + 1 + np.arange(len(law.mass), dtype=np.float64)  # with the own message
        rest = count + 1.0 - number
        mass = law.upper() * share * (1.0 + SLACK)
        beyond += share * law.tail + float(mass[rest == 0.0].sum())
        finite = rest > 0.0
        losses = np.log(number[finite] / rest[finite])
        losses += (np.abs(losses) + 1.0) * SLACK
        parts.append((np.ceil(losses / step).astype(np.int64), mass[finite]))
    low = min(int(places.min(initial=0)) for places, _ in parts)
    size = max(int(places.max(initial=0)) for places, _ in parts) - low + 1
    chances, terms = np.zeros(size), 0
    for places, mass in parts:
        chances += np.bincount(places - low, weights=mass, minlength=size)
        terms += len(mass)
    return low, chances, beyond, (terms + 8) * UNIT


def _trimmed(chances: Array, low: int, beyond: float, cut: float) -> tuple[Array, int, float]:
    """Return the law without tails of this mass: the lower one is moved up, the upper one lies above all."""
    start = int(np.searchsorted(np.cumsum(chances), cut, side="right"))
    stop = len(chances) - int(np.searchsorted(np.cumsum(chances[::-1]), cut, side="right"))
    start = min(start, len(chances) - 1)
    stop = max(stop, start + 1)
    kept = chances[start:stop].copy()
    kept[0] += float(chances[:start].sum())
    return kept, low + start, beyond + 1.01 * float(chances[stop:].sum())
