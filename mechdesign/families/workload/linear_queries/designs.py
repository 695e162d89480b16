"""Sets of cells that tell any two cells apart about equally well, few enough to be listed.

Subset selection of N cells takes all sets of its best size k, of which there are too many for large N. Only
how often two cells are in a set together enters the error, so fewer sets do as well: the lines of an affine
plane or the hyperplanes of an affine space over the integers modulo a prime q near N/k. Cells are the first N
points; each is in one set of every direction, and two are in a set together equally often.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.families.workload.linear_queries.simple_reports import (
    MOST_SETS,
    all_subsets,
    best_subset_size,
    spread_of,
    subset_amount,
)
from mechdesign.families.workload.value import Array, Sets

MOST_ENTRIES = 1 << 22
"""Sets times cells, at most: some tens of megabytes at work."""


def cell_sets(cells: int, power: float) -> tuple[Sets, Array]:
    """Return sets of cells with the probability of each for a cell outside of it.

    All sets of the best size where they are few enough; else, whichever tells most, all sets of a smaller
    size or affine hyperplanes.

    Examples
    --------
    >>> sets, amounts = cell_sets(256, np.exp(4.0))
    >>> len(sets), bool(sets.sum(axis=0).min() == sets.sum(axis=0).max())
    (2814, True)
    """
    best = best_subset_size(cells, power)
    if math.comb(cells, best) <= MOST_SETS:
        return all_subsets(cells, best), np.full(math.comb(cells, best), subset_amount(cells, best, power))
    most = min(MOST_SETS, MOST_ENTRIES // cells)
    fewer = [size for size in range(1, best) if math.comb(cells, size) <= most]
    size = max(fewer, key=lambda number: spread_of(cells, number, power))
    primes = [prime for prime in _primes(most) if _hyperplanes(cells, prime) <= most]
    prime = max(primes, key=lambda number: spread_of(cells, cells / number, power))
    if spread_of(cells, size, power) >= spread_of(cells, cells / prime, power):
        sets = all_subsets(cells, size)
    else:
        sets = affine_sets(cells, prime)
    each = sets.sum(axis=0)[0]  # the same for every cell
    return sets, np.full(len(sets), 1.0 / (each * power + len(sets) - each))


def affine_sets(cells: int, prime: int) -> Sets:
    """Return the hyperplanes of the affine space over the integers modulo a prime, on its first points.

    Examples
    --------
    >>> affine_sets(4, 2).astype(int).sum(axis=1).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    digits = _digits(cells, prime)
    points = np.arange(cells)[:, None] // prime ** np.arange(digits) % prime
    found = []
    for lead in range(digits):  # directions (0, .., 0, 1, any, .., any)
        rest = prime ** (digits - lead - 1)
        free = np.arange(rest)[:, None] // prime ** np.arange(digits - lead - 1) % prime
        levels = (points[:, lead] + free @ points[:, lead + 1 :].T) % prime
        found.append((levels[:, None, :] == np.arange(prime)[None, :, None]).reshape(-1, cells))
    sets = np.vstack(found)
    proper: Sets = sets[sets.any(axis=1) & ~sets.all(axis=1)]
    return proper


def _digits(cells: int, prime: int) -> int:
    """Return how many digits number the cells; two at least, or cells in a row would always be apart."""
    digits = 2
    while prime**digits < cells:
        digits += 1
    return digits


def _hyperplanes(cells: int, prime: int) -> int:
    return prime * int(prime ** _digits(cells, prime) - 1) // (prime - 1)


def _primes(most: int) -> list[int]:
    """Return the primes whose square is at most this."""
    return [
        number
        for number in range(2, math.isqrt(most) + 1)
        if all(number % other for other in range(2, math.isqrt(number) + 1))
    ]
