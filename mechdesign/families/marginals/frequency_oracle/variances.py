"""Users times the variance of the estimate of a category whose frequency tends to 0, for each oracle.

With p the chance that a report supports the own category and q that it supports another one, it is
q (1 - q) / (p - q)^2. All formulas are written in w = e^-epsilon and 1 - w, so that nothing
overflows or cancels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.draw.affine_family import prime_from

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def optimised_unary(epsilon: float) -> float:
    """Return 4 e^epsilon / (e^epsilon - 1)^2: the own bit kept with 1/2, others set with 1/(e^epsilon + 1).

    Examples
    --------
    >>> round(optimised_unary(math.log(3.0)), 12)
    3.0
    """
    return 4.0 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2


def symmetric_unary(epsilon: float) -> float:
    """Return e^(epsilon/2) / (e^(epsilon/2) - 1)^2: every bit flipped with 1/(e^(epsilon/2) + 1).

    Examples
    --------
    >>> round(symmetric_unary(2.0 * math.log(3.0)), 12)
    0.75
    """
    return math.exp(-epsilon / 2.0) / math.expm1(-epsilon / 2.0) ** 2


def hadamard(epsilon: float) -> float:
    """Return ((e^epsilon + 1) / (e^epsilon - 1))^2.

    Examples
    --------
    >>> round(hadamard(math.log(3.0)), 12)
    4.0
    """
    return ((1.0 + math.exp(-epsilon)) / math.expm1(-epsilon)) ** 2


def local_hashing(categories: int, buckets: Index, epsilon: float) -> Array:
    """Return the variance of randomized response on buckets of the affine hash family, for each number.

    Two categories share a bucket with the chance c of the family, a little below 1/g. With 1/g it would be
    (e - 1 + g)^2 / ((e - 1)^2 (g - 1)), which is 4 e / (e - 1)^2 at g = e + 1 (Wang et al. 2017, eq. (11)).

    Examples
    --------
    >>> local_hashing(1024, np.array([2, 4, 8]), 1.0).round(4)
    array([4.6736, 3.6824, 4.5562])
    """
    prime = prime_from(categories)
    small, larger = np.divmod(prime, buckets)[0].astype(float), (prime % buckets).astype(float)
    g = buckets.astype(float)
    alike = (larger * (small + 1.0) * small + (g - larger) * small * (small - 1.0)) / (prime * (prime - 1.0))
    w, loss = math.exp(-epsilon), -math.expm1(-epsilon)
    own = 1.0 / (1.0 + (g - 1.0) * w)
    other = own * (w + alike * loss)
    gain = own * loss * (1.0 - alike)
    found: Array = other * (1.0 - other) / gain**2
    return found
