"""The printed tables of Liu and Zhou (2023), judged without the data of the experiment.

Mean ranks and the Friedman test are eqs. (22) and (23).

**Tables 6 and 7**: mean ranks, test statistics, analysis of variance, and the repairs that fit. Ranks of 30
data sets are whole numbers, so a mean rank is a multiple of 1/30 and a printed one, with two decimals,
names its rank sum or none. That makes tables 6 and 7 checkable without the data.

**Table 8**: whether the mechanisms can give such errors on any data. With 36 attributes and the paper's
estimators n times the variance of an attribute lies between two ends, whatever the users' values are. The
printed numbers are means over 30 data sets of root mean squares over 36 attributes; for normal errors their
relative standard error is 1/sqrt(2 x 36 x 30) = 2.15 %.

Section 5.5.4 says what the server adds up for Harmony, m (e^eps + 1)/(e^eps - 1) or its negative, then "a
linear map": its reports are centred at 0 (``centred``). For Duchi's and the piecewise mechanism, which
run on [-1, 1] as well, it leaves the map open. The server may have used its own accumulator, algorithm 6,
which adds up m times a report from [0, 1] (``algorithm_6``): a user who is not drawn then counts as 0 and
not as 1/2, and errors are larger.

**Tables 4 and 5**, the experiment at epsilon = 0.1: the printed rows and what follows from them. Table 5
ranks the errors of table 4, so its six printed rows follow from those of table 4 without the data. The
other 24 rows are not printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.mean.interval import least_offset, value_at, worst_value
from mechdesign.families.mean.variance import duchi_value, piecewise_variance

Array = NDArray[np.float64]


def mean_ranks(errors: Array) -> Array:
    """Return the mean rank of every method over the data sets, 1 for the least error, eq. (22).

    Parameters
    ----------
    errors : (data sets, methods) array
        Ties share the average of their ranks.

    Examples
    --------
    >>> mean_ranks(np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3]]))
    array([1.5, 1.5, 3. ])
    """
    lower = (errors[:, :, None] > errors[:, None, :]).sum(axis=2)
    equal = (errors[:, :, None] == errors[:, None, :]).sum(axis=2)
    ranks: Array = (lower + (equal + 1) / 2.0).mean(axis=0)
    return ranks


def friedman(ranks: Sequence[float] | Array, data_sets: int) -> float:
    """Return Friedman's statistic of mean ranks, eq. (23).

    Examples
    --------
    >>> round(friedman([1.4, 23 / 6, 3.7, 2.4, 11 / 3], 30), 3)  # table 7 at epsilon = 0.1
    54.587
    """
    size = len(ranks)
    squares = float(np.square(ranks).sum())
    return 12.0 * data_sets / (size * (size + 1)) * (squares - size * (size + 1) ** 2 / 4.0)


def friedman_p_value(statistic: float, methods: int) -> float:
    """Return the probability of at least this statistic when no method is better (chi-squared).

    Examples
    --------
    >>> print(f"{friedman_p_value(54.587, 5):.2e}")
    3.97e-11
    """
    from scipy.stats import chi2

    return float(chi2.sf(statistic, methods - 1))


PAPER_USERS = 800_000
"""Number of users in each data set of the paper."""

PAPER_DATA_SETS = 30
"""Number of data sets of the paper."""

COMPARED = ("opt", "baseline", "duchi", "piecewise", "harmony")
"""The five methods of the paper, in the order of its tables."""

Ranks = tuple[str, ...]

PRINTED_RANKS: Mapping[float, Ranks] = {
    0.1: ("1.40", "3.83", "3.70", "2.40", "3.67"),
    0.2: ("1.37", "3.90", "3.77", "2.67", "3.70"),
    0.5: ("1.44", "3.78", "3.81", "2.37", "3.59"),
    0.8: ("1.47", "3.90", "3.83", "2.47", "3.37"),
    1.0: ("1.60", "3.83", "3.63", "2.50", "3.43"),
    2.0: ("1.80", "3.60", "3.47", "2.86", "3.27"),
    5.0: ("2.13", "3.50", "3.33", "2.80", "3.23"),
    8.0: ("2.67", "3.43", "3.53", "2.57", "3.20"),
    10.0: ("2.23", "3.40", "3.67", "2.73", "3.27"),
}
"""Table 6: mean ranks of the five methods over the data sets, by epsilon, as printed."""

PRINTED_STATISTICS: Mapping[float, float] = {
    0.1: 54.587,
    0.2: 61.120,
    0.5: 55.013,
    0.8: 45.723,
    1.0: 41.920,
    2.0: 25.280,
    5.0: 14.480,
    8.0: 14.853,
    10.0: 12.293,
}
"""Table 7: Friedman's statistic by epsilon."""

LAST_DIGIT = 0.0005
"""Half a unit of the last digit of table 7."""

VARIANCE_SUMS = {"algorithm": 224.381995, "residual": 1059.154270}
"""Table 10: sums of squares of the communication times at epsilon = 1."""

RESIDUAL_MEAN_SQUARE = 23.536762
"""Table 10: the mean square of the residual."""


def rank_sum(printed: str, data_sets: int) -> int | None:
    """Return the sum of ranks whose mean is printed so, rounded or cut off; None when there is none.

    Examples
    --------
    >>> rank_sum("3.83", 30), rank_sum("2.86", 30), rank_sum("1.44", 30)  # 115/30 and 86/30 = 2.8666...
    (115, 86, None)
    """
    number, places = Fraction(printed), len(printed.partition(".")[2])
    unit = Fraction(1, 10**places)
    candidate = floor((number + unit) * data_sets)
    if candidate == (number + unit) * data_sets:
        candidate -= 1  # the next decimal begins there
    return candidate if Fraction(candidate, data_sets) >= number - unit / 2 else None


def possible_ranks(printed: Ranks, data_sets: int) -> int:
    """Return the number of printed mean ranks that are possible with ``data_sets`` data sets.

    Examples
    --------
    >>> possible_ranks(PRINTED_RANKS[0.5], 30), possible_ranks(PRINTED_RANKS[0.5], 27)
    (1, 5)
    """
    return sum(rank_sum(rank, data_sets) is not None for rank in printed)


def rank_sums(printed: Ranks, data_sets: int) -> tuple[int, ...] | None:
    """Return the sums of ranks behind a printed row; None when an entry has none.

    Examples
    --------
    >>> rank_sums(PRINTED_RANKS[0.1], 30)
    (42, 115, 111, 72, 110)
    """
    sums = [rank_sum(rank, data_sets) for rank in printed]
    known = tuple(number for number in sums if number is not None)
    return known if len(known) == len(printed) else None


def statistic_of(sums: Sequence[int], data_sets: int) -> float:
    """Return Friedman's statistic of sums of ranks."""
    return friedman([number / data_sets for number in sums], data_sets)


def repairs(epsilon: float) -> tuple[tuple[str, float], ...]:
    """Return the entries of a row of table 6 that, alone changed, make its ranks add up and give table 7.

    Returns
    -------
    tuple of (method, mean rank)
        Empty when the row needs none, or when no single change will do.

    Examples
    --------
    >>> [(name, round(rank, 2)) for name, rank in repairs(0.2)]
    [('piecewise', 2.27)]
    """
    sums = rank_sums(PRINTED_RANKS[epsilon], PAPER_DATA_SETS)
    total = PAPER_DATA_SETS * len(COMPARED) * (len(COMPARED) + 1) // 2
    if sums is None or sum(sums) == total:
        return ()
    fitting = []
    for place, name in enumerate(COMPARED):
        changed = [*sums]
        changed[place] += total - sum(sums)
        fits = abs(statistic_of(changed, PAPER_DATA_SETS) - PRINTED_STATISTICS[epsilon]) <= LAST_DIGIT
        if PAPER_DATA_SETS <= changed[place] <= len(COMPARED) * PAPER_DATA_SETS and fits:
            fitting.append((name, changed[place] / PAPER_DATA_SETS))
    return tuple(fitting)


def residual_degrees() -> float:
    """Return the degrees of freedom by which table 10 divides its residual sum of squares.

    Examples
    --------
    >>> round(residual_degrees(), 3)  # 5 methods on 10 data sets: 50 - 5
    45.0
    """
    return VARIANCE_SUMS["residual"] / RESIDUAL_MEAN_SQUARE


def variance_analysis(data_sets: int) -> tuple[float, float]:
    """Return the F statistic and p value of the sums of squares of table 10 for ``data_sets`` data sets.

    Examples
    --------
    >>> [float(f"{number:.3g}") for number in variance_analysis(10)]
    [2.38, 0.0654]
    """
    from scipy.stats import f

    between = len(COMPARED) - 1
    within = len(COMPARED) * (data_sets - 1)
    ratio = (VARIANCE_SUMS["algorithm"] / between) / (VARIANCE_SUMS["residual"] / within)
    return ratio, float(f.sf(ratio, between, within))


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

MOST_ERRORS = 5.0
"""Standard errors that a printed number may be off: one false alarm in 38 000 tables of 45 numbers."""


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
    outside = {}
    for name, printed in zip(COMPARED, PRINTED_ERRORS[epsilon], strict=True):
        low, high = possible_errors(name, epsilon, reading)
        nearest = min(max(printed, low), high)
        outside[name] = (printed / nearest - 1.0) / part
    return outside


def possible_cells(reading: str) -> int:
    """Return the number of the 45 numbers of table 8 within 5 standard errors of those of data.

    Examples
    --------
    >>> possible_cells("centred"), possible_cells("algorithm_6")
    (18, 42)
    """
    outside = [number for epsilon in PRINTED_ERRORS for number in errors_outside(epsilon, reading).values()]
    return sum(abs(number) <= MOST_ERRORS for number in outside)


EPSILON = 0.1
"""The privacy level of both tables."""

PRINTED_ROWS: Sequence[tuple[int, tuple[float, ...], tuple[int, ...]]] = (
    (1, (0.059470, 0.088126, 0.094008, 0.065735, 0.088181), (1, 3, 5, 2, 4)),
    (2, (0.060536, 0.093125, 0.102180, 0.072534, 0.075326), (1, 4, 5, 2, 3)),
    (3, (0.058431, 0.087182, 0.091314, 0.057236, 0.096142), (2, 3, 4, 1, 5)),
    (28, (0.059143, 0.061416, 0.089816, 0.072175, 0.091512), (1, 2, 4, 3, 5)),
    (29, (0.063140, 0.103135, 0.082037, 0.069048, 0.112139), (1, 4, 3, 2, 5)),
    (30, (0.065233, 0.098432, 0.068138, 0.072126, 0.058325), (2, 5, 3, 4, 1)),
)
"""Number of the data set, errors of table 4, ranks of table 5, in the order of ``COMPARED``."""

PRINTED_MEANS = (0.060946, 0.087023, 0.084699, 0.071142, 0.081232)
"""Table 4: the means of its columns."""

PRINTED_MEAN_RANKS = ("1.4", "3.833333", "3.7", "2.4", "3.666667")
"""Table 5: the means of its columns."""

NO_DP_ERROR = 0.004289
"""Section 5.5.3: the error of the random censoring model without differential privacy."""


def rows_that_follow() -> int:
    """Return the number of the six printed rows of table 5 that are the ranks of their row of table 4.

    Examples
    --------
    >>> rows_that_follow()
    6
    """
    ranked = [mean_ranks(np.array([errors])) for _, errors, _ in PRINTED_ROWS]
    return sum(
        bool((computed == ranks).all()) for computed, (_, _, ranks) in zip(ranked, PRINTED_ROWS, strict=True)
    )


def means_repeated() -> int:
    """Return the number of the ten means of tables 4 and 5 that tables 8 and 6 print unchanged."""
    errors = sum(a == b for a, b in zip(PRINTED_MEANS, PRINTED_ERRORS[EPSILON], strict=True))
    both = zip(PRINTED_MEAN_RANKS, PRINTED_RANKS[EPSILON], strict=True)
    sums = (
        (round(PAPER_DATA_SETS * Fraction(long)), rank_sum(short, PAPER_DATA_SETS)) for long, short in both
    )
    return errors + sum(long == short for long, short in sums)


def no_dp_ends() -> tuple[float, float]:
    """Return the ends of the error of the model without privacy, over all data.

    n Var is m mu - mu^2 less the variance of the values, at most mu (1 - mu): 0 where everybody has 0.
    """
    return 0.0, math.sqrt(worst_value(0.0, 0.0, (0.0, 1.0), ATTRIBUTES, True) / PAPER_USERS)


def no_dp_mean() -> float:
    """Return the mean mu at which drawn users give the printed error, m mu - mu^2 = n RMSE^2.

    Examples
    --------
    >>> round(no_dp_mean(), 3)
    0.414
    """
    square = PAPER_USERS * NO_DP_ERROR**2
    return (ATTRIBUTES - math.sqrt(ATTRIBUTES**2 - 4.0 * square)) / 2.0
