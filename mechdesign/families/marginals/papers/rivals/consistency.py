"""Noisy tables of overlapping views made consistent: the same marginal from every view that has it.

The sets of attributes that views share, closed under intersection, are taken from small to large; on each the
views' marginals are averaged, with weights inversely proportional to their variance, and the difference is
spread evenly over the cells of each view (Zhang 2019, section 3.3.4; Qardaji, Yang, Li 2014). One pass makes
all views consistent, and what comes out is the weighted least-squares projection (the documentation has the
proof); :mod:`mechdesign.families.marginals.views` computes the same in coordinates in which it is
separable, faster and with no code in common.

Tables that are non-negative as well, the nearest ones in weighted squares (:func:`non_negative`): the two
demands are met in turn (Dykstra 1983), by a projection on the consistent tables, and one on the non-negative
ones that remembers what it has added. What it remembers are the multipliers of the constraints, so the same
steps climb the dual, here with Nesterov's momentum. The even tables are consistent and positive: after any
number of rounds a mixture with them meets both demands up to rounding, and its share, which is reported,
bounds how far the answer is from what the rounds had reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.numbers import doubles
from mechdesign.families.marginals.views import EffectSpace, View, check_views

Array = NDArray[np.float64]


def make_consistent(
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    weights: Sequence[float] | None = None,
    total: float | None = None,
) -> list[Array]:
    """Return tables of which all marginals agree: those nearest to the given ones in weighted squares.

    Parameters
    ----------
    views : sequence of tuple of int
        Increasing numbers of attributes.
    tables : sequence of array
        One a view, flat or of the shape of its attributes' sizes.
    sizes : sequence of int
        How many values each attribute has.
    weights : sequence of float, optional
        One a view, inversely proportional to the variance of its cells; equal by default.
    total : float, optional
        What every table is to sum to, where that is known; the weighted average of the sums by default.

    Returns
    -------
    list of array
        Each of the shape of its attributes' sizes.

    Notes
    -----
    Source: Zhang (2019), section 3.3.4: on a set A the view i gets the weight proportional to 1/(C_i v_i),
    for C_i of its cells with variance v_i in a cell of A.

    Examples
    --------
    >>> a, b = make_consistent([(0, 1), (1, 2)], [[[4, 0], [0, 0]], [[0, 0], [0, 2]]], [2, 2, 2])
    >>> a.sum(axis=0), b.sum(axis=1)
    (array([2., 1.]), array([2., 1.]))
    """
    named = check_views(views, len(sizes))
    flat = check_tables(named, tables, sizes)
    trust = check_weights(named, weights)
    for shared in shared_sets(named):
        _agree(shared, named, flat, sizes, trust, total if not shared else None)
    return flat


def shared_sets(views: Sequence[View]) -> list[View]:
    """Return the empty set and all intersections of views that two views or more have, smaller sets first.

    Sorting by size is a linear extension of inclusion: every set comes after its subsets.

    Examples
    --------
    >>> shared_sets([(0, 1, 2), (1, 2, 3), (2, 3)])
    [(), (2,), (1, 2), (2, 3)]
    """
    closed = {frozenset(view) for view in views}
    latest = set(closed)
    while latest:
        latest = {small & view for small in latest for view in map(frozenset, views)} - closed
        closed |= latest
    shared = [common for common in closed if sum(common <= set(view) for view in views) > 1 or not common]
    return sorted({(), *(tuple(sorted(common)) for common in shared)}, key=lambda item: (len(item), item))


def _agree(
    shared: View,
    views: Sequence[View],
    tables: list[Array],
    sizes: Sequence[int],
    trust: Array,
    total: float | None,
) -> None:
    """Make the views that have a set of attributes agree on its marginal, in place."""
    members = [place for place, view in enumerate(views) if set(shared) <= set(view)]
    marginals, cells = [], []
    for place in members:
        rest = tuple(axis for axis, attribute in enumerate(views[place]) if attribute not in shared)
        marginals.append(tables[place].sum(axis=rest, keepdims=True))
        cells.append(tables[place].size // marginals[-1].size)
    share = trust[members] / np.array(cells)
    share /= share.sum()
    small = tuple(sizes[attribute] for attribute in shared)
    average = sum(
        (part * marginal.reshape(small) for part, marginal in zip(share, marginals, strict=True)),
        start=np.zeros(small),
    )
    if total is not None:
        average = np.full(small, float(total))
    for place, marginal, count in zip(members, marginals, cells, strict=True):
        tables[place] += (average.reshape(marginal.shape) - marginal) / count


def check_tables(views: Sequence[View], tables: Sequence[object], sizes: Sequence[int]) -> list[Array]:
    """Return copies of the tables in the shapes of their views, or raise ParameterError."""
    if len(tables) != len(views):
        raise ParameterError("tables", f"{len(tables)} for {len(views)} views", "give one each")
    checked = []
    for number, (view, table) in enumerate(zip(views, tables, strict=True)):
        shape = tuple(sizes[attribute] for attribute in view)
        raw = np.asarray(table)
        if raw.size != int(np.prod(shape)) or raw.shape not in (shape, (raw.size,)):
            raise ParameterError(
                "tables",
                f"table {number} has the shape {raw.shape}",
                f"its view needs {' x '.join(map(str, shape))}",
            )
        flat = doubles(f"tables: table {number}", raw.ravel(), 1, rounded=True)
        if not np.isfinite(flat).all():
            raise ParameterError("tables", f"table {number} holds an infinite number", "give finite ones")
        checked.append(np.array(flat).reshape(shape))
    return checked


def check_weights(views: Sequence[View], weights: Sequence[float] | None) -> Array:
    """Return one positive weight a view, equal ones by default."""
    if weights is None:
        return np.ones(len(views))
    read = doubles("weights", list(weights), 1, rounded=True)
    if len(read) != len(views):
        raise ParameterError("weights", f"{len(read)} for {len(views)} views", "give one each")
    if not (np.isfinite(read) & (read > 0.0)).all():
        raise ParameterError("weights", "must be positive and finite")
    scaled: Array = read / read.max()
    return scaled


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
        As for :func:`~mechdesign.families.marginals.papers.rivals.consistency.make_consistent`.
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
    >>> tables = non_negative([(0, 1)], [[[0.75, 0.5], [0.0, -0.25]]], [2, 2])
    >>> tables.tables[0].round(6) + 0.0
    array([[0.625, 0.375],
           [0.   , 0.   ]])
    """
    named = check_views(views, len(sizes))
    flat = check_tables(named, tables, sizes)
    space = EffectSpace(named, sizes, check_weights(named, weights))
    start = space.join(flat)
    whole = float(space.split(space.project(start))[0].sum()) if total is None else float(total)
    if not 0.0 < whole < math.inf:
        raise DataError(
            "tables", f"sum to {whole:g}, so they have no shares", "give tables with a positive sum"
        )
    vector, used, gap = _nearest(space, start / whole, rounds)
    low, even = vector.min(), space.join([np.full(table.shape, 1.0 / table.size) for table in flat])
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
