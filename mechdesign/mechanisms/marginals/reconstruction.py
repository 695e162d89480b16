"""Marginals that no view contains: the table of maximum entropy with the marginals that the views have.

The views that meet the wanted attributes give marginals on their common sets; only the maximal ones matter.
Iterative proportional fitting and Newton's method on the dual find the same table, see :func:`reconstruct`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer
from mechdesign.mechanisms.marginals.consistency import View, check_tables, check_views

Array = NDArray[np.float64]

MOST_CELLS = 1 << 24
"""Tables with more cells are refused unless a limit is given: 128 MiB of doubles."""

ROUNDS = 1000
"""Rounds of proportional fitting at most."""

CLOSE = 1e-10
"""A residual below which fitting stops."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A table of maximum entropy.

    Attributes
    ----------
    table : array
        Over the wanted attributes in their order; non-negative, with sum 1.
    residual : float
        The largest difference between its marginals and those it was to have.
    rounds : int
    constraints : tuple of tuple of int
        The sets of attributes whose marginals it was to have.
    """

    table: Array
    residual: float
    rounds: int
    constraints: tuple[View, ...]


def maximum_entropy(
    wanted: Sequence[int],
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
) -> Array:
    """Return the table of maximum entropy over the wanted attributes; see :func:`reconstruct`.

    Examples
    --------
    >>> maximum_entropy((0, 1), [(0,), (1,)], [[0.5, 0.5], [0.25, 0.75]], [2, 2])
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    return reconstruct(wanted, views, tables, sizes, most_cells).table


def reconstruct(
    wanted: Sequence[int],
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
) -> Reconstruction:
    """Return the table of maximum entropy over the wanted attributes, with what it misses of its marginals.

    Parameters
    ----------
    wanted : sequence of int
        Different numbers of attributes, in any order.
    views : sequence of tuple of int
        Increasing numbers of attributes.
    tables : sequence of array
        Non-negative tables of the views, all with the same positive sum.
    sizes : sequence of int
    most_cells : int
        A table with more cells is refused.

    Raises
    ------
    ParameterError
        For a table that is negative or has the sum 0, or more cells than allowed.
    """
    named = check_views(views, len(sizes))
    made = check_tables(named, tables, sizes)
    for number, table in enumerate(made):
        if (table < 0.0).any() or table.sum() <= 0.0:
            raise ParameterError(f"tables: table {number} is negative somewhere, or 0 everywhere")
    order = tuple(sorted(require_cells(wanted, sizes, most_cells)))
    constraints = constraints_of(order, named)
    targets = []
    for common, source in constraints:
        table = made[source] / made[source].sum()
        dropped = tuple(axis for axis, name in enumerate(named[source]) if name not in common)
        targets.append((common, table.sum(axis=dropped)))
    fitted, rounds, gap = _fit(order, targets, sizes)
    back = tuple(order.index(attribute) for attribute in wanted)
    return Reconstruction(fitted.transpose(back), gap, rounds, tuple(common for common, _ in targets))


def require_cells(wanted: Sequence[int], sizes: Sequence[int], most_cells: int = MOST_CELLS) -> View:
    """Return the wanted attributes, or raise ParameterError when their table would need too much memory."""
    read = tuple(integer("wanted", item, 0, len(sizes) - 1) for item in wanted)
    if not read or len(set(read)) != len(read):
        raise ParameterError(f"wanted: expected different attributes, at least one, got {read}")
    cells = math.prod(sizes[attribute] for attribute in read)
    if cells > most_cells:
        raise ParameterError(
            f"marginal: {len(read)} attributes have {cells} cells ({memory(cells)}), {most_cells} "
            f"({memory(most_cells)}) are allowed; ask for fewer attributes, or allow more"
        )
    return read


def memory(cells: int) -> str:
    """Return how much memory so many doubles take, in words.

    Examples
    --------
    >>> memory(1 << 24)
    '128 MiB'
    """
    size = 8 * cells
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >> power:
            return f"{-(-size >> power)} {unit}"
    return f"{size} bytes"


def constraints_of(wanted: View, views: Sequence[View]) -> list[tuple[View, int]]:
    """Return the maximal sets that views share with the wanted attributes, and a view that has each.

    Examples
    --------
    >>> constraints_of((0, 1, 2), [(0, 1, 5), (1, 2), (2, 7)])
    [((0, 1), 0), ((1, 2), 1)]
    """
    inside = frozenset(wanted)
    found: dict[frozenset[int], int] = {}
    for number, view in enumerate(views):
        found.setdefault(inside.intersection(view), number)
    maximal = [common for common in found if common and not any(common < other for other in found)]
    return sorted((tuple(sorted(common)), found[common]) for common in maximal)


def _fit(
    order: View, targets: Sequence[tuple[View, Array]], sizes: Sequence[int]
) -> tuple[Array, int, float]:
    """Scale an even table in turn until it has all marginals, or no longer comes closer."""
    shape = tuple(sizes[attribute] for attribute in order)
    table = np.full(shape, 1.0 / math.prod(shape))
    gap = best = math.inf
    stalled = rounds = 0
    while rounds < ROUNDS and gap > CLOSE and stalled < 20:
        rounds, gap = rounds + 1, 0.0
        for common, target in targets:
            dropped = tuple(axis for axis, attribute in enumerate(order) if attribute not in common)
            now = table.sum(axis=dropped, keepdims=True)
            goal = target.reshape(now.shape)
            gap = max(gap, float(np.abs(now - goal).max()))
            table = table * np.divide(goal, now, out=np.zeros_like(now), where=now > 0.0)
        stalled = 0 if gap < 0.99 * best else stalled + 1
        best = min(best, gap)
    return table, rounds, gap if targets else 0.0
