"""Unbiased estimates of joint cells: products of debiased bits that sum to one over each attribute.

For a user's report T, t_j[b] = (T_j[b] - p*) / (q* - p*) has the mean 1 where the user's value is b, else 0.
Every user has one value of each attribute, so that

    u_j[b] = t_j[b] - (sum_c t_j[c] - 1) / k_j

has the same means; it is the nearest point to t_j with sum 1. The noise of different attributes is
independent, so the product of u_j[b_j] over some attributes has the mean 1 in the user's own cell and 0 in
every other: its mean over users estimates the share of the cell without bias, whatever the joint
distribution. A conditional share is the quotient of two of them. With s_1 and s_0 the variances of t for a
true 1 and a true 0, the variances of u sum over the values of an attribute to (1 - 1/k) (s_1 + (k - 1) s_0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint.layout import Bits, Codes

Array = NDArray[np.float64]

BLOCK = 1 << 21
"""Numbers of a block of products."""


def products(bits: Bits | Array, sizes: Sequence[int], own: float, other: float) -> Array:
    """Return the products of sum-to-one debiased bits, or of means over a user's reports, (n, cells)."""
    debiased = (bits - other) / (own - other)
    rows, start = np.ones((len(bits), 1)), 0
    for size in sizes:
        group = debiased[:, start : start + size]
        group = group - (group.sum(axis=1, keepdims=True) - 1.0) / size
        rows = (rows[:, :, None] * group[:, None, :]).reshape(len(bits), -1)
        start += size
    return rows


def unbiased(bits: Bits | Array, counts: Codes, sizes: Sequence[int], own: float, other: float) -> Array:
    """Return the unbiased estimates of the cells of some attributes, one axis each.

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
    >>> unbiased(np.array([[1, 0], [0, 1]], dtype=np.uint8), np.array([3, 1]), [2], 0.75, 0.25)
    array([1., 0.])
    """
    cells, users = math.prod(sizes), int(counts.sum())
    mean, step = np.zeros(cells), max(1, BLOCK // cells)
    for start in range(0, len(bits), step):
        rows = products(bits[start : start + step], sizes, own, other)
        mean += counts[start : start + step] / users @ rows
    return mean.reshape(tuple(sizes))


def conditionals(tables: Array, inner: int) -> Array:
    """Return tables (first axis) divided by their sums over the next axes, ``inner`` many; NaN where 0.

    Examples
    --------
    >>> conditionals(np.array([[[0.5, 0.0], [0.25, 0.0]]]), 1)
    array([[[0.66666667,        nan],
            [0.33333333,        nan]]])
    """
    sums = tables.sum(axis=tuple(range(1, inner + 1)), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums > 0.0, tables / sums, np.nan)
