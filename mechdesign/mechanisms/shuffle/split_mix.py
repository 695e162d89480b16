"""Secure sums by split-mix: every user's number as uniform shares that sum to it, all shares mixed.

Theorem (Balle, Bell, Gascon, Nissim 2020): among n >= 19 users with m >= 3 shares each in Z_q, the mixed
shares of two inputs with the same sum are within 2^-s in total variation, where
s = ((m - 1) (log2 n - log2 e) - log2 q) / 2: but for that, the mixed shares say what their sum says.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import exp_upper, float_up
from mechdesign.core.randomness import BITS, BitSource
from mechdesign.mechanisms.oracles.draws import below

LEAST_USERS = 19
LEAST_SHARES = 3
MOST_SHARES = 64

MOST_MODULUS = 1 << (BITS - 7)
"""The shares of a user then sum to less than 2**62."""


def mixing_distance(users: int, shares: int, modulus: int) -> float:
    """Return the theorem's 2^-s = sqrt(q (e / n)^(m - 1)), rounded up; 1 where it does not apply.

    Parameters
    ----------
    users : int
        Honest ones.
    shares, modulus : int

    Examples
    --------
    >>> mixing_distance(19, 4, 2), mixing_distance(19, 2, 2)
    (0.07653..., 1.0)
    """
    if users < LEAST_USERS or shares < LEAST_SHARES:
        return 1.0
    square = modulus * (exp_upper(1) / users) ** (shares - 1)
    return min(1.0, math.nextafter(math.sqrt(float_up(Fraction(square))), math.inf))


def least_shares(users: int, modulus: int, distance: float) -> int | None:
    """Return the fewest shares that mix to within a distance; None where 64 are too few.

    Examples
    --------
    >>> least_shares(10_000, 10**7, 2.0**-40)
    10
    """
    counts = range(LEAST_SHARES, MOST_SHARES + 1)
    return next((count for count in counts if mixing_distance(users, count, modulus) <= distance), None)


def split(values: NDArray[np.int64], shares: int, modulus: int, source: BitSource) -> NDArray[np.int64]:
    """Return one row of shares for each number of Z_q: uniform but for their sum.

    Examples
    --------
    >>> from mechdesign.core.randomness import bit_source
    >>> split(np.array([3, 0]), 4, 10, bit_source(1)).sum(axis=1) % 10
    array([3, 0])
    """
    made = np.empty((len(values), shares), dtype=np.int64)
    made[:, :-1] = below(modulus, len(values) * (shares - 1), source).reshape(len(values), shares - 1)
    made[:, -1] = (values - made[:, :-1].sum(axis=1)) % modulus
    return made


def ring_sums(shares: NDArray[np.int64], modulus: int) -> NDArray[np.int64]:
    """Return the sum of shares in Z_q, in two halves of the digits so that nothing overflows.

    Examples
    --------
    >>> ring_sums(np.array([7, 8]), 10)
    array([5])
    """
    low = int((shares & 0xFFFFFFFF).sum(dtype=np.uint64))
    high = int((shares >> 32).sum(dtype=np.uint64))
    return np.array([(low + (high << 32)) % modulus], dtype=np.int64)


def parity_distance(users: int, shares: int) -> Fraction:
    """Return a proven distance of the mixed shares of bits from what their parity says, in total variation.

    Of the expansion in products of k users' signs and h - k users' uniform bits only k = 0 and k = h depend
    on nothing but the parity; the others have the weights C(h, k)^2 / C(h m, k m), which fall and rise with k
    (docs/families/shuffle_protocols.md). Half of the root of their sum is the distance.

    Parameters
    ----------
    users, shares : int
        h honest users with m >= 2 shares of their bit each.

    Examples
    --------
    >>> round(float(parity_distance(19, 4)), 4), mixing_distance(19, 4, 2) > parity_distance(19, 4)
    (0.0264, True)
    """
    if users < 2 or shares < 2:
        return Fraction(1)
    first, second = (_crossing(users, shares, order) for order in (1, 2))
    square = 2 * first + max(0, users - 3) * second if users > 2 else first
    scale = 1 << 400
    root = Fraction(math.isqrt(math.ceil(square * scale * scale)) + 1, scale)
    return min(Fraction(1), root / 2)


def _crossing(users: int, shares: int, order: int) -> Fraction:
    """Return C(h, k)^2 / C(h m, k m) for a small k."""
    return Fraction(math.comb(users, order) ** 2, math.comb(users * shares, order * shares))
