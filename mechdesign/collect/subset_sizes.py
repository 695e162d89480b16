"""Variance and length of reports that are subsets of categories, and the best size of the subsets.

What is best depends on the frequency in question. For a rare category the variance of subset selection is
least at one size of the subsets, for a category as frequent as all others at a size that is often one more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

MOST_EXACT = 1 << 12
"""With at most this many categories, the number of subsets is computed exactly."""


def subset_variance(
    categories: int, sizes: NDArray[np.int64], epsilon: float, frequency: float = 0.0
) -> NDArray[np.float64]:
    """Return users times the variance of subset selection for each size k and a category of this frequency.

    With e = e^epsilon it is ((k - 1) e + D - k) (k e + D - 1 - k) / (k (D - k) (e - 1)^2) for those who have
    another category, and e (D - 1)^2 / (k (D - k) (e - 1)^2) for those who have this one; written in
    e^-epsilon, so that nothing overflows or cancels. Size 1 is randomized response: (D - 2 + e) / (e - 1)^2.
    See docs/families/marginals_oracles.md.

    Examples
    --------
    >>> subset_variance(3, np.array([1, 2]), math.log(2.0)).round(12)  # 3/1 and (2 + 1) (4)/(2 1)
    array([3., 6.])
    """
    k, rest = sizes.astype(float), (categories - sizes).astype(float)
    w, loss = math.exp(-epsilon), -math.expm1(-epsilon)
    others: NDArray[np.float64] = ((k - 1.0 + rest * w) / k) * ((k + (rest - 1.0) * w) / rest) / loss**2
    if frequency == 0.0:
        return others
    own = w * (categories - 1.0) ** 2 / (k * rest) / loss**2
    found: NDArray[np.float64] = (1.0 - frequency) * others + frequency * own
    return found


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


def best_size(
    categories: int, epsilon: float, most_bits: int | None = None, frequency: float = 0.0
) -> int | None:
    """Return the size of the subsets of least variance whose number needs at most ``most_bits`` bits.

    None when not even single categories do.

    Examples
    --------
    >>> best_size(64, 1.0), best_size(64, 1.0, most_bits=10), best_size(64, 1.0, most_bits=5)
    (17, 1, None)
    >>> best_size(6, 1.0), best_size(6, 1.0, frequency=1 / 6)
    (1, 2)
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    values = subset_variance(categories, sizes, epsilon, frequency)
    if most_bits is None:
        return int(sizes[np.argmin(values)])
    by_value = sizes[np.argsort(values, kind="stable")]
    fitting = (int(size) for size in by_value if subset_bits(categories, int(size)) <= most_bits)
    return next(fitting, None)
