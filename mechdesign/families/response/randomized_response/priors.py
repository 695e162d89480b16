"""Named priors for model files: uniform, zipf, geometric, random ones with a seed, and counts of a survey."""

from __future__ import annotations

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
