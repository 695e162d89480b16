"""The bound that no oracle can beat, and the candidates' reports in bits.

The proof is in docs/families/marginals_oracles.md: the columns of a private channel are mixtures of columns
that are e^epsilon on a subset of the categories and 1 off it; the channel's information about a category of
frequency 0, averaged over the categories, is convex in the columns, so it is at most a mixture over the sizes
of subsets; and subset selection of the best size attains the largest.
"""

from __future__ import annotations

import numpy as np

from mechdesign.collect.subset_sizes import subset_variance

SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""


def variance_lower_bound(categories: int, epsilon: float) -> float:
    """Return a lower bound of users times the variance, for every private channel and any reports.

    Examples
    --------
    >>> bound = variance_lower_bound(64, 1.0)
    >>> 3.5 < bound < 4 * np.e / (np.e - 1) ** 2
    True
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    return float(subset_variance(categories, sizes, epsilon).min()) * (1.0 - SAFETY)


def least_bits(categories: int) -> int:
    """Return the bits of a report that can take as many values as there are categories.

    With fewer the frequencies are not determined: D distributions of fewer than D reports are dependent.
    """
    return (categories - 1).bit_length()
