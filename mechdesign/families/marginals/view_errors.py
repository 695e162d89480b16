"""The expected squared error of a marginal that is summed up from the reports about one view, or several.

Exact for every distribution of the users but for the sampling part, which is bounded: see
docs/families/marginals_views.md. All figures are for one report; with n w users divide by n w. So the error
of every requested marginal is a function of the users' shares: c_A / sum over v of w_v b_vA
(:func:`terms_of`).

The thesis chooses views by other errors: its formulas (3.6) and (3.7), and the largest view size. They are
mean squared errors of whole tables, summed over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.oracle import best_size
from mechdesign.families.marginals.oracles.best import prefers_response
from mechdesign.families.marginals.view_workload import View
from mechdesign.solvers.descent import ErrorTerms

ORACLES = ("best", "thesis")


@dataclass(frozen=True)
class Plan:
    """The frequency oracle that is planned for a view.

    Attributes
    ----------
    kind : str
        ``subset-selection``, ``randomized-response`` (which is subset selection of size 1) or
        ``optimised-unary``.
    cells : int
    epsilon : float
    size : int
        Of the subsets; 0 for unary encoding.
    """

    kind: str
    cells: int
    epsilon: float
    size: int

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the oracle besides categories and epsilon."""
        return {"size": self.size} if self.kind == "subset-selection" else {}


@cache
def planned(cells: int, epsilon: float, oracle: str) -> Plan:
    """Return the oracle for a view with this number of cells: the best of all, or the thesis's choice.

    Subset selection of the best size has the least variance of all private channels; its pairs of cells are
    interchangeable, so that the error of sums of cells is known exactly.

    Examples
    --------
    >>> planned(16, 1.0, "best").size, planned(16, 1.0, "thesis").kind, planned(4, 1.0, "best").kind
    (4, 'optimised-unary', 'randomized-response')
    """
    if oracle == "thesis":
        if prefers_response(cells, epsilon):
            return Plan("randomized-response", cells, epsilon, 1)
        return Plan("optimised-unary", cells, epsilon, 0)
    size = best_size(cells, epsilon)
    assert size is not None  # no limit on the report's bits
    return Plan("subset-selection" if size > 1 else "randomized-response", cells, epsilon, size)


@cache
def marginal_noise(plan: Plan, marginal_cells: int) -> float:
    """Return the noise of a marginal, summed over its cells, for one report.

    With c cells of the marginal, a user's support of the g = L / c cells that make up one of them has the
    variance V1 where the own cell is among them, else V0: (V1 + (c - 1) V0) / (p - q)^2, whatever the
    distribution.

    Examples
    --------
    >>> round(marginal_noise(planned(2, math.log(3.0), "best"), 2), 12)  # 2 * 3 / (3 - 1)^2
    1.5
    """
    group = plan.cells // marginal_cells
    if plan.kind == "optimised-unary":
        off, own, gain = _unary_moments(plan.epsilon, group)
    else:
        off, own, gain = _subset_moments(plan, group)
    return (own + (marginal_cells - 1) * off) / gain / gain


def _unary_moments(epsilon: float, group: int) -> tuple[float, float, float]:
    w = math.exp(-epsilon)
    each = w / (1.0 + w) ** 2
    return group * each, 0.25 + (group - 1) * each, -math.expm1(-epsilon) / (2.0 * (1.0 + w))


def _subset_moments(plan: Plan, group: int) -> tuple[float, float, float]:
    """Return V0, V1 and p - q: the subset is drawn from the other cells once it is known to have the own."""
    cells, size = plan.cells, plan.size
    w, others = math.exp(-plan.epsilon), plan.cells - 1
    rest = cells - size
    p = size / (size + rest * w)
    not_p = rest * w / (size + rest * w)

    def draws(number: int) -> float:
        """Return the mean variance of how many of ``number`` other cells are in the subset."""
        if others == 1:
            return 0.0
        spread = number * (others - number) / others / others / (others - 1)
        return spread * (p * (size - 1) * (others - size + 1) + not_p * size * (others - size))

    off = draws(group) + p * not_p * (group / others) ** 2
    own = draws(group - 1) + p * not_p * (1.0 - (group - 1) / others) ** 2
    gain = size * rest * -math.expm1(-plan.epsilon) / (size + rest * w) / others
    return off, own, gain


def one_report(plan: Plan, marginal_cells: int) -> float:
    """Return noise and sampling together; sampling adds 1 - sum f^2, at most 1 - 1/cells.

    Examples
    --------
    >>> round(one_report(planned(2, math.log(3.0), "best"), 2), 12)
    2.0
    """
    return marginal_noise(plan, marginal_cells) + 1.0 - 1.0 / marginal_cells


LEAST_SIZE = 2
"""Algorithm 3.1 starts from views of two attributes, whatever their error."""


def mean_cells(sizes: Sequence[int], view_size: int) -> Fraction:
    """Return the mean number of cells over all views of ``view_size`` attributes: e_l(c) / C(d, l).

    Examples
    --------
    >>> mean_cells([2, 2, 2], 2), mean_cells([2, 3, 4], 2)
    (Fraction(4, 1), Fraction(26, 3))
    """
    sums = [1] + [0] * view_size
    for size in sizes:
        for part in range(view_size, 0, -1):
            sums[part] += size * sums[part - 1]
    return Fraction(sums[view_size], math.comb(len(sizes), view_size))


def _cell_variance(cells: float, epsilon: float) -> float:
    """Return min(4 e, L - 2 + e) / (e - 1)^2 with e = e^epsilon: (3.5), for one user.

    Examples
    --------
    >>> round(_cell_variance(4, math.log(3.0)), 12), round(_cell_variance(100, math.log(3.0)), 12)
    (1.25, 3.0)
    """
    w = math.exp(-epsilon)
    return min(4.0 * w, (cells - 2.0) * w * w + w) / math.expm1(-epsilon) ** 2


def noise_error(sizes: Sequence[int], users: int, epsilon: float, view_size: int) -> float:
    """Return NE of (3.6): the noise of one attribute's table, averaged over the views that have it.

    Examples
    --------
    >>> [round(3 * noise_error([2] * 8, 1 << 16, 2.0, size), 5) for size in (3, 4)]
    [0.00032, 0.00077]
    """
    try:
        cells = float(mean_cells(sizes, view_size))
    except OverflowError:
        return math.inf
    return _cell_variance(cells, epsilon) * cells / view_size * len(sizes) / users


def sampling_error(users: int, count: int) -> float:
    """Return SE of (3.7): m / n."""
    return count / users


def largest_size(sizes: Sequence[int], users: int, epsilon: float, order: int, threshold: float) -> int:
    """Return l_u: the largest view size with order x NE <= threshold, at least 2, at most the attributes.

    Examples
    --------
    >>> largest_size([2] * 8, 1 << 16, 2.0, 3, 0.001), largest_size([2] * 8, 1 << 16, 1.4, 3, 0.001)
    (4, 2)
    """
    size = min(LEAST_SIZE, len(sizes))
    while size < len(sizes) and order * noise_error(sizes, users, epsilon, size + 1) <= threshold:
        size += 1
    return size


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
    rows = np.zeros((len(sets), count), dtype=np.float32)
    for row, one in enumerate(sets):
        rows[row, list(one)] = 1.0
    return rows
