"""The bound that no oracle can beat, and the candidates' reports in bits.

The proof is in docs/families/marginals_oracles.md: the columns of a private channel are mixtures of columns
that are e^epsilon on a subset of the categories and 1 off it; the channel's information about a category of
frequency 0, averaged over the categories, is convex in the columns, so it is at most a mixture over the sizes
of subsets; and subset selection of the best size attains the largest.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.problems.marginals.frequency_oracle.variances import subset_selection

SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""

MOST_EXACT = 1 << 12
"""Up to so many categories the number of subsets is computed exactly."""


def best_size(categories: int, epsilon: float, most_bits: int | None = None) -> int | None:
    """Return the size of the subsets of least variance whose number needs at most so many bits.

    None when not even single categories do.

    Examples
    --------
    >>> best_size(64, 1.0), best_size(64, 1.0, most_bits=10), best_size(64, 1.0, most_bits=5)
    (17, 1, None)
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    values = subset_selection(categories, sizes, epsilon)
    if most_bits is None:
        return int(sizes[np.argmin(values)])
    by_value = sizes[np.argsort(values, kind="stable")]
    fitting = (int(size) for size in by_value if subset_bits(categories, int(size)) <= most_bits)
    return next(fitting, None)


def lower_bound(categories: int, epsilon: float) -> float:
    """Return what users times the variance is at least, for every private channel, any reports.

    Examples
    --------
    >>> bound = lower_bound(64, 1.0)
    >>> 3.5 < bound < 4 * math.e / (math.e - 1) ** 2
    True
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    return float(subset_selection(categories, sizes, epsilon).min()) * (1.0 - SAFETY)


def subset_bits(categories: int, size: int) -> int:
    """Return the bits that number all subsets of a size; for many categories, at most one bit too many.

    Examples
    --------
    >>> subset_bits(64, 1), subset_bits(64, 17)
    (6, 51)
    """
    if categories <= MOST_EXACT:
        return (math.comb(categories, size) - 1).bit_length()
    logarithm = math.lgamma(categories + 1) - math.lgamma(size + 1) - math.lgamma(categories - size + 1)
    return math.ceil(logarithm / math.log(2.0) * (1.0 + 2.0**-40) + 2.0**-20)


def least_bits(categories: int) -> int:
    """Return the bits of a report that can take as many values as there are categories.

    With fewer the frequencies are not determined: D distributions of fewer than D reports are dependent.
    """
    return (categories - 1).bit_length()
