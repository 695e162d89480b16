"""Sets of slots of one size in which every slot, and every pair of slots, is equally often."""

from __future__ import annotations

import itertools
import math

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.workload.value import Array, Sets
from mechdesign.solvers.linear import solve_equality_form

ALL = 2_500
"""Up to this many sets all are taken."""

TRIES = 6


def balanced_sets(slots: int, size: int) -> tuple[Sets, Array]:
    """Return sets of ``size`` slots with weights that sum to 1: all sets, or few with the same balance.

    The few are base sets with all their rotations, so that each slot is in equally many. How often two slots
    are in a set together then depends on their distance alone, and a linear program finds weights of base
    sets at which it is the same for every distance: at most one set more than there are distances.

    Examples
    --------
    >>> sets, weights = balanced_sets(30, 11)
    >>> together = (sets * weights[:, None]).T.astype(float) @ sets
    >>> len(sets) <= 30 * 16, bool(np.ptp(together[~np.eye(30, dtype=bool)]) < 1e-9)
    (True, True)
    """
    if math.comb(slots, size) <= ALL:
        rows = [list(chosen) for chosen in itertools.combinations(range(slots), size)]
        sets = np.zeros((len(rows), slots), dtype=bool)
        for number, row in enumerate(rows):
            sets[number, row] = True
        return sets, np.full(len(rows), 1.0 / len(rows))
    rng = np.random.default_rng(0)
    distances = slots // 2
    for attempt in range(TRIES):
        bases = np.argsort(rng.random((distances << (attempt + 2), slots)), axis=1) < size
        counts = np.array(
            [(bases & np.roll(bases, step, axis=1)).sum(axis=1) for step in range(1, distances + 1)]
        )
        even = np.full(distances, size * (size - 1) / (slots - 1.0))
        equations, limits = np.vstack([counts, np.ones(len(bases))]), np.append(even, 1.0)
        try:
            amounts, _ = solve_equality_form(-rng.random(len(bases)), equations, limits)
        except MethodError:  # the sets that were drawn are all too close together, or too far apart
            continue
        used = amounts > 1e-12
        sets = np.vstack([np.roll(bases[used], turn, axis=1) for turn in range(slots)])
        return sets, np.tile(amounts[used] / amounts[used].sum() / slots, slots)
    raise MethodError("event-counts", f"no balanced sets of {size} out of {slots} slots were drawn")
