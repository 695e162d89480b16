"""Named priors of an owner's place on a line or a grid: uniform, random with a seed, and counts of a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import finite_array, in_range, integer

Array = NDArray[np.float64]

MOST_PLACES = 400
"""Places of a map at most: the sets that are considered grow with a power of their number."""


def uniform(size: int, columns: int | None = None) -> Array:
    """Return equal probabilities, on a line or on a grid with this many columns.

    Examples
    --------
    >>> uniform(4), uniform(4, columns=2).shape
    (array([0.25, 0.25, 0.25, 0.25]), (2, 2))
    """
    count = integer("prior.size", size, 1, MOST_PLACES)
    return _laid_out(np.ones(count), columns)


def dirichlet(size: int, seed: int, concentration: float = 1.0, columns: int | None = None) -> Array:
    """Return a random prior from a symmetric Dirichlet distribution, repeatable by its seed.

    Examples
    --------
    >>> dirichlet(6, seed=1, columns=3).shape
    (2, 3)
    """
    count = integer("prior.size", size, 1, MOST_PLACES)
    alpha = in_range("prior.concentration", concentration, 0.0, 1e9, low_open=True)
    generator = np.random.default_rng(integer("prior.seed", seed, 0))
    return _laid_out(generator.gamma(alpha, size=count) + np.finfo(float).tiny, columns)


def counts(counts: Any, extra: float = 0.0, columns: int | None = None) -> Array:
    """Return probabilities proportional to counts, each enlarged by ``extra``.

    Examples
    --------
    >>> counts([3, 0, 1, 0], columns=2)
    array([[0.75, 0.  ],
           [0.25, 0.  ]])
    """
    numbers = finite_array("prior.counts", counts, 1)
    more = in_range("prior.extra", extra, 0.0, 1e100)
    if (numbers < 0).any():
        place = int(np.argmax(numbers < 0))
        raise ParameterError("prior.counts", f"entry {place} is negative", "give counts >= 0")
    if float(numbers.max()) > 1e100 or not (numbers + more).any():
        raise ParameterError("prior.counts", "are all 0 or above 1e100", "give counts of places")
    return _laid_out(numbers + more, columns)


def _laid_out(raw: Array, columns: int | None) -> Array:
    prior: Array = raw / raw.sum()
    if columns is None:
        return prior
    width = integer("prior.columns", columns, 1, MOST_PLACES)
    if len(prior) % width:
        raise ParameterError(
            "prior.columns", f"{width} columns do not divide {len(prior)} places", "give a divisor"
        )
    return prior.reshape(-1, width)


GENERATORS: Mapping[str, Callable[..., Any]] = {"uniform": uniform, "dirichlet": dirichlet, "counts": counts}
