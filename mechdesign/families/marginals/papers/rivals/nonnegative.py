"""Tables that are consistent and non-negative at once: the nearest ones in weighted squares.

The two demands are met in turn (Dykstra 1983): a projection on the consistent tables, and one on the
non-negative ones that remembers what it has added. What it remembers are the multipliers of the constraints,
so the same steps climb the dual, here with Nesterov's momentum. The even tables are consistent and positive:
after any number of rounds a mixture with them meets both demands up to rounding, and its share, which is
told, bounds how far the answer is from what the rounds had reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.families.marginals.effects import EffectSpace
from mechdesign.families.marginals.papers.rivals.passes import check_tables, check_weights
from mechdesign.families.marginals.views import check_views

Array = NDArray[np.float64]

ROUNDS = 3000
CLOSE = 1e-9
"""Rounds stop when no cell is below minus this part of the total, and no multiplier pushes a positive one."""


@dataclass(frozen=True, eq=False)
class NonNegative:
    """Consistent non-negative tables.

    Attributes
    ----------
    tables : list of array
        Each of the shape of its attributes' sizes, all with the same sum.
    rounds : int
        How many rounds were needed.
    mixed : float
        The share of the even table that was mixed in to remove what was left below 0.
    gap : float
        An upper bound of the sum of weighted squares that a better answer could save, before mixing.
    """

    tables: list[Array]
    rounds: int
    mixed: float
    gap: float


def non_negative(
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    weights: Sequence[float] | None = None,
    total: float | None = None,
    rounds: int = ROUNDS,
) -> NonNegative:
    """Return the consistent non-negative tables nearest to the given ones in weighted squares.

    Parameters
    ----------
    views, tables, sizes, weights
        As for :func:`~mechdesign.families.marginals.papers.rivals.passes.make_consistent`.
    total : float, optional
        What every table is to sum to; the weighted average of the sums by default.
    rounds : int
        Largest number of rounds.

    Raises
    ------
    DataError
        When the total is not positive: no table says anything.

    Examples
    --------
    >>> found = non_negative([(0, 1)], [[[0.75, 0.5], [0.0, -0.25]]], [2, 2])
    >>> found.tables[0].round(6) + 0.0
    array([[0.625, 0.375],
           [0.   , 0.   ]])
    """
    named = check_views(views, len(sizes))
    made = check_tables(named, tables, sizes)
    space = EffectSpace(named, sizes, check_weights(named, weights))
    start = space.join(made)
    whole = float(space.split(space.project(start))[0].sum()) if total is None else float(total)
    if not 0.0 < whole < math.inf:
        raise DataError(
            "tables", f"sum to {whole:g}, so they have no shares", "give tables with a positive sum"
        )
    vector, used, gap = _nearest(space, start / whole, rounds)
    low, even = vector.min(), space.join([np.full(table.shape, 1.0 / table.size) for table in made])
    mixed = 0.0
    if low < 0.0:
        below = vector < 0.0
        mixed = float(np.max(-vector[below] / (even - vector)[below]))
        vector = np.maximum((1.0 - mixed) * vector + mixed * even, 0.0)
    return NonNegative(space.split(vector * whole), used, mixed, gap)


def _nearest(space: EffectSpace, start: Array, rounds: int) -> tuple[Array, int, float]:
    """Return the point that the rounds reach, how many there were, and the last gap."""
    multipliers = ahead = np.zeros_like(start)
    pace, done, gap = 1.0, 0, 0.0
    point = space.project(start, 1.0)
    while done < rounds:
        gap = float((space.weights * ahead * np.maximum(point, 0.0)).sum())
        if point.min() >= -CLOSE and gap <= CLOSE:
            break
        done += 1
        following = np.maximum(ahead - point, 0.0)
        step = following - multipliers
        if float(((ahead - following) * step).sum()) > 0.0:  # the momentum leads back: restart it
            pace, ahead = 1.0, following
        else:
            quicker = 0.5 + math.sqrt(0.25 + pace**2)
            ahead = np.maximum(following + (pace - 1.0) / quicker * step, 0.0)
            pace = quicker
        multipliers = following
        point = space.project(start + ahead, 1.0)
    return point, done, gap
