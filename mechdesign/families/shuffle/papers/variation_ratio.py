"""The "variation ratio" of k-ary response, as published: it is not a bound (docs/families/shuffle.md).

C ~ Bin(n-1, 2a) others report one of two values, A ~ Bin(C, 1/2) of them the first; the victim adds one to
the first with probability E a, to the second with a, to neither else; a = 1/(E + k - 1), E = e^eps0. The
formula is the divergence of (A, C - A) with the victim from that with the two values exchanged. It forgets
that the other reports of the victim are seen as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

MOST_USERS = 10**8
"""The most users for whom it is evaluated."""

SPREAD = 9.0
"""How many standard deviations of C are summed."""


def variation_ratio(users: int, local_epsilon: float, size: int) -> Callable[[float], float]:
    """Return the formula: delta as a function of the central epsilon, in doubles.

    Examples
    --------
    >>> delta = variation_ratio(4, math.log(3.0), 3)(math.log(2.0))
    >>> round(delta * 625, 9)  # 33/625 is true
    27.0
    """
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    grown = math.exp(local_epsilon)
    each = 1.0 / (grown + size - 1.0)
    rest = (size - 2) * each
    others, chance = users - 1, 2.0 * each
    mean, reach = others * chance, SPREAD * math.sqrt(others * chance * (1.0 - chance)) + 40.0
    c = np.arange(
        max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach)) + 1, dtype=np.float64
    )
    logarithm = gammaln(others + 1.0) - gammaln(c + 1.0) - gammaln(others - c + 1.0)
    weight = np.exp(logarithm + xlogy(c, chance) + xlog1py(others - c, -chance))

    def tail(least: Doubles) -> Doubles:
        """Return Pr[A >= least] for A ~ Bin(c, 1/2)."""
        inside = np.clip(least, 1.0, np.maximum(c, 1.0))
        values = betainc(inside, np.maximum(c - inside + 1.0, 1.0), 0.5)
        return np.where(least <= 0.0, 1.0, np.where(least > c, 0.0, values))

    def delta(epsilon: float) -> float:
        e = math.exp(epsilon)
        high, low = grown * each, each

        def least(total: Doubles) -> Doubles:
            """Return the least number of first values, out of ``total``, with a ratio above e."""
            free = rest * (users - total) * each / (1.0 - 2.0 * each)
            ratio = ((e * high - low) * total + (e - 1.0) * free) / ((high - low) * (1.0 + e))
            return np.floor(ratio) + 1.0

        added, same = least(c + 1.0), least(c)
        inner = (high - e * low) * tail(added - 1.0) + (low - e * high) * tail(added)
        inner += (1.0 - e) * rest * tail(same)
        return float((weight * inner).sum())

    return delta
