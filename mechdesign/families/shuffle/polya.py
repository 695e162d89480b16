"""Polya noise from integer tables: the noise of all honest users together is discrete Laplace noise.

Polya(r, a) has Pr[k] = C(k + r - 1, k) a^k (1 - a)^r. The sum of h variables with r = 1/h is geometric, and
the difference of two geometric variables is discrete Laplace noise, with Pr[x] in proportion to a^|x|. A
table holds the law out of 2**124 up to a depth; what rounding and the tail cost is bounded.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle.draws import Table

WHOLE = TOTAL * TOTAL
CONTEXT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)

DEEPEST = 1 << 20
"""Tables do not get longer."""

NEARLY = 1.0 - 1e-6
"""More than what doubles lose in a term of the law up to that depth."""


@lru_cache(maxsize=16)
def polya_table(users: int, ratio: Fraction, depth: int) -> tuple[Table, Fraction]:
    """Return the table of Polya(1/users, ratio) on 0 .. depth, and a bound of its total variation.

    Parameters
    ----------
    users : int
    ratio : Fraction
        a, below 1.
    depth : int

    Notes
    -----
    Sixty digits make every weight right to one unit of 2**-124; together the weights differ from the law by
    at most depth + 2 units, beside the tail, in which every term is below a times the one before.

    Examples
    --------
    >>> table, variation = polya_table(1, Fraction(1, 2), 60)  # a geometric law
    >>> table.weights[0] * 2 == WHOLE - table.weights[-1] and float(variation) < 1e-17
    False
    >>> [round(weight / WHOLE, 12) for weight in table.weights[:3]]
    [0.5, 0.25, 0.125]
    """
    a = CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    r = CONTEXT.divide(Decimal(1), Decimal(users))
    term = CONTEXT.exp(CONTEXT.multiply(r, CONTEXT.ln(CONTEXT.subtract(Decimal(1), a))))
    add, divide, multiply, total = CONTEXT.add, CONTEXT.divide, CONTEXT.multiply, Decimal(WHOLE)
    weights = []
    for k in range(1, depth + 2):
        step = divide(add(r, k - 1), k)
        term = multiply(term, multiply(step, a))
        weights.append(int(multiply(term, total)))
    beyond = Fraction(weights.pop() + 2, WHOLE) / (1 - ratio)
    table = Table([WHOLE - sum(weights), *weights])
    return table, Fraction(2 * (depth + 2), WHOLE) + beyond


def depth_for(users: int, ratio: Fraction, variation: float) -> int:
    """Return a depth at which the tail of Polya(1/users, ratio) is below the variation; at most 2**20.

    Its term k is at most a^k / users, so the tail beyond a depth is at most a^(depth + 1) / (users (1 - a)).

    Examples
    --------
    >>> depth_for(1, Fraction(1, 2), 2.0**-20)
    21
    """
    scale = variation * users * float(1 - ratio)
    return min(DEEPEST, max(1, math.ceil(math.log(scale) / math.log(float(ratio))))) if scale < 1.0 else 1


def least_variation(users: int, ratio: Fraction, depth: int) -> float:
    """Return a number that the bound of :func:`polya_table` is at least, without making the table.

    Examples
    --------
    >>> ratio, (_, variation) = Fraction(9, 10), polya_table(50, Fraction(9, 10), 80)
    >>> 0.99 * variation < least_variation(50, ratio, 80) < variation
    True
    """
    shape, a, k = 1.0 / users, float(ratio), depth + 1
    rising = math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1.0)
    return NEARLY * math.exp(rising + k * math.log(a) + shape * math.log1p(-a)) / float(1 - ratio)


def noise_law(shape: float, ratio: float, reach: int) -> tuple[int, NDArray[np.float64]]:
    """Return the law of the difference of two Polya(shape, ratio) variables, on -reach .. reach, in doubles.

    Examples
    --------
    >>> low, mass = noise_law(1.0, 0.5, 40)
    >>> low, mass[39:42].round(9)  # 1/3 and 1/3 of a half of that
    (-40, array([0.16666667, 0.33333333, 0.16666667]))
    """
    steps = (shape + np.arange(reach, dtype=np.float64)) / (1.0 + np.arange(reach)) * ratio
    single = (1.0 - ratio) ** shape * np.concatenate([[1.0], np.cumprod(steps)])
    mass = np.convolve(single, single[::-1])
    return -reach, mass
