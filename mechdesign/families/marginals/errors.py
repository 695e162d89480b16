"""The error to be expected of a marginal, from the precision of the views that share in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

View = tuple[int, ...]


def effect_errors(
    wanted: Sequence[int], views: Sequence[View], sizes: Sequence[int], precision: Sequence[float]
) -> float:
    """Return the expected sum of squared errors of a marginal from the noise of the views that share in it.

    The effect of a set B of attributes, averaged over the views i that contain B, contributes
    prod_{b in B} (c_b - 1) / (C_B sum_i p_i / C_i), where C_B and C_i are the cells of the marginal and of
    the view in a cell of B, and p_i one over the variance of a cell. Effects that no view has add nothing.

    Parameters
    ----------
    wanted : sequence of int
    views : sequence of tuple of int
    sizes : sequence of int
    precision : sequence of float
        p_i; 0 for a view without reports.

    Examples
    --------
    >>> effect_errors((0,), [(0, 1), (0, 2)], [2, 2, 2], [1.0, 1.0])  # the mean of two sums of two cells
    1.0
    """
    cells = [float(np.prod([sizes[a] for a in view])) for view in views]
    inside = [set(view) for view in views]
    whole = float(np.prod([sizes[a] for a in wanted]))
    error = 0.0
    for count in range(1, len(wanted) + 1):
        for effect in combinations(wanted, count):
            own, free = float(np.prod([sizes[a] for a in effect])), np.prod([sizes[a] - 1 for a in effect])
            chosen = set(effect)
            sure = sum(
                p * own / c for p, c, view in zip(precision, cells, inside, strict=True) if chosen <= view
            )
            if sure > 0.0:
                error += float(free) * own / (whole * sure)
    return error
