"""Priors of answers: named ones, their entropy, and the information that a report gives, in bits.

Model files name uniform, zipf, geometric and seeded random priors, and counts of a survey.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import finite_array, in_range, integer

Array = NDArray[np.float64]

MAX_SIZE = 100_000_000


def uniform(size: int) -> Array:
    """Return equal probabilities.

    Examples
    --------
    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    return np.full(count, 1.0 / count)


def zipf(size: int, exponent: float = 1.0) -> Array:
    """Return probabilities proportional to 1 / rank^exponent.

    Examples
    --------
    >>> zipf(3).round(4)
    array([0.5455, 0.2727, 0.1818])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    power = in_range("prior.exponent", exponent, 0.0, 100.0)
    raw = np.arange(1, count + 1, dtype=np.float64) ** -power
    return _normalised(raw)


def geometric(size: int, ratio: float) -> Array:
    """Return probabilities proportional to ratio^rank, 0 < ratio <= 1.

    Examples
    --------
    >>> geometric(3, 0.5).round(4)
    array([0.5714, 0.2857, 0.1429])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    factor = in_range("prior.ratio", ratio, 0.0, 1.0, low_open=True)
    return _normalised(factor ** np.arange(count, dtype=np.float64))


def dirichlet(size: int, seed: int, concentration: float = 1.0) -> Array:
    """Return a random prior from a symmetric Dirichlet distribution, repeatable by its seed."""
    count = integer("prior.size", size, 1, MAX_SIZE)
    alpha = in_range("prior.concentration", concentration, 0.0, 1e9, low_open=True)
    generator = np.random.default_rng(integer("prior.seed", seed, 0))
    return _normalised(generator.gamma(alpha, size=count) + np.finfo(float).tiny)


LARGEST_COUNT = 1e100
"""Larger counts have sums beyond double precision."""


def counts(counts: Any, extra: float = 0.0) -> Array:
    """Return probabilities proportional to counts, each enlarged by ``extra``.

    Examples
    --------
    >>> counts([3, 0, 1], extra=0.5).round(4)
    array([0.6364, 0.0909, 0.2727])
    """
    numbers = finite_array("prior.counts", counts, 1)
    more = in_range("prior.extra", extra, 0.0, 1e300)
    if (numbers < 0).any():
        raise ParameterError(
            "prior.counts", f"entry {int(np.argmax(numbers < 0))} is negative", "give counts >= 0"
        )
    if max(float(numbers.max()), more) > LARGEST_COUNT:
        raise ParameterError(
            "prior.counts", f"a count or extra is above {LARGEST_COUNT:g}", "divide all by it"
        )
    if not (numbers + more).any():
        raise ParameterError("prior.counts", "are all 0", "give at least one count, or extra > 0")
    return _normalised(numbers + more)


def _normalised(raw: Array) -> Array:
    # The second division removes the rounding of the first: sums of a million terms are exact enough.
    once = raw / raw.sum()
    twice: Array = once / float(np.sum(once, dtype=np.longdouble))
    return twice


GENERATORS: Mapping[str, Callable[..., Any]] = {
    "uniform": uniform,
    "zipf": zipf,
    "geometric": geometric,
    "dirichlet": dirichlet,
    "counts": counts,
}


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
    >>> information = pattern_information(np.array([1e-170, 1.0]), np.array([[3.0], [1.0]]))
    >>> round(float(information[0]) / 1e-170, 9)  # (3 log 3 - 2) / log 2
    1.86949742
    """
    averages = prior @ patterns
    relative = np.empty_like(patterns)
    for place, row in enumerate(patterns):  # the differences are exact where entries are equal
        relative[place] = (prior @ (row - patterns)) / averages
    information: Array = averages * (prior @ _divergence(relative)) / math.log(2.0)
    return information


def _divergence(change: Array) -> Array:
    """Return (1 + t) log(1 + t) - t, which is about t^2/2 near 0; t is at least -1."""
    small = np.abs(change) < 1e-3
    t = np.where(small, change, 0.0)
    series = t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t / 30))))
    ratio = np.where(small, 1.0, np.maximum(1.0 + change, 0.0))
    divergence: Array = np.where(small, series, ratio * np.log(np.maximum(ratio, TINY)) - (ratio - 1.0))
    return divergence
