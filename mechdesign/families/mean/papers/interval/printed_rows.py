"""Tables 4 and 5 of the paper, the experiment at epsilon = 0.1: the rows that are printed, and what follows.

Table 5 ranks the errors of table 4, so its six printed rows follow from those of table 4 without the data.
The other 24 rows are not printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mechdesign.families.mean.interval.offsets import worst_value
from mechdesign.families.mean.papers.interval.printed import (
    PAPER_DATA_SETS,
    PAPER_USERS,
    PRINTED_RANKS,
    rank_sum,
)
from mechdesign.families.mean.papers.interval.printed_errors import ATTRIBUTES, PRINTED_ERRORS
from mechdesign.families.mean.papers.interval.ranks import mean_ranks

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
        bool((found == ranks).all()) for found, (_, _, ranks) in zip(ranked, PRINTED_ROWS, strict=True)
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
