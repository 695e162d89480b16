"""Exact sums of the rows of doubles, and of fractions: no addition rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

HALF = 26


def exact_sum(numbers: Sequence[Fraction]) -> Fraction:
    """Return the sum of fractions, with one reduction to lowest terms instead of one for each.

    Examples
    --------
    >>> exact_sum([Fraction(1, 2), Fraction(1, 3)])
    Fraction(5, 6)
    """
    denominators = {number.denominator for number in numbers}
    common = max(denominators, default=1)
    for denominator in denominators:
        if common % denominator:  # not so for decimals, of which the longest has the common one
            common = math.lcm(common, denominator)
    factors = {denominator: common // denominator for denominator in denominators}
    return Fraction(sum(number.numerator * factors[number.denominator] for number in numbers), common)


def exact_sums(rows: NDArray[np.float64]) -> list[Fraction]:
    """Return the sum of each row of finite doubles >= 0 as the exact fraction that it is.

    Mantissas of the same exponent are added as two halves below 2^27, which doubles add exactly for fewer
    than 2^26 of them; the rest is integers.

    Examples
    --------
    >>> exact_sums(np.array([[0.5, 0.25], [0.1, 0.9]]))
    [Fraction(3, 4), Fraction(36028797018963969, 36028797018963968)]
    """
    mantissas, exponents = np.frexp(rows)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    low, high = whole & ((1 << HALF) - 1), whole >> HALF
    least = int(exponents.min()) if rows.size else 0
    places = exponents - least
    found = []
    for row in range(len(rows)):
        lows = np.bincount(places[row], weights=low[row])
        highs = np.bincount(places[row], weights=high[row])
        total = 0
        for place in np.flatnonzero((lows != 0) | (highs != 0)).tolist():
            total += ((int(highs[place]) << HALF) + int(lows[place])) << place
        shift = 53 - least
        found.append(Fraction(total, 1 << shift) if shift >= 0 else Fraction(total << -shift))
    return found
