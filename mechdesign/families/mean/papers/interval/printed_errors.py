"""Table 8 of the paper, judged without its data: whether the mechanisms can give such errors on any data.

With 36 attributes and the paper's estimators n times the variance of an attribute lies between two ends,
whatever the users' values are. The printed numbers are means over 30 data sets of root mean squares over 36
attributes; for normal errors their relative standard error is 1/sqrt(2 x 36 x 30) = 2.15 %.

The paper does not say how the server added up the reports of the three methods that are not its own. They
run on [-1, 1], and the estimates are then moved to [0, 1]: read by the letter, reports are centred at 0
(``centred``). It may as well have used its own accumulator, algorithm 6, which adds up m times a report from
[0, 1] (``algorithm_6``): a user who is not drawn then counts as 0 and not as 1/2, and errors are larger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mechdesign.families.mean.interval.offsets import least_offset, value_at, worst_value
from mechdesign.families.mean.papers.interval.printed import COMPARED, PAPER_DATA_SETS, PAPER_USERS
from mechdesign.families.mean.variance import duchi_value, piecewise_variance

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

CENTRED, ALGORITHM_6 = "centred", "algorithm_6"
READINGS = (CENTRED, ALGORITHM_6)
"""How the server adds up the reports of Duchi's, the piecewise and Harmony's mechanism."""

MOST_ERRORS = 3.3
"""Standard errors that a printed number may be off: one false alarm in 20 tables of 45 numbers."""


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


def accumulated_piecewise_ends(epsilon: float, attributes: int) -> Ends:
    """Return the same where m times the report on [0, 1] is added up: m E[((y + 1)/2)^2 | t] - ((t + 1)/2)^2.

    That is a convex parabola in t, least between -1 and 0 and largest at 1.
    """
    flat = float(piecewise_variance(epsilon, 0.0))
    square = attributes * (float(piecewise_variance(epsilon, 1.0)) - flat) + attributes - 1.0
    linear = 2.0 * (attributes - 1.0)
    constant = attributes * flat + attributes - 1.0
    lowest = max(-1.0, -linear / (2.0 * square))
    low, high = (constant + linear * t + square * t**2 for t in (lowest, 1.0))
    return low / 4.0, high / 4.0


def possible_errors(name: str, epsilon: float, reading: str = CENTRED) -> Ends:
    """Return the ends of the expected root mean squared error of a method of the paper, over all data.

    Parameters
    ----------
    name : str
        One of ``COMPARED``.
    epsilon : float
    reading : {"centred", "algorithm_6"}
        How the reports of the methods that are not the paper's are added up.

    Examples
    --------
    >>> [round(end, 5) for end in possible_errors("duchi", 1.0)]  # the paper prints 0.011128
    [0.00719, 0.00721]
    >>> [round(end, 5) for end in possible_errors("duchi", 1.0, "algorithm_6")]
    [0.00745, 0.0122]
    """
    offset = least_offset(epsilon)
    if name == "opt":
        low, high = interval_ends(offset, 0.0, ATTRIBUTES)
    elif name == "baseline" or (name != "piecewise" and reading == ALGORITHM_6):  # the same bits and sum
        low, high = interval_ends(offset, offset, ATTRIBUTES)
    elif name == "piecewise":
        ends = accumulated_piecewise_ends if reading == ALGORITHM_6 else piecewise_ends
        low, high = ends(epsilon, ATTRIBUTES)
    else:
        low, high = duchi_ends(epsilon, ATTRIBUTES)
    shrink = math.exp(math.lgamma((ATTRIBUTES + 1) / 2.0) - math.lgamma(ATTRIBUTES / 2.0))
    factor = shrink * math.sqrt(2.0 / ATTRIBUTES / PAPER_USERS)  # the mean of a root is below the root
    return factor * math.sqrt(low), factor * math.sqrt(high)


def errors_outside(epsilon: float, reading: str = CENTRED) -> dict[str, float]:
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
        low, high = possible_errors(name, epsilon, reading)
        nearest = min(max(printed, low), high)
        found[name] = (printed / nearest - 1.0) / part
    return found


def possible_cells(reading: str) -> int:
    """Return the number of the 45 numbers of table 8 within 3.3 standard errors of those of data.

    Examples
    --------
    >>> possible_cells("centred"), possible_cells("algorithm_6")
    (16, 39)
    """
    outside = [number for epsilon in PRINTED_ERRORS for number in errors_outside(epsilon, reading).values()]
    return sum(abs(number) <= MOST_ERRORS for number in outside)
