"""Mutual information of answer and report, in bits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = 1e-280
"""Probabilities of reports below this are not divided by."""

TINY = float(np.finfo(np.float64).tiny)


def mutual_information_bits(prior: Array, channel: Array) -> float:
    """Return I(answer; report) = sum_ij pi_i p_ij log2(p_ij / q_j) with q = pi P.

    Examples
    --------
    >>> round(mutual_information_bits(np.array([0.5, 0.5]), np.eye(2)), 12)
    1.0
    >>> mutual_information_bits(np.array([5e-324, 1.0]), np.array([[0.7, 0.3], [0.3, 0.7]])) >= 0.0
    True
    """
    plain = prior @ channel >= SMALLEST
    return float(pattern_information(prior, channel[:, plain]).sum()) + _of_rare_reports(
        prior, channel[:, ~plain]
    )


def _of_rare_reports(prior: Array, channel: Array) -> float:
    """Return the information of reports that are too rare to divide by their probabilities."""
    joint = prior[:, None] * channel
    averages = np.broadcast_to(joint.sum(axis=0), joint.shape)
    positive = joint > 0
    entries, shares = channel[positive], averages[positive]
    return float((joint[positive] * (np.log2(entries) - np.log2(shares))).sum())


def entropy_bits(prior: Array) -> float:
    """Return the entropy of the prior, which no report can tell more than; exact to the last digits.

    Examples
    --------
    >>> round(entropy_bits(np.array([0.5, 0.5])), 12), entropy_bits(np.array([1e-300, 1.0])) < 1e-296
    (1.0, True)
    """
    ordered = np.sort(prior)
    others = ordered[:-1][ordered[:-1] > 0.0]
    missing = min(math.fsum(others.tolist()), 1.0)
    largest = -(1.0 - missing) * math.log1p(-missing) if missing < 1.0 else 0.0
    return math.fsum([*(-others * np.log2(others)).tolist(), largest / math.log(2.0)])


def pattern_information(prior: Array, patterns: Array) -> Array:
    """Return what each column s tells in bits: sum_i pi_i s_i log2(s_i / pi.s).

    With t_i = s_i/(pi.s) - 1, of mean 0, this is pi.s times the mean of (1 + t) log(1 + t) - t. That is
    never negative, so nothing cancels, however small the shares are.

    Examples
    --------
    >>> found = pattern_information(np.array([1e-170, 1.0]), np.array([[3.0], [1.0]]))
    >>> round(float(found[0]) / 1e-170, 9)  # (3 log 3 - 2) / log 2
    1.86949742
    """
    averages = prior @ patterns
    relative = np.empty_like(patterns)
    for place, row in enumerate(patterns):  # the differences are exact where entries are equal
        relative[place] = (prior @ (row - patterns)) / averages
    found: Array = averages * (prior @ _divergence(relative)) / math.log(2.0)
    return found


def _divergence(change: Array) -> Array:
    """Return (1 + t) log(1 + t) - t, which is about t^2/2 near 0; t is at least -1."""
    small = np.abs(change) < 1e-3
    t = np.where(small, change, 0.0)
    series = t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t / 30))))
    ratio = np.where(small, 1.0, np.maximum(1.0 + change, 0.0))
    found: Array = np.where(small, series, ratio * np.log(np.maximum(ratio, TINY)) - (ratio - 1.0))
    return found
