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

from mechdesign.audit.mass import SLACK, UNIT, Divergence, compounded
from mechdesign.families.shuffle.audit.blanket import blanket_divergence, coin_groups, fair_coins

Array = NDArray[np.float64]

FINENESS = 48
"""Points of the lattice in a standard deviation of a row's logarithm."""

MOST_POINTS = 1 << 15
"""A lattice with more points is made coarser: a bound still, and a larger one."""

TAIL = 40
"""The attack leaves out numbers of coins of the probability e^(-2 TAIL) at most."""

CUT = 1e-9
"""The part of delta that is cut off above the lattice, and added to the divergence."""


@lru_cache(maxsize=1024)
def rows_divergence(
    trials: int, chance: Fraction, rows: int, epsilon: float, delta: float = 1e-6
) -> Divergence:
    """Return the divergence of one unit in each of ``rows`` rows, rounded up.

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
        error = compounded(error, single_error, (min(len(chances), len(single)) + 8) * UNIT)
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


def rows_attack(trials: int, chance: Fraction, rows: int, epsilon: float) -> float:
    r"""Return a lower bound of :func:`rows_divergence`, from one test of the sum over all rows.

    Whoever sees the rows sees s, the number of coins, and the messages for the first value, which are the
    heads of s coins, and ``rows`` more or none. With m = s / 2, rounded up, and 2 m coins at most, the test
    "more than m - 1" finds

        sum_{i=1..rows} C(2m, m - i) / 4^m - (e^epsilon - 1) (1 + C(2m, m) / 4^m) / 2,

    C(2m, m - i) / C(2m, m) >= ((m - i) / (m + i))^i and C(2m, m) / 4^m >= 1 / sqrt(pi (m + 1/2)), at most
    1 / sqrt(pi m). It falls in m; s exceeds its mean by t with the chance e^(-2 t^2 / N) at most (Hoeffding).

    Parameters
    ----------
    trials, chance, rows, epsilon
        As in :func:`rows_divergence`.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> 0.01 < rows_attack(2000, half, 6, 0.05) < rows_divergence(2000, half, 6, 0.05)
    True
    """
    number = trials * rows
    mean = number * chance
    most = min(number, math.ceil(mean) + math.isqrt(TAIL * number) + 1)
    m = -(-most // 2)
    if m <= 2 * rows:
        return 0.0
    middle = 1.0 / math.sqrt(math.pi * (m + 0.5))
    heads = sum(middle * ((m - i) / (m + i)) ** i for i in range(1, rows + 1))
    lost = math.expm1(min(epsilon, 700.0)) * (0.5 + 0.5 / math.sqrt(math.pi * m))
    missing = 0.0 if most == number else math.exp(-2.0 * TAIL)
    return max(0.0, (heads * (1.0 - SLACK) - lost * (1.0 + SLACK)) * (1.0 - missing) - missing - SLACK)


def _row(coins: list[int], shares: list[float], step: float) -> tuple[int, Array, float, float]:
    """Return the law of a row's logarithm on the lattice: first point, masses, mass above all, error."""
    parts: list[tuple[NDArray[np.int64], Array]] = [(np.zeros(1, dtype=np.int64), np.zeros(1))]
    beyond = 0.0
    for count, share in zip(coins, shares, strict=True):
        law = fair_coins(count)
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
