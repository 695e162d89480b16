"""Expectation maximisation on the grouped reports, shared by the methods that use it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint import Likelihood

Array = NDArray[np.float64]


def climb(
    model: Likelihood, start: Array, most_steps: int, change: float = 0.0, gap: float = 0.0
) -> tuple[Array, int, float]:
    """Return where expectation steps lead: each multiplies every cell with its mean likelihood ratio.

    Parameters
    ----------
    model : Likelihood
    start : (cells,) array
        Cells that are 0 stay 0.
    most_steps : int
    change : float
        Stop when no probability has moved by as much; 0 to go on.
    gap : float
        Stop when no mean likelihood ratio is above 1 plus this; 0 to go on.

    Returns
    -------
    distribution : (cells,) array
    steps : int
    moved : float
        The largest change of a probability in the last step.
    """
    point, moved = start, float("inf")
    for step in range(most_steps):
        ratios = model.ratios(model.densities(point))
        if gap and float(ratios.max()) <= 1.0 + gap:
            return point, step, moved
        following = point * ratios
        following /= following.sum()
        moved = float(np.abs(following - point).max())
        point = following
        if moved < change:
            return point, step + 1, moved
    return point, most_steps, moved
