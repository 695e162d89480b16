"""The error to be expected of a penalized estimate: noise and the penalty's bias together.

The penalized distribution is the most likely one where ``exp(-lambda KL(p || q))`` is the prior density. Near
the estimate p the prior has the covariance S/lambda, S = diag(p) - pp'; the logarithm of q, which is a sum of
functions of single attributes, is estimated from the same reports, so that the prior is flat along these:
with F the functions of single attributes as columns ::

    G = S / lambda + FREE S F F'S.

The averaged effects, y = E p + noise with covariance 1/m, leave of it the posterior covariance ::

    G - G E's C^-1 s E G,    C = I + s E G E's,    s = sqrt(m).

Its diagonal is the mean square of an error over truths that are as far from independence as lambda presumes,
and over the noise (Wahba 1983; Nychka 1988). Effects that are left out make it larger.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FREE = 100.0
"""The prior variance of the logarithms of single shares: far more than anything that reports leave open."""


def foreseen_squares(
    effects: Array, masses: Array, shares: Array, penalty: float, sums: Array, free: Array
) -> Array:
    """Return the expected squared errors of sums of cells.

    Parameters
    ----------
    effects : (rows, cells) array
        E: the coordinates of effects that were averaged.
    masses : (rows,) array
        One over the variances of their averages.
    shares : (cells,) array
        p, the estimate.
    penalty : float
    sums : (count, cells) array
        The coefficients c of sums of cells.
    free : (functions, cells) array
        F', functions along which the reference was estimated; none for a reference that was given.

    Examples
    --------
    >>> even, halves, none = np.full(2, 0.5), np.array([[1.0, -1.0]]) / np.sqrt(2.0), np.empty((0, 2))
    >>> foreseen_squares(halves, np.array([0.0]), even, 10.0, np.eye(2), none)  # 1/4 over lambda: no report
    array([0.025, 0.025])
    >>> foreseen_squares(halves, np.array([1e4]), even, 10.0, np.eye(2), np.eye(2)).round(9)  # 1/2 over m
    array([5.e-05, 5.e-05])
    """
    ways = np.sqrt(FREE) * _spread(shares, free)  # rows: functions, sqrt(FREE) S F

    def prior(rows: Array) -> Array:
        """Return the covariance of the prior times rows, as rows."""
        covariance: Array = _spread(shares, rows) / penalty + (rows @ ways.T) @ ways
        return covariance

    scaled = np.sqrt(masses)[:, None] * effects
    spread, seen = prior(sums), prior(scaled) @ sums.T
    matrix = prior(scaled) @ scaled.T
    matrix[np.diag_indices_from(matrix)] += 1.0
    told = np.einsum("ij,ij->j", seen, np.linalg.solve(matrix, seen))
    found: Array = np.maximum(np.einsum("ij,ij->i", sums, spread) - told, 0.0)
    return found


def _spread(shares: Array, rows: Array) -> Array:
    """Return (diag(p) - pp') times rows, as rows."""
    return np.asarray(shares * rows - np.outer(rows @ shares, shares))
