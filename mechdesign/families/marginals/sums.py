"""Scores of sums of cells: what one report says of a cell of a marginal, with its moments.

The report of a user supports N of the C cells that make up a cell of a marginal, and scores
(N - C q)/(p - q): 1 on average for a user inside, 0 outside. For the k-ary response, independent bits and
random subsets the law of N is known, and with it all moments of the score.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.moments import Moments
from mechdesign.collect.oracle import Oracle
from mechdesign.exact.numbers import frozen

Array = NDArray[np.float64]


def score_moments(oracle: Oracle, cells: int) -> tuple[Array, Array] | None:
    """Return the second to fourth moments of the score of a sum of cells, for users inside and outside.

    None where the law of the number of supported cells is not known for this oracle.

    Parameters
    ----------
    oracle : Oracle
    cells : int
        C, how many cells are summed.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import UnaryEncoding
    >>> inside, outside = score_moments(UnaryEncoding.optimised(4, 1.0), 2)
    >>> round(float(outside[0]), 6)  # two bits: twice 4 e / (e - 1)^2
    7.365389
    """
    own, other = oracle.support_shares()
    laws = oracle.supported(cells)
    if laws is None:
        return None
    inside, outside = (_scored(law, cells * other, own - other) for law in laws)
    return inside, outside


@lru_cache(maxsize=1024)
def _scored(law: Moments, start: Fraction, gain: Fraction) -> Array:
    """Return E[((N - start)/gain)^r] for r = 2, 3, 4."""
    moments = [
        sum((comb(r, j) * law[j] * (-start) ** (r - j) for j in range(r + 1)), Fraction(0)) / gain**r
        for r in (2, 3, 4)
    ]
    return frozen(np.array([float(moment) for moment in moments]))
