"""One unit hidden in a random number of fair coins: what most protocols in the shuffle model come down to.

Let s other messages each stand, with the same chance, for one of two values, and let a user's own message
stand for the first with chance a and the second with chance b, or the other way round. The adversary sees s
and how many stand for the first. Own messages that stand for neither have the same law under both inputs;
telling them to the adversary can only help him, so they are left out and a + b may be below 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechdesign.audit.exponential import exp_lower, float_down
from mechdesign.audit.mass import UNIT, Divergence, Mass, binomial, positive_sum

HALF = Fraction(1, 2)

FINENESS = 8
"""Numbers of coins are grouped, this many groups to a standard deviation; each counts as its smallest."""


def coins_divergence(coins: int, own: Fraction, other: Fraction, epsilon: float) -> Divergence:
    """Return the divergence for a known number of fair coins, rounded up.

    With B binomial of that many coins it is sum_j (a B(j-1) + b B(j) - e^eps (b B(j-1) + a B(j)))_+; the
    other direction is the same by symmetry.

    Parameters
    ----------
    coins : int
    own, other : Fraction
        a and b, the chances that the own message stands for the own value and for the other one.
    epsilon : float

    Examples
    --------
    >>> round(coins_divergence(1, Fraction(1), Fraction(0), 0.0), 12)
    0.5
    """
    rational = exp_lower(epsilon)
    if own <= rational * other and other <= rational * own:
        return 0.0  # the own message alone is private enough: no term is positive
    law = binomial(coins, HALF)
    size = len(law.mass) + 1
    here, before = law.on(law.low, size), law.shifted(1).on(law.low, size)
    a, b = float(own), float(other)
    exponential = float_down(rational)
    top = (a * before.upper() + b * here.upper()) * (1.0 + 4.0 * UNIT)
    bottom = (b * before.lower() + a * here.lower()) * (exponential * (1.0 - 4.0 * UNIT))
    return min(1.0, positive_sum(top - bottom) + law.tail)


@lru_cache(maxsize=1024)
def blanket_divergence(
    trials: int, chance: Fraction, own: Fraction, other: Fraction, epsilon: float
) -> Divergence:
    """Return the divergence for a binomial number of fair coins, rounded up.

    Parameters
    ----------
    trials : int
        How many messages of honest users may be a coin.
    chance : Fraction
        That one is.
    own, other : Fraction
        As in :func:`coins_divergence`; own + other at most 1.
    epsilon : float

    Notes
    -----
    The divergence falls with the number of coins, because one more coin only adds noise: so a group of
    numbers is counted as its smallest, which is an upper bound.

    Examples
    --------
    >>> round(blanket_divergence(2, Fraction(1, 2), Fraction(1), Fraction(0), 0.0), 12)  # 1/4 + 1/4 + 1/8
    0.625
    """
    number: Mass = binomial(trials, chance)
    deviation = math.sqrt(trials * float(chance) * float(1 - chance))
    width = max(1, int(deviation / FINENESS))
    starts = np.arange(0, len(number.mass), width)
    shares = np.add.reduceat(number.upper(), starts) * (1.0 + (width + 2) * UNIT)
    total = 0.0
    for start, share in zip(starts.tolist(), shares.tolist(), strict=True):
        total += share * coins_divergence(number.low + start, own, other, epsilon)
    return min(1.0, total * (1.0 + (len(starts) + 4) * UNIT) + number.tail)
