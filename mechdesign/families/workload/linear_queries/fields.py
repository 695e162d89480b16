"""Patterns to begin with: thresholds of a Gaussian field whose second moments are those of the spectral dual.

The dual's optimum asks for the moments of the law of patterns with weights w/(pi.v)^2: mass, mean and second
moments. A pair of types is in the set together with a known probability; the correlation of two normal
variables whose thresholds give it is found by bisection of Plackett's integral.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss

from mechdesign.families.workload.value import Array, Sets

POINTS = 24
HALVINGS = 40
LEAST, MOST = 1e-6, 1.0 - 1e-6


def field_sets(
    mass: float, first: Array, second: Array, power: float, count: int, rng: np.random.Generator
) -> Sets:
    """Return patterns drawn from the field, shape (count, n).

    Parameters
    ----------
    mass, first, second : float, (n,) array, (n, n) array
        Moments of the law of patterns v in {1, E}^n.
    power : float
        E = e^epsilon.
    count : int
    rng : numpy Generator
    """
    single = np.clip((first / mass - 1.0) / (power - 1.0), 0.01, 0.99)
    both = (second / mass - 1.0 - (power - 1.0) * (single[:, None] + single)) / (power - 1.0) ** 2
    threshold = -_normal_quantiles(single)  # a type is in the set when its variable exceeds this
    correlation = tetrachoric(threshold, both)
    levels, turn = np.linalg.eigh(correlation)
    root = turn * np.sqrt(np.maximum(levels, 0.0))
    root /= np.sqrt((root**2).sum(axis=1, keepdims=True))
    field = rng.standard_normal((count, len(root))) @ root.T - threshold
    wanted = float(single.sum())
    sizes = np.floor(wanted + rng.random(count)).astype(int)
    return top_entries(field, np.clip(sizes, 1, len(root) - 1))


def top_entries(values: Array, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Sets:
    """Return the sets of the largest entries of each row, as many as ``sizes`` says.

    Examples
    --------
    >>> top_entries(np.array([[0.3, 0.1, 0.2]]), np.array([2])).astype(int).tolist()
    [[1, 0, 1]]
    """
    order = np.argsort(-values, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(values.shape[1])[None, :], axis=1)
    found: Sets = rank < sizes[:, None]
    return found


def _normal_quantiles(shares: Array) -> Array:
    """Return the quantiles of the normal distribution."""
    from scipy.special import ndtri

    found: Array = ndtri(shares)
    return found


def tetrachoric(threshold: Array, both: Array) -> Array:
    """Return the correlations at which two normal variables exceed both thresholds with chance ``both``.

    Parameters
    ----------
    threshold : (n,) array
    both : (n, n) array

    Examples
    --------
    >>> found = tetrachoric(np.zeros(2), np.array([[0.5, 1 / 3], [1 / 3, 0.5]]))  # 1/4 + asin(r)/(2 pi)
    >>> round(float(found[0, 1]), 9)
    0.5
    """
    from scipy.special import ndtr

    size = len(threshold)
    first, last = np.triu_indices(size, 1)
    a, b = threshold[first], threshold[last]
    start = ndtr(-a) * ndtr(-b)
    wanted = both[first, last] - start
    nodes, weights = leggauss(POINTS)
    squares, product = a**2 + b**2, 2.0 * a * b
    low, high = np.full(len(a), -1.0), np.full(len(a), 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        end = np.arcsin(middle)
        angle = np.outer(end / 2.0, nodes + 1.0)
        sine = np.sin(angle)
        shape = np.exp(
            -(squares[:, None] - product[:, None] * sine) / (2.0 * np.maximum(1.0 - sine**2, 1e-12))
        )
        found = (shape @ weights) * end / 2.0 / (2.0 * np.pi)
        above = found > wanted
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    matrix = np.eye(size)
    matrix[first, last] = matrix[last, first] = (low + high) / 2.0
    return matrix


def arcs(size: int) -> Sets:
    """Return all arcs of the circle of types of about half of its length, and all single types.

    Examples
    --------
    >>> arcs(3).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]
    """
    place = np.arange(size)
    found = [np.eye(size, dtype=bool)]
    for length in sorted({max(2, size // 4), (size + 1) // 2}):
        found.append((place[None, :] - place[:, None]) % size < length)
    return np.unique(np.vstack(found), axis=0)[::-1] if size > 3 else np.vstack(found[:2])
