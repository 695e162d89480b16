"""The views that may be taken: unions of requested marginals that no mixture of smaller views dominates.

A view v is dominated where, for some chances of dropping one of its attributes, the views that are left
tell at least as much of every wanted marginal in it on average. With rho_i >= a(L / c_i, A) / a(L, A) for
all L and A, chances proportional to rho_i do it where v has at least the sum of rho_i over v attributes
more than A. So only views with the sum of 1 - rho_i below the most attributes of a marginal are of use, and
so are all their parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.prediction import one_report, planned
from mechdesign.families.marginals.marginal_views.problem import MOST_CELLS, MarginalViews
from mechdesign.families.marginals.marginal_views.workload import View

ROUNDING = 1e-9
"""Sums that close count as equal; the view is kept."""

MOST_CANDIDATES = 4000
"""Views that an allocation is computed over, besides the requested marginals themselves."""


@dataclass(frozen=True)
class Candidates:
    """Views to choose from.

    Attributes
    ----------
    views : list of tuple
    left_out : tuple of int
        The numbers of cells, in rising order, that views which were left out may have; empty where every
        view that can be of use is among the candidates.
    """

    views: list[View]
    left_out: tuple[int, ...] = ()


def candidates(problem: MarginalViews) -> Candidates:
    """Return the given views, or all unions of requested marginals up to a number of cells."""
    if problem.views is not None:
        return Candidates(judging.as_views(problem.views))
    numbers = reachable_cells(problem.sizes)
    kept = retained(problem, numbers)
    spared = [max(0.0, 1.0 - part) for part in kept]
    most = MOST_CANDIDATES + len(problem.wanted)
    low, high = 0, len(numbers)  # the wanted marginals alone are few enough: no union has a single cell
    found = sorted(problem.wanted)
    while high - low > 1:  # the largest limit with few enough candidates
        middle = (low + high) // 2
        more = views_up_to(problem, numbers[middle], most, spared)
        if more is None:
            high = middle
        else:
            low, found = middle, more
    if max(kept) > 1.0:  # a view with an attribute more tells more: then nothing is excluded
        return Candidates(found, tuple(numbers))
    return Candidates(found, tuple(numbers[low + 1 :]))


def reachable_cells(sizes: Sequence[int]) -> list[int]:
    """Return all numbers of cells that views of at most ``MOST_CELLS`` cells can have.

    Examples
    --------
    >>> reachable_cells([2, 2, 3])
    [1, 2, 3, 4, 6, 12]
    """
    found = {1}
    for size in sizes:
        found |= {cells * size for cells in found if cells * size <= MOST_CELLS}
    return sorted(found)


def retained(problem: MarginalViews, numbers: Sequence[int]) -> list[float]:
    """Return for each attribute the largest part of an error that is left when a view drops it.

    At most 1: that fewer cells never tell less is checked here, for all numbers of cells that may occur.
    """
    small = sorted({problem.cells(one) for one in problem.wanted})
    largest = {}
    for size in set(problem.sizes):
        parts = [0.0]
        for cells in numbers:
            if cells % size == 0 and cells // size >= small[0]:
                wide = planned(cells, problem.epsilon, problem.oracle)
                narrow = planned(cells // size, problem.epsilon, problem.oracle)
                parts += [
                    one_report(narrow, one) / one_report(wide, one)
                    for one in small
                    if narrow.cells % one == 0
                ]
        largest[size] = max(parts)
    return [largest[size] for size in problem.sizes]


def views_up_to(problem: MarginalViews, limit: int, most: int, spared: Sequence[float]) -> list[View] | None:
    """Return the wanted marginals, and their unions of at most ``limit`` cells; None for more than ``most``.

    Only unions that may be undominated: the sum of ``spared`` over the attributes is below the largest order.
    Parts of a union have no more cells than it, and no larger sum, so that none is missed by going on only
    from those within both limits.
    """
    if problem.order is not None:  # unions of all sets of one size: all sets of at least that size
        steps = [1 << attribute for attribute in range(len(problem.sizes))]
    else:
        steps = [_bits(one) for one in problem.wanted]
    order = max(map(len, problem.wanted)) + ROUNDING
    sums = {_bits(one): math.fsum(spared[i] for i in one) for one in problem.wanted}
    cells = {_bits(one): problem.cells(one) for one in problem.wanted}
    added: dict[int, tuple[int, float]] = {}  # by how much attributes multiply the cells and raise the sum
    waiting = [one for one, size in cells.items() if size <= limit]
    while waiting:
        if len(cells) > most:
            return None
        view = waiting.pop()
        for step in steps:
            union = view | step
            if union in cells:
                continue
            more = step & ~view
            if more not in added:
                places = _attributes(more)
                added[more] = problem.cells(places), math.fsum(spared[i] for i in places)
            factor, extra = added[more]
            if cells[view] * factor <= limit and sums[view] + extra < order:
                sums[union] = sums[view] + extra
                cells[union] = cells[view] * factor
                waiting.append(union)
    if len(cells) > most:
        return None
    return sorted(map(_attributes, cells), key=lambda view: (len(view), view))


def _bits(view: View) -> int:
    return sum(1 << attribute for attribute in view)


def _attributes(bits: int) -> View:
    return tuple(place for place in range(bits.bit_length()) if bits >> place & 1)
