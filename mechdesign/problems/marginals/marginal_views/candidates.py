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
        steps: list[View] = [(attribute,) for attribute in range(len(problem.sizes))]
    else:
        steps = list(problem.wanted)
    found = set(problem.wanted)
    waiting = sorted(view for view in found if problem.cells(view) <= limit)
    while waiting:
        if len(found) > most:
            return None
        view = waiting.pop()
        for step in steps:
            union = tuple(sorted({*view, *step}))
            if union not in found and problem.cells(union) <= limit:
                found.add(union)
                waiting.append(union)
    if len(found) > most:
        return None
    return sorted(found, key=lambda view: (len(view), view))
