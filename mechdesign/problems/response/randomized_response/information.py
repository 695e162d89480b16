"""Mutual information of answer and report, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mutual_information_bits(prior: Array, channel: Array) -> float:
    """Return I(answer; report) = sum_ij pi_i p_ij log2(p_ij / q_j) with q = pi P.

    Examples
    --------
    >>> round(mutual_information_bits(np.array([0.5, 0.5]), np.eye(2)), 12)
    1.0
    """
    joint = prior[:, None] * channel
    product = prior[:, None] * joint.sum(axis=0)
    positive = joint > 0
    return float((joint[positive] * np.log2(joint[positive] / product[positive])).sum())
