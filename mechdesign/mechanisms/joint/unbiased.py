"""Unbiased estimates of joint cells: products of debiased bits, with variances that need no model.

For a user's report T, t_j[b] = (T_j[b] - p*) / (q* - p*) has the mean 1 where the user's value is b, else 0.
The noise of different attributes is independent, so the product over some attributes has the mean 1 in the
user's own cell and 0 in every other: its mean over users estimates the share of the cell without bias,
whatever the joint distribution. For fixed users the variance is (mean of the squares - mean) / n, also
without bias: the square of a mean that is 0 or 1 is that mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.mechanisms.joint.layout import Bits, Codes

Array = NDArray[np.float64]

BLOCK = 1 << 21
"""Numbers of a block of products."""


@dataclass(frozen=True)
class Moments:
    """Means over users of products and of their squares, flat, the last attribute fastest."""

    mean: Array
    square: Array
    users: int

    def variance(self, population: bool) -> Array:
        """Return the estimated variance of the means."""
        if population:
            spread = (self.square - self.mean**2) / max(1, self.users - 1)
        else:
            spread = (self.square - self.mean) / self.users
        found: Array = np.maximum(spread, 0.0)
        return found


def products(bits: Bits | Array, sizes: Sequence[int], own: float, other: float) -> Array:
    """Return the products of debiased bits, or of their means over a user's reports, shape (n, cells)."""
    debiased = (bits - other) / (own - other)
    rows, start = np.ones((len(bits), 1)), 0
    for size in sizes:
        group = debiased[:, start : start + size]
        rows = (rows[:, :, None] * group[:, None, :]).reshape(len(bits), -1)
        start += size
    return rows


def moments(bits: Bits | Array, counts: Codes, sizes: Sequence[int], own: float, other: float) -> Moments:
    """Return the moments of the cells of some attributes.

    Parameters
    ----------
    bits : (n, bits) array
        Of these attributes only.
    counts : (n,) array
        Users of each row.
    sizes : sequence of int
    own, other : float
        q* and p*.

    Examples
    --------
    >>> found = moments(np.array([[1, 0], [0, 1]], dtype=np.uint8), np.array([3, 1]), [2], 0.75, 0.25)
    >>> found.mean, found.variance(population=False)
    (array([1., 0.]), array([0.1875, 0.1875]))
    """
    cells, users = math.prod(sizes), int(counts.sum())
    mean, square = np.zeros(cells), np.zeros(cells)
    step = max(1, BLOCK // cells)
    for start in range(0, len(bits), step):
        rows = products(bits[start : start + step], sizes, own, other)
        weights = counts[start : start + step] / users
        mean += weights @ rows
        square += weights @ rows**2
    return Moments(mean, square, users)


def conditional(
    bits: Bits | Array,
    counts: Codes,
    sizes: Sequence[int],
    given: int,
    own: float,
    other: float,
    population: bool,
) -> tuple[Array, Array]:
    """Return the shares of the cells given the last ``given`` attributes, and standard errors.

    The quotient of two unbiased estimates; its error is that of its linear part (the delta method). NaN where
    the estimated share of the condition is not above two of its standard errors.

    Returns
    -------
    value, standard_error : (cells, conditions) array
    """
    inner = len(sizes) - given
    conditions, users = math.prod(sizes[inner:]), int(counts.sum())
    cells, split = math.prod(sizes[:inner]), sum(sizes[:inner])
    joint = moments(bits, counts, sizes, own, other)
    base = moments(bits[:, split:], counts, sizes[inner:], own, other)
    table = joint.mean.reshape(cells, conditions)
    usable = base.mean > 2.0 * np.sqrt(base.variance(population=False))
    safe = np.where(usable, base.mean, 1.0)
    ratio = table / safe
    square, step = np.zeros_like(ratio), max(1, BLOCK // (cells * conditions))
    for start in range(0, len(bits), step):
        block = bits[start : start + step]
        rows = products(block, sizes, own, other).reshape(-1, cells, conditions)
        below = products(block[:, split:], sizes[inner:], own, other)
        weights = counts[start : start + step] / users
        square += np.einsum("i,ijk->jk", weights, (rows - ratio * below[:, None, :]) ** 2)
    if not population:
        square -= (1.0 - 2.0 * ratio) * table + ratio**2 * base.mean
    error = np.sqrt(np.maximum(square, 0.0) / users) / safe
    gone = np.broadcast_to(~usable, ratio.shape)
    return np.where(gone, np.nan, ratio), np.where(gone, np.nan, error)
