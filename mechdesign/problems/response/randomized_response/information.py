"""Mutual information of answer and report, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)


def mutual_information_bits(prior: Array, channel: Array) -> float:
    """Return I(answer; report) = sum_ij pi_i p_ij log2(p_ij / q_j) with q = pi P.

    Examples
    --------
    >>> round(mutual_information_bits(np.array([0.5, 0.5]), np.eye(2)), 12)
    1.0
    >>> mutual_information_bits(np.array([5e-324, 1.0]), np.array([[0.7, 0.3], [0.3, 0.7]])) >= 0.0
    True
    """
    joint = prior[:, None] * channel
    averages = np.broadcast_to(joint.sum(axis=0), joint.shape)
    positive = joint > 0
    entries, shares = channel[positive], averages[positive]
    # Not of the products with the prior, which may vanish; and a share may be too small to divide by.
    with np.errstate(over="ignore"):
        ratios = entries / shares
    logarithms = np.where(
        np.isfinite(ratios), np.log2(np.minimum(ratios, LARGEST)), np.log2(entries) - np.log2(shares)
    )
    return float((joint[positive] * logarithms).sum())
