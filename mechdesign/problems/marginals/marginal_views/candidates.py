"""The views that may be taken: all that are unions of wanted marginals, from few cells to many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.problems.marginals.marginal_views import judging
from mechdesign.problems.marginals.marginal_views.problem import MOST_CELLS, MarginalViews
from mechdesign.problems.marginals.marginal_views.workload import View

MOST_CANDIDATES = 4000
"""Views that an allocation is computed over, besides the wanted marginals themselves."""


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
    """Return the given views, or all unions of wanted marginals up to a number of cells."""
    if problem.views is not None:
        return Candidates(judging.as_views(problem.views))
    numbers = reachable_cells(problem.sizes)
    most = MOST_CANDIDATES + len(problem.wanted)
    low, high = 0, len(numbers)  # the wanted marginals alone are few enough: no union has a single cell
    found = sorted(problem.wanted)
    while high - low > 1:  # the largest limit with few enough candidates
        middle = (low + high) // 2
        more = views_up_to(problem, numbers[middle], most)
        if more is None:
            high = middle
        else:
            low, found = middle, more
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


def views_up_to(problem: MarginalViews, limit: int, most: int) -> list[View] | None:
    """Return the wanted marginals, and their unions with at most so many cells; None for more than ``most``.

    Parts of a union have no more cells than it, so that no union is missed by going on only from those
    within the limit.
    """
    if problem.order is not None:  # unions of all sets of one size: all sets of at least that size
        steps = [1 << attribute for attribute in range(len(problem.sizes))]
    else:
        steps = [_bits(one) for one in problem.wanted]
    cells = {_bits(one): problem.cells(one) for one in problem.wanted}
    added: dict[int, int] = {}  # by how much attributes multiply the cells
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
                added[more] = problem.cells(_attributes(more))
            if cells[view] * added[more] <= limit:
                cells[union] = cells[view] * added[more]
                waiting.append(union)
    if len(cells) > most:
        return None
    return sorted(map(_attributes, cells), key=lambda view: (len(view), view))


def _bits(view: View) -> int:
    return sum(1 << attribute for attribute in view)


def _attributes(bits: int) -> View:
    return tuple(place for place in range(bits.bit_length()) if bits >> place & 1)
