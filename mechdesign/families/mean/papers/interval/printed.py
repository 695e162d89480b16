"""What the experiment of the paper prints: mean ranks, test statistics, analysis of variance; and what fits.

Ranks of 30 data sets are whole numbers, so a mean rank is a multiple of 1/30 and a printed one, with two
decimals, names its rank sum or none. That makes tables 6 and 7 checkable without the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor

from mechdesign.families.mean.papers.interval.ranks import friedman

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
    shown, places = Fraction(printed), len(printed.partition(".")[2])
    unit = Fraction(1, 10**places)
    candidate = floor((shown + unit) * data_sets)
    if candidate == (shown + unit) * data_sets:
        candidate -= 1  # the next decimal begins there
    return candidate if Fraction(candidate, data_sets) >= shown - unit / 2 else None


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
    found = []
    for place, name in enumerate(COMPARED):
        changed = [*sums]
        changed[place] += total - sum(sums)
        fits = abs(statistic_of(changed, PAPER_DATA_SETS) - PRINTED_STATISTICS[epsilon]) <= LAST_DIGIT
        if PAPER_DATA_SETS <= changed[place] <= len(COMPARED) * PAPER_DATA_SETS and fits:
            found.append((name, changed[place] / PAPER_DATA_SETS))
    return tuple(found)


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
