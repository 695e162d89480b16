"""Table 8 of the paper, judged without its data: whether the mechanisms can give such errors on any data.

With 36 attributes and the paper's estimators n times the variance of an attribute lies between two ends,
whatever the users' values are. The printed numbers are means over 30 data sets of root mean squares over 36
attributes; for normal errors their relative standard error is 1/sqrt(2 x 36 x 30) = 2.15 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mechdesign.mechanisms.mean.variance import duchi_value, piecewise_variance
from mechdesign.problems.mean.interval.offsets import least_offset, value_at, worst_value
from mechdesign.problems.mean.interval.printed import COMPARED, PAPER_DATA_SETS, PAPER_USERS

ATTRIBUTES = 36
"""Columns of each data set of the paper."""

PRINTED_ERRORS: Mapping[float, tuple[float, ...]] = {
    0.1: (0.060946, 0.087023, 0.084699, 0.071142, 0.081232),
    0.2: (0.042970, 0.053252, 0.052240, 0.045901, 0.050133),
    0.5: (0.014739, 0.019028, 0.021552, 0.017623, 0.018670),
    0.8: (0.010299, 0.012596, 0.012454, 0.011414, 0.012317),
    1.0: (0.008400, 0.011980, 0.011128, 0.009587, 0.009924),
    2.0: (0.005041, 0.007023, 0.006709, 0.006432, 0.005873),
    5.0: (0.004217, 0.005981, 0.005836, 0.004720, 0.005370),
    8.0: (0.004369, 0.004622, 0.004689, 0.003905, 0.004485),
    10.0: (0.004179, 0.004739, 0.004892, 0.004245, 0.004501),
}
"""Table 8: mean root mean squared errors, by epsilon, in the order of ``COMPARED``."""

Ends = tuple[float, float]


def interval_ends(a: float, b: float, attributes: int) -> Ends:
    """Return the least and largest n Var of the scaled estimator over all data, for offsets a and b.

    Given users subtract the variance of their values, at most mu (1 - mu), from the parabola of
    :func:`value_at`; what is left is linear in mu, so its least value is at an end.
    """
    low = min(value_at(a, b, end, attributes, True) for end in (0.0, 1.0))
    return low, worst_value(a, b, (0.0, 1.0), attributes, True)


def duchi_ends(epsilon: float, attributes: int) -> Ends:
    """Return the same for Duchi's mechanism times m, which is Harmony: (m D^2 - mean of t^2)/4."""
    square = attributes * float(duchi_value(epsilon)) ** 2
    return (square - 1.0) / 4.0, square / 4.0


def piecewise_ends(epsilon: float, attributes: int) -> Ends:
    """Return the same for the piecewise mechanism times m: (m E[y^2 | t] - t^2)/4 rises in t^2."""
    inner = attributes * float(piecewise_variance(epsilon, 0.0))
    outer = attributes * (float(piecewise_variance(epsilon, 1.0)) + 1.0) - 1.0
    return inner / 4.0, outer / 4.0


def possible_errors(name: str, epsilon: float) -> Ends:
    """Return the ends of the expected root mean squared error of a method of the paper, over all data.

    Examples
    --------
    >>> [round(end, 5) for end in possible_errors("duchi", 1.0)]  # the paper prints 0.011128
    [0.00719, 0.00721]
    """
    offset = least_offset(epsilon)
    low, high = {
        "opt": lambda: interval_ends(offset, 0.0, ATTRIBUTES),
        "baseline": lambda: interval_ends(offset, offset, ATTRIBUTES),
        "duchi": lambda: duchi_ends(epsilon, ATTRIBUTES),
        "piecewise": lambda: piecewise_ends(epsilon, ATTRIBUTES),
        "harmony": lambda: duchi_ends(epsilon, ATTRIBUTES),
    }[name]()
    shrink = math.exp(math.lgamma((ATTRIBUTES + 1) / 2.0) - math.lgamma(ATTRIBUTES / 2.0))
    factor = shrink * math.sqrt(2.0 / ATTRIBUTES / PAPER_USERS)  # the mean of a root is below the root
    return factor * math.sqrt(low), factor * math.sqrt(high)


def errors_outside(epsilon: float) -> dict[str, float]:
    """Return by how many standard errors each printed number lies beyond what any data give; 0 inside.

    Positive above the largest, negative below the least possible error.

    Examples
    --------
    >>> {name: round(number, 1) for name, number in errors_outside(1.0).items()}
    {'opt': 0.0, 'baseline': 0.0, 'duchi': 25.3, 'piecewise': 7.3, 'harmony': 17.5}
    """
    part = 1.0 / math.sqrt(2.0 * ATTRIBUTES * PAPER_DATA_SETS)
    found = {}
    for name, printed in zip(COMPARED, PRINTED_ERRORS[epsilon], strict=True):
        low, high = possible_errors(name, epsilon)
        nearest = min(max(printed, low), high)
        found[name] = (printed / nearest - 1.0) / part
    return found
