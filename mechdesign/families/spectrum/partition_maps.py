"""Maps of an owner's place, a line or a grid: named priors, the sets that a cloak may be, and their costs.

Priors are uniform, random with a seed, or counts of a map. Sets are intervals of a line, rectangles and discs
of a grid. A set Q costs the places of the unbounded lattice that lose service: those within ``reach`` of Q,
less those within ``reach`` of one place, which are lost even where the owner's place is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
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


Members = NDArray[np.bool_]


@lru_cache(maxsize=4)
def candidate_sets(rows: int, columns: int) -> Members:
    """Return all intervals of a line, or all rectangles and discs of a grid, each once, a row per set.

    Discs have their centers at places, and halfway between neighbors, and are cut to the map.

    Examples
    --------
    >>> candidate_sets(1, 3).astype(int).tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    candidates = {row.tobytes() for row in _rectangles(rows, columns)}
    if rows > 1 and columns > 1:
        candidates |= {row.tobytes() for row in _discs(rows, columns)}
    every = np.array([np.frombuffer(row, dtype=np.bool_) for row in sorted(candidates)])
    every.setflags(write=False)
    return every


def _rectangles(rows: int, columns: int) -> list[Members]:
    vertical, horizontal = _intervals(rows), _intervals(columns)
    return [np.outer(v, h).ravel() for v in vertical for h in horizontal]


def _intervals(size: int) -> list[Members]:
    places = np.arange(size)
    return [(places >= low) & (places <= high) for low in range(size) for high in range(low, size)]


def _discs(rows: int, columns: int) -> list[Members]:
    y, x = np.divmod(np.arange(rows * columns), columns)
    discs = []
    for middle in range(2 * rows - 1):
        for center in range(2 * columns - 1):
            squares = (2 * y - middle) ** 2 + (2 * x - center) ** 2
            discs += [squares <= square for square in np.unique(squares).tolist()]
    return discs


def offsets(reach: float, grid: bool) -> list[tuple[int, int]]:
    """Return the steps (rows, columns) of the lattice within the reach; on a line along it only.

    Examples
    --------
    >>> len(offsets(2.0, True)), len(offsets(2.0, False))
    (13, 5)
    """
    most = math.floor(reach)
    across = range(-most, most + 1) if grid else (0,)
    return [(a, b) for a in across for b in range(-most, most + 1) if a * a + b * b <= reach * reach]


def losses(members: Members, rows: int, columns: int, reach: float) -> NDArray[np.int64]:
    """Return the cost of each set: the places within reach of it, less those within reach of one place.

    Examples
    --------
    >>> losses(np.ones((1, 100), dtype=bool), 10, 10, 2.0)
    array([171])
    """
    grid = rows > 1 and columns > 1
    lines = members if grid else members.reshape(len(members), -1)
    height, width = (rows, columns) if grid else (1, rows * columns)
    around = offsets(reach, grid)
    pad = math.floor(reach)
    above = pad if grid else 0
    covered = np.zeros((len(lines), height + 2 * above, width + 2 * pad), dtype=np.bool_)
    shaped = lines.reshape(len(lines), height, width)
    for a, b in around:
        covered[:, above + a : above + a + height, pad + b : pad + b + width] |= shaped
    return np.asarray(covered.sum(axis=(1, 2), dtype=np.int64) - len(around))
