"""Scores of sums of cells: what one report says of a cell of a marginal, with its moments.

The report of a user supports N of the C cells that make up a cell of a marginal, and scores
(N - C q)/(p - q): 1 on average for a user inside, 0 outside. For the k-ary response, independent bits and
random subsets the law of N is known, and with it all moments of the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from mechdesign.mechanisms.kary import KaryResponse
from mechdesign.mechanisms.marginals.choice import Oracle, support_shares
from mechdesign.mechanisms.oracles.subset import SubsetSelection
from mechdesign.mechanisms.oracles.unary import UnaryEncoding

Array = NDArray[np.float64]
Moments = tuple[Fraction, ...]
"""E[N^r] for r from 0 to 4."""

STIRLING = ((1,), (0, 1), (0, 1, 1), (0, 1, 3, 1), (0, 1, 7, 6, 1))
"""N^r as a sum of falling factorials."""


def knows_sums(oracle: Oracle) -> bool:
    """Whether the law of the number of supported cells is known for this oracle."""
    return isinstance(oracle, (KaryResponse, UnaryEncoding, SubsetSelection))


def score_moments(oracle: Oracle, cells: int) -> tuple[Array, Array]:
    """Return the second to fourth moments of the score of a sum of cells, for users inside and outside.

    Parameters
    ----------
    oracle : Oracle
        One whose sums are known, unless a single cell is asked for.
    cells : int
        C, how many cells are summed.

    Examples
    --------
    >>> from mechdesign.mechanisms.oracles import UnaryEncoding
    >>> inside, outside = score_moments(UnaryEncoding.optimised(4, 1.0), 2)
    >>> round(float(outside[0]), 6)  # two bits: twice 4 e / (e - 1)^2
    7.365389
    """
    own, other = support_shares(oracle)
    inside, outside = (_bernoulli(own), _bernoulli(other)) if cells == 1 else _supported(oracle, cells)
    found = [_scored(law, cells * other, own - other) for law in (inside, outside)]
    return found[0], found[1]


def _scored(law: Moments, start: Fraction, gain: Fraction) -> Array:
    """Return E[((N - start)/gain)^r] for r = 2, 3, 4."""
    moments = [
        sum((comb(r, j) * law[j] * (-start) ** (r - j) for j in range(r + 1)), Fraction(0)) / gain**r
        for r in (2, 3, 4)
    ]
    return np.array([float(moment) for moment in moments])


def _supported(oracle: Oracle, cells: int) -> tuple[Moments, Moments]:
    """Return the moments of N for a user inside the sum and for one outside."""
    own, other = support_shares(oracle)
    size = oracle.labels.size
    if isinstance(oracle, KaryResponse):
        return _bernoulli(own + (cells - 1) * other), _bernoulli(cells * other)
    if isinstance(oracle, UnaryEncoding):
        rest = _from_factorials([Fraction(_falling(cells - 1, r)) * other**r for r in range(5)])
        outside = _from_factorials([Fraction(_falling(cells, r)) * other**r for r in range(5)])
        return _mixed(own, _one_more(rest), rest), outside
    assert isinstance(oracle, SubsetSelection)

    def drawn(among: int, count: int) -> Moments:
        """Return the moments of how many of ``among`` cells are in a random set of ``count`` other cells."""
        return _from_factorials(
            [
                Fraction(_falling(among, r) * _falling(count, r), _falling(size - 1, r) or 1)
                for r in range(5)
            ]
        )

    inside = _mixed(own, _one_more(drawn(cells - 1, oracle.size - 1)), drawn(cells - 1, oracle.size))
    return inside, _mixed(own, drawn(cells, oracle.size - 1), drawn(cells, oracle.size))


def _bernoulli(chance: Fraction) -> Moments:
    return (Fraction(1), chance, chance, chance, chance)


def _falling(number: int, length: int) -> int:
    """Return number (number - 1) ... of so many factors."""
    product = 1
    for step in range(length):
        product *= number - step
    return product


def _from_factorials(factorial: Sequence[Fraction]) -> Moments:
    """Return moments from factorial moments."""
    return tuple(
        sum((Fraction(count) * factorial[j] for j, count in enumerate(row)), Fraction(0)) for row in STIRLING
    )


def _one_more(law: Moments) -> Moments:
    """Return the moments of N + 1."""
    return tuple(sum((comb(r, j) * law[j] for j in range(r + 1)), Fraction(0)) for r in range(5))


def _mixed(share: Fraction, first: Moments, second: Moments) -> Moments:
    return tuple(share * a + (1 - share) * b for a, b in zip(first, second, strict=True))
