"""Moments of integers, exactly: of indicators, of numbers drawn, of mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb

Moments = tuple[Fraction, ...]
"""E[N^r] for r from 0 to 4."""

STIRLING = ((1,), (0, 1), (0, 1, 1), (0, 1, 3, 1), (0, 1, 7, 6, 1))
"""N^r as a sum of falling factorials."""


def bernoulli(chance: Fraction) -> Moments:
    """Return the moments of a number that is 1 with this probability, else 0."""
    return (Fraction(1), chance, chance, chance, chance)


def binomial_moments(number: int, chance: Fraction) -> Moments:
    """Return the moments of how many of ``number`` independent bits are 1.

    Examples
    --------
    >>> binomial_moments(2, Fraction(1, 2))[1:3]
    (Fraction(1, 1), Fraction(3, 2))
    """
    return _from_factorials([Fraction(_falling(number, r)) * chance**r for r in range(5)])


@lru_cache(maxsize=1024)
def draw_moments(among: int, count: int, total: int) -> Moments:
    """Return the moments of how many of ``among`` things are in a random set of ``count`` out of ``total``.

    Examples
    --------
    >>> draw_moments(1, 2, 3)[1]
    Fraction(2, 3)
    """
    return _from_factorials(
        [Fraction(_falling(among, r) * _falling(count, r), _falling(total, r) or 1) for r in range(5)]
    )


def one_more(law: Moments) -> Moments:
    """Return the moments of N + 1."""
    return tuple(sum((comb(r, j) * law[j] for j in range(r + 1)), Fraction(0)) for r in range(5))


@lru_cache(maxsize=1024)
def of_sets(own: Fraction, total: int, size: int, cells: int) -> tuple[Moments, Moments]:
    """Return the moments of how many of ``cells`` categories a random set of ``size`` categories holds.

    First for users whose category is among them, then for the others. The set holds the own category with the
    chance ``own``, and is uniform otherwise.

    Examples
    --------
    >>> own, other = of_sets(Fraction(2, 3), 4, 2, 1)
    >>> own[1], other[1]
    (Fraction(2, 3), Fraction(4, 9))
    """
    others = total - 1
    rest, less = draw_moments(cells - 1, size, others), draw_moments(cells - 1, size - 1, others)
    without, fewer = draw_moments(cells, size, others), draw_moments(cells, size - 1, others)
    return mixed(own, one_more(less), rest), mixed(own, fewer, without)


def mixed(share: Fraction, first: Moments, second: Moments) -> Moments:
    """Return the moments of a number of the first distribution with this probability, else of the second."""
    return tuple(share * a + (1 - share) * b for a, b in zip(first, second, strict=True))


def _falling(number: int, length: int) -> int:
    """Return number (number - 1) ... with ``length`` factors."""
    product = 1
    for step in range(length):
        product *= number - step
    return product


def _from_factorials(factorial: Sequence[Fraction]) -> Moments:
    """Return moments from factorial moments."""
    return tuple(
        sum((Fraction(count) * factorial[j] for j, count in enumerate(row)), Fraction(0)) for row in STIRLING
    )
