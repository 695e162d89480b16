"""The errors by which the thesis chooses views: its formulas (3.6) and (3.7), and the largest view size.

Mean squared errors of whole tables, summed over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

LEAST_SIZE = 2
"""Algorithm 3.1 starts from views of two attributes, whatever their error."""


def mean_cells(sizes: Sequence[int], view_size: int) -> Fraction:
    """Return the mean number of cells over all views of ``view_size`` attributes: e_l(c) / C(d, l).

    Examples
    --------
    >>> mean_cells([2, 2, 2], 2), mean_cells([2, 3, 4], 2)
    (Fraction(4, 1), Fraction(26, 3))
    """
    sums = [1] + [0] * view_size
    for size in sizes:
        for part in range(view_size, 0, -1):
            sums[part] += size * sums[part - 1]
    return Fraction(sums[view_size], math.comb(len(sizes), view_size))


def _cell_variance(cells: float, epsilon: float) -> float:
    """Return min(4 e, L - 2 + e) / (e - 1)^2 with e = e^epsilon: (3.5), for one user.

    Examples
    --------
    >>> round(_cell_variance(4, math.log(3.0)), 12), round(_cell_variance(100, math.log(3.0)), 12)
    (1.25, 3.0)
    """
    w = math.exp(-epsilon)
    return min(4.0 * w, (cells - 2.0) * w * w + w) / math.expm1(-epsilon) ** 2


def noise_error(sizes: Sequence[int], users: int, epsilon: float, view_size: int) -> float:
    """Return NE of (3.6): the noise of one attribute's table, averaged over the views that have it.

    Examples
    --------
    >>> [round(3 * noise_error([2] * 8, 1 << 16, 2.0, size), 5) for size in (3, 4)]
    [0.00032, 0.00077]
    """
    try:
        cells = float(mean_cells(sizes, view_size))
    except OverflowError:
        return math.inf
    return _cell_variance(cells, epsilon) * cells / view_size * len(sizes) / users


def sampling_error(users: int, count: int) -> float:
    """Return SE of (3.7): m / n."""
    return count / users


def largest_size(sizes: Sequence[int], users: int, epsilon: float, order: int, threshold: float) -> int:
    """Return l_u: the largest view size with order x NE <= threshold, at least 2, at most the attributes.

    Examples
    --------
    >>> largest_size([2] * 8, 1 << 16, 2.0, 3, 0.001), largest_size([2] * 8, 1 << 16, 1.4, 3, 0.001)
    (4, 2)
    """
    size = min(LEAST_SIZE, len(sizes))
    while size < len(sizes) and order * noise_error(sizes, users, epsilon, size + 1) <= threshold:
        size += 1
    return size
