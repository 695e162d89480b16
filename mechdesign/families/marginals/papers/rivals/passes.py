"""Noisy tables of overlapping views made consistent: the same marginal from every view that has it.

The sets of attributes that views share, closed under intersection, are taken from small to large; on each the
views' marginals are averaged, with weights inversely proportional to their variance, and the difference is
spread evenly over the cells of each view (Zhang 2019, section 3.3.4; Qardaji, Yang, Li 2014). One pass makes
all views consistent, and what comes out is the weighted least-squares projection (the documentation has the
proof); :mod:`mechdesign.families.marginals.effects` computes the same in coordinates in which it is
separable, faster and with no code in common.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.exact.numbers import doubles
from mechdesign.families.marginals.views import View, check_views

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
    made = check_tables(named, tables, sizes)
    trust = check_weights(named, weights)
    for shared in shared_sets(named):
        _agree(shared, named, made, sizes, trust, total if not shared else None)
    return made


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
    made = []
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
        made.append(np.array(flat).reshape(shape))
    return made


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
