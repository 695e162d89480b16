"""Penalized likelihood of small tables by Newton's method on the cells themselves, with the true curvature.

Where few cells are held and the penalty is small, quadratic models of independent effects approach the
minimum slowly. With A the chances of the reports by cell, c their shares and F(p) = -c'ln(A p) + tau KL(p, q)
a step solves for u = dp / sqrt(p) on the plane where the cells still sum to 1. In these coordinates the
curvature is at least tau in every direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint.likelihood import Likelihood

Array = NDArray[np.float64]

MOST_CELLS = 256
"""Larger tables are left to the quadratic models: the curvature is a matrix of cells by cells."""

MOST_ENTRIES = 1 << 24
"""Of the probabilities of all reports by cell."""

STEPS = 200
INSIDE = 0.9
"""A step goes at most this part of the way to the border."""

FALL = 1e-4
"""The part of the predicted fall that a step has to keep."""


def is_small(model: Likelihood) -> bool:
    """Return whether the curvature of a table fits into memory, and soon enough into time."""
    return model.cells <= MOST_CELLS and model.cells * len(model.counts) <= MOST_ENTRIES


def newton(model: Likelihood, start: Array, reference: Array, tau: float) -> Array:
    """Return about the distribution of penalized likelihood; whoever calls judges it.

    Parameters
    ----------
    model : Likelihood
        A small one.
    start, reference : (cells,) array
        Positive distributions.
    tau : float
        The penalty for each user, > 0.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> newton(model, np.full(2, 0.5), np.full(2, 0.5), 1e-9).round(6).tolist()
    [0.625, 0.375]
    """
    chances = np.column_stack([model.densities(row) for row in np.eye(model.cells)])
    shares = model.counts / model.users
    point: Array = start / start.sum()

    def value(cells: Array) -> float:
        entropy = float(cells @ np.log(cells / reference))
        return tau * entropy - float(shares @ np.log(chances @ cells))

    here = value(point)
    for _ in range(STEPS):
        density = chances @ point
        gradient = tau * (np.log(point / reference) + 1.0) - chances.T @ (shares / density)
        roots = np.sqrt(point)
        scaled = (chances * roots) * (np.sqrt(shares) / density)[:, None]
        curvature = scaled.T @ scaled + tau * np.eye(len(point))
        both = np.linalg.solve(curvature, np.column_stack([roots * gradient, roots]))
        step = roots * (both[:, 1] * (roots @ both[:, 0]) / (roots @ both[:, 1]) - both[:, 0])
        slope = float(gradient @ step)
        if slope > -1e-16 * max(1.0, abs(here)):
            break
        down = step < 0.0
        length = min(1.0, INSIDE * float((-point[down] / step[down]).min())) if down.any() else 1.0
        while length > 1e-12:
            moved = point + length * step
            there = value(moved)
            if there <= here + FALL * length * slope:
                break
            length /= 2.0
        else:
            break
        point, here = moved / moved.sum(), there
    return point
