"""Marginals that no view contains: the table of maximum entropy with the marginals that the views have.

The views that meet the wanted attributes give marginals on their common sets; only the maximal ones matter.
Newton's method on the dual finds it, and proportional fitting where that would need too much memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of
from mechdesign.families.marginals.papers.rivals.entropy import (
    CLOSE,
    FIRST,
    ROUNDS,
    Target,
    fits_newton,
    fitted,
    largest_miss,
    newton,
)
from mechdesign.families.marginals.papers.rivals.passes import check_tables
from mechdesign.families.marginals.views import MOST_CELLS, View, check_views, require_cells

Array = NDArray[np.float64]

METHODS = ("newton", "fitting")


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
    method: str | None = None,
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
    method : {None, "newton", "fitting"}
        None fits, and takes Newton's method where that does not reach all marginals soon, unless it would
        need too much memory.

    Raises
    ------
    ParameterError
        For a table that is negative or has the sum 0, or more cells than allowed.
    """
    if method is not None:
        one_of("method", method, METHODS)
    named = check_views(views, len(sizes))
    made = check_tables(named, tables, sizes)
    for number, table in enumerate(made):
        if (table < 0.0).any() or table.sum() <= 0.0:
            raise ParameterError("tables", f"table {number} is negative somewhere, or 0 everywhere")
    return reconstruct_checked(wanted, named, made, sizes, most_cells, method)


def reconstruct_checked(
    wanted: Sequence[int],
    views: Sequence[View],
    tables: Sequence[Array],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
    method: str | None = None,
) -> Reconstruction:
    """Do the same with views and tables that are known to be right."""
    order = tuple(sorted(require_cells(wanted, sizes, most_cells)))
    shape = tuple(sizes[attribute] for attribute in order)
    targets: list[Target] = []
    constraints = constraints_of(order, views)
    for common, source in constraints:
        dropped = tuple(axis for axis, name in enumerate(views[source]) if name not in common)
        marginal = tables[source].sum(axis=dropped)
        axes = tuple(order.index(attribute) for attribute in common)
        targets.append((axes, marginal / marginal.sum()))
    table, miss, rounds = _solved(shape, targets, method)
    back = tuple(order.index(attribute) for attribute in wanted)
    return Reconstruction(table.transpose(back), miss, rounds, tuple(common for common, _ in constraints))


def _solved(shape: View, targets: Sequence[Target], method: str | None) -> tuple[Array, float, int]:
    """Return the table, what it misses, and the rounds: a few of fitting first, then Newton's method."""
    if [axes for axes, _ in targets] == [tuple(range(len(shape)))]:
        return targets[0][1], 0.0, 0
    small = fits_newton(shape, targets)
    if method == "newton":
        table, rounds = newton(shape, targets)
        return table, largest_miss(table, targets), rounds
    table, rounds = fitted(shape, targets, FIRST if method is None and small else ROUNDS)
    miss = largest_miss(table, targets)
    if method == "fitting" or not small or miss <= CLOSE:
        return table, miss, rounds
    other, steps = newton(shape, targets)
    nearer = largest_miss(other, targets)
    return (other, nearer, rounds + steps) if nearer <= miss else (table, miss, rounds + steps)


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
