"""The least variance with which a frequency can be estimated from a noisy Bloom filter under ideal hashing.

A report of category v has its h bits set to 1 with probability q* each and the others with p*. Another
category sets h bits drawn uniformly: the number j that it shares with v is hypergeometric. What a report
shows about v is the pair (s, t): ones among the bits of v, ones among the others. With the laws P of v and P'
of any other category, the unbiased estimate of least variance, as the frequency tends to 0, is
(P/P' - 1) / chi^2, and

    users x variance = 1 / chi^2,   chi^2 = sum P^2/P' - 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Law = NDArray[np.float64]


def filter_variance(bits: int, hashes: int, set_bit: float, other_bit: float) -> float:
    """Return users times the least variance; infinite where a report says nothing.

    Examples
    --------
    >>> round(filter_variance(2, 1, 0.75, 0.25), 12)  # equal hashes in half of all cases
    2.5
    """
    rest = bits - hashes
    own = np.outer(_ones(hashes, 0, set_bit, other_bit), _ones(0, rest, set_bit, other_bit))
    others = np.zeros_like(own)
    total = math.comb(bits, hashes)
    for shared in range(max(0, 2 * hashes - bits), hashes + 1):
        weight = math.comb(hashes, shared) * math.comb(rest, hashes - shared) / total
        first = _ones(shared, hashes - shared, set_bit, other_bit)
        second = _ones(hashes - shared, rest - hashes + shared, set_bit, other_bit)
        others += weight * np.outer(first, second)
    possible = others > 0.0
    excess = float((((own - others) ** 2)[possible] / others[possible]).sum())
    return 1.0 / excess if excess > 0.0 else math.inf


def _ones(likely: int, unlikely: int, share: float, other: float) -> Law:
    """Return the distribution of the number of ones among independent bits of two kinds."""
    law: Law = np.convolve(_binomial(likely, share), _binomial(unlikely, other))
    return law


def _binomial(trials: int, share: float) -> Law:
    counts = np.arange(trials + 1)
    ways = np.array([math.comb(trials, int(count)) for count in counts], dtype=object)
    found = [float(way) * share**k * (1.0 - share) ** (trials - k) for k, way in enumerate(ways)]
    return np.array(found)
