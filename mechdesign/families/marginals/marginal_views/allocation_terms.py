"""The error of every requested marginal as a function of the users' shares: c_A / sum over v of w_v b_vA."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.marginals.marginal_views.prediction import one_report, planned
from mechdesign.families.marginals.marginal_views.workload import View
from mechdesign.solvers.reciprocals import ErrorTerms

AT_ONCE = 1 << 22
"""Pairs of a view and a marginal that are compared at once."""


def terms_of(
    sizes: Sequence[int], wanted: dict[View, float], views: Sequence[View], epsilon: float, oracle: str
) -> ErrorTerms:
    """Return the terms for given views.

    Examples
    --------
    >>> terms = terms_of([2, 2], {(0,): 1.0, (1,): 1.0}, [(0,), (1,), (0, 1)], 1.0, "best")
    >>> (terms.information.toarray() > 0).astype(int).tolist()
    [[1, 0, 1], [0, 1, 1]]
    """
    from scipy.sparse import coo_array

    marginals = list(wanted)
    cells = [math.prod(sizes[i] for i in view) for view in views]
    small = [math.prod(sizes[i] for i in marginal) for marginal in marginals]
    rows, columns = contained(marginals, views, len(sizes))
    values = np.zeros(len(rows))
    kinds_of_view, view_kind = np.unique(cells, return_inverse=True)
    kinds_of_marginal, marginal_kind = np.unique(small, return_inverse=True)
    pairs = view_kind[columns] * len(kinds_of_marginal) + marginal_kind[rows]
    for pair in np.unique(pairs).tolist():
        view, marginal = divmod(pair, len(kinds_of_marginal))
        plan = planned(int(kinds_of_view[view]), epsilon, oracle)
        values[pairs == pair] = 1.0 / one_report(plan, int(kinds_of_marginal[marginal]))
    shape = (len(marginals), len(views))
    weights = np.array(list(wanted.values()))
    return ErrorTerms(weights / weights.sum(), coo_array((values, (rows, columns)), shape=shape).tocsr())


def contained(
    marginals: Sequence[View], views: Sequence[View], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a marginal and a view that contains it, by their numbers."""
    small, large = _membership(marginals, count), _membership(views, count)
    lengths = small.sum(axis=1)
    rows, columns = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    height = max(1, AT_ONCE // max(1, len(views)))
    for start in range(0, len(marginals), height):
        part = small[start : start + height]
        row, column = np.nonzero(part @ large.T == lengths[start : start + height, None])
        rows.append(row + start)
        columns.append(column)
    return np.concatenate(rows), np.concatenate(columns)


def _membership(sets: Sequence[View], count: int) -> NDArray[np.float32]:
    found = np.zeros((len(sets), count), dtype=np.float32)
    for row, one in enumerate(sets):
        found[row, list(one)] = 1.0
    return found
