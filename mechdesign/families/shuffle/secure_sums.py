"""Secure sums: shares that say only what their sum is, and noise that all users together add to it.

Split-mix writes every user's number as uniform shares that sum to it, and mixes all shares. Two bounds state
how little the shares say besides their sum: one is proven in the family's documentation, the other one is
cited. Theorem (Balle, Bell, Gascon, Nissim 2020): among n >= 19 users with m >= 3 shares each in
Z_q, the mixed shares of two inputs with the same sum are within 2^-s in total variation, where
s = ((m - 1) (log2 n - log2 e) - log2 q) / 2: but for that, the mixed shares say what their sum says.

The noise of a user is a difference of Polya variables, drawn from integer tables. Polya(r, a) has
Pr[k] = C(k + r - 1, k) a^k (1 - a)^r. The sum of h variables with r = 1/h is geometric, and
the difference of two geometric variables is discrete Laplace noise, with Pr[x] in proportion to a^|x|. A
table holds the law out of 2**124 up to a depth; what rounding and the tail cost is bounded.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.draws import below
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, exp_upper, float_up
from mechdesign.families.shuffle.noise import Table

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


@lru_cache(maxsize=256)
def proven_distance(users: int, shares: int, modulus: int) -> float:
    """Return a distance that is proven here, rounded up; 1 where there are too few users or shares.

    With h users, m shares and k_a of the users in each of q classes, the square of the distance is at most
    (1/q) sum_k prod_a A(k_a) / A(h), A(i) = (m i)! / i!^2, over all k with more than one class. Classes with
    more than half of the users, and all others, are bounded by a generating function each
    (docs/families/shuffle_protocols.md).

    Parameters
    ----------
    users, shares, modulus : int

    Examples
    --------
    >>> proven_distance(10_000, 6, 10_000) < 1e-6, proven_distance(10_000, 2, 2), proven_distance(3, 9, 2)
    (True, 1.0, 1.0)
    """
    if users < 4 or shares < LEAST_SHARES:
        return 1.0
    half = users // 2
    fall = Fraction((half + 1) ** 2, math.prod(shares * half + step for step in range(1, shares + 1)))
    first, second = math.factorial(shares), Fraction(math.factorial(2 * shares), 4)
    mean = modulus * (first * fall + (half - 1) * second * fall**2)
    if mean >= 1:
        return 1.0
    square = float_up(mean + mean**2) + _spread(users, shares, modulus)
    return min(1.0, math.nextafter(math.sqrt(square), math.inf) * (1.0 + 2.0**-50))


def _spread(users: int, shares: int, modulus: int) -> float:
    """Return a bound of the part in which no class has more than half of the users.

    It is at most x^-h exp(q s) / (q A(h)) for any x, s = sum of A(i) x^i up to h/2; x is taken so that the
    last one is about 1/q. Logarithms of factorials by Stirling's bounds; a factor e covers all roundings.
    """
    half, m = users // 2, shares
    top = m * half * math.log(m * half) - m * half + 0.5 * math.log(m * half) + 1.0
    top -= 2.0 * (half * math.log(half) - half)  # at least ln A(half)
    log_x = -(top + math.log(modulus)) / half
    whole = users * (m * math.log(m) + (m - 2) * (math.log(users) - 1.0)) - math.log(users) - 2.0
    ends = (math.lgamma(2 * m + 1) - math.log(4.0) + 2.0 * log_x, top + half * log_x)
    terms = math.exp(math.lgamma(m + 1) + log_x) + (half - 1) * math.exp(min(50.0, max(ends)))
    exponent = -users * log_x + modulus * terms * (1.0 + 1e-9) - whole - math.log(modulus) + 1.0
    return math.exp(min(50.0, exponent))


def least_shares(users: int, modulus: int, distance: float) -> int | None:
    """Return the fewest shares that mix to within a distance by the theorem; None where 64 are too few.

    One share more is taken where the distance is then proven here.

    Examples
    --------
    >>> least_shares(10_000, 10**7, 2.0**-40)
    10
    """
    counts = range(LEAST_SHARES, MOST_SHARES + 1)
    cited = next((count for count in counts if mixing_distance(users, count, modulus) <= distance), None)
    proven = next((count for count in counts if proven_distance(users, count, modulus) <= distance), None)
    if proven is not None and (cited is None or proven <= cited + 1):
        return proven
    return cited


def split(values: NDArray[np.int64], shares: int, modulus: int, source: BitSource) -> NDArray[np.int64]:
    """Return one row of shares for each number of Z_q: uniform but for their sum.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> split(np.array([3, 0]), 4, 10, bit_source(1)).sum(axis=1) % 10
    array([3, 0])
    """
    pieces = np.empty((len(values), shares), dtype=np.int64)
    pieces[:, :-1] = below(modulus, len(values) * (shares - 1), source).reshape(len(values), shares - 1)
    pieces[:, -1] = (values - pieces[:, :-1].sum(axis=1)) % modulus
    return pieces


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
    (0.0121, True)
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


WHOLE = TOTAL * TOTAL
CONTEXT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)

DEEPEST = 1 << 20
"""Tables do not get longer."""

NEARLY = 1.0 - 1e-6
"""More than what doubles lose in a term of the law up to that depth."""


@lru_cache(maxsize=16)
def polya_table(users: int, ratio: Fraction, depth: int) -> tuple[Table, Fraction]:
    """Return the table of Polya(1/users, ratio) on 0 .. depth, and a bound of its total variation.

    Parameters
    ----------
    users : int
    ratio : Fraction
        a, below 1.
    depth : int

    Notes
    -----
    Sixty digits make every weight right to one unit of 2**-124; together the weights differ from the law by
    at most depth + 2 units, next to the tail, in which every term is below a times the one before.

    Examples
    --------
    >>> table, variation = polya_table(1, Fraction(1, 2), 60)  # a geometric law
    >>> table.weights[0] * 2 == WHOLE - table.weights[-1] and float(variation) < 1e-17
    False
    >>> [round(weight / WHOLE, 12) for weight in table.weights[:3]]
    [0.5, 0.25, 0.125]
    """
    a = CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    r = CONTEXT.divide(Decimal(1), Decimal(users))
    term = CONTEXT.exp(CONTEXT.multiply(r, CONTEXT.ln(CONTEXT.subtract(Decimal(1), a))))
    add, divide, multiply, total = CONTEXT.add, CONTEXT.divide, CONTEXT.multiply, Decimal(WHOLE)
    weights = []
    for k in range(1, depth + 2):
        step = divide(add(r, k - 1), k)
        term = multiply(term, multiply(step, a))
        weights.append(int(multiply(term, total)))
    beyond = Fraction(weights.pop() + 2, WHOLE) / (1 - ratio)
    table = Table([WHOLE - sum(weights), *weights])
    return table, Fraction(2 * (depth + 2), WHOLE) + beyond


def depth_for(users: int, ratio: Fraction, variation: float) -> int:
    """Return a depth at which the tail of Polya(1/users, ratio) is below the variation; at most 2**20.

    Its term k is at most a^k / users, so the tail beyond a depth is at most a^(depth + 1) / (users (1 - a)).

    Examples
    --------
    >>> depth_for(1, Fraction(1, 2), 2.0**-20)
    21
    """
    scale = variation * users * float(1 - ratio)
    return min(DEEPEST, max(1, math.ceil(math.log(scale) / math.log(float(ratio))))) if scale < 1.0 else 1


def least_variation(users: int, ratio: Fraction, depth: int) -> float:
    """Return a number that the bound of :func:`polya_table` is at least, without making the table.

    Examples
    --------
    >>> ratio, (_, variation) = Fraction(9, 10), polya_table(50, Fraction(9, 10), 80)
    >>> 0.99 * variation < least_variation(50, ratio, 80) < variation
    True
    """
    shape, a, k = 1.0 / users, float(ratio), depth + 1
    rising = math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1.0)
    return NEARLY * math.exp(rising + k * math.log(a) + shape * math.log1p(-a)) / float(1 - ratio)


def noise_law(shape: float, ratio: float, reach: int) -> tuple[int, NDArray[np.float64]]:
    """Return the law of the difference of two Polya(shape, ratio) variables, on -reach .. reach, in doubles.

    Examples
    --------
    >>> low, mass = noise_law(1.0, 0.5, 40)
    >>> low, mass[39:42].round(9)  # 1/3 and 1/3 of a half of that
    (-40, array([0.16666667, 0.33333333, 0.16666667]))
    """
    steps = (shape + np.arange(reach, dtype=np.float64)) / (1.0 + np.arange(reach)) * ratio
    single = (1.0 - ratio) ** shape * np.concatenate([[1.0], np.cumprod(steps)])
    mass = np.convolve(single, single[::-1])
    return -reach, mass
