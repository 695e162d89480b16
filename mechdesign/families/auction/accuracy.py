"""Number of reports that make an average accurate."""

from __future__ import annotations

import math

from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import rational


def needed(epsilon: float, alpha: float, delta: float, value_range: float = 1.0) -> int:
    """Return the number of users that makes the average of a task accurate, by Chebyshev's inequality.

    Laplace noise for values in an interval of length zeta has variance 2 zeta^2 / epsilon^2. So the average
    of r reports is within alpha of that of the values with probability at least 1 - delta once r >= 2
    zeta^2 / (epsilon^2 alpha^2 delta) (Zhang 2019, lemma 5.3.1, which prints zeta for zeta^2).

    Examples
    --------
    >>> needed(epsilon=1.0, alpha=1.5, delta=0.125)
    8
    """
    parts = {"epsilon": epsilon, "alpha": alpha, "value_range": value_range}
    for field, value in parts.items():
        in_range(field, value, 0.0, math.inf, low_open=True, high_open=True)
    in_range("delta", delta, 0.0, 1.0, low_open=True)
    exact = {field: rational(field, value) for field, value in parts.items()}
    share = rational("delta", delta)
    return math.ceil(2 * (exact["value_range"] / exact["epsilon"] / exact["alpha"]) ** 2 / share)
