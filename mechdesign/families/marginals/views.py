"""Views: sets of attributes whose tables are released together, and what can be said of them beforehand.

How far the tables of views disagree, how large a table may be, which marginals the views contain (counted
exactly), which frequency oracles can report the cells of a view, and the error that is to be expected of a
marginal from the precision of the views that share in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle, cell_variance
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.exact.numbers import plain_int

Array = NDArray[np.float64]
View = tuple[int, ...]

MOST_CELLS = 1 << 24
"""Tables with more cells are refused unless a limit is given: 128 MiB of doubles."""


def residual(views: Sequence[Sequence[int]], tables: Sequence[NDArray[np.floating]]) -> float:
    """Return the largest difference between two views in a cell of a marginal that both have.

    Parameters
    ----------
    views : sequence of tuple of int
    tables : sequence of array
        Each of the shape of its attributes' sizes.

    Examples
    --------
    >>> residual([(0, 1), (1,)], [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([4.0, 5.0])])
    1.0
    """
    worst, members = 0.0, [set(view) for view in views]
    for first, view in enumerate(views):
        for second in range(first):
            here = _marginal(tables[first], view, members[second])
            there = _marginal(tables[second], views[second], members[first])
            worst = max(worst, float(np.abs(here - there).max()))
    return worst


def _marginal(table: NDArray[np.floating], view: Sequence[int], kept: set[int]) -> Array:
    """Return the marginal of a table on those of its attributes that are kept."""
    dropped = tuple(axis for axis, attribute in enumerate(view) if attribute not in kept)
    summed: Array = table.sum(axis=dropped, dtype=np.float64)
    return summed


def check_views(views: Any, attributes: int) -> list[View]:
    """Return views as tuples of increasing numbers of attributes, or raise ParameterError."""
    if isinstance(views, (str, bytes)) or not isinstance(views, Sequence) or not views:
        raise ParameterError("views", "expected a list of lists of attributes, at least one")
    read = []
    for number, view in enumerate(views):
        members = tuple(plain_int(f"views: view {number}", item) for item in view)
        if not members or list(members) != sorted(set(members)):
            raise ParameterError("views", f"view {number} is not a list of increasing attributes: {members}")
        if members[0] < 0 or members[-1] >= attributes:
            raise ParameterError(
                "views",
                f"view {number} names attribute {members[-1] if members[0] >= 0 else members[0]}",
                f"there are 0 to {attributes - 1}",
            )
        read.append(members)
    return read


def require_cells(wanted: Sequence[int], sizes: Sequence[int], most_cells: int = MOST_CELLS) -> View:
    """Return the wanted attributes, or raise ParameterError when their table would need too much memory."""
    read = tuple(integer("wanted", item, 0, len(sizes) - 1) for item in wanted)
    if not read or len(set(read)) != len(read):
        raise ParameterError("wanted", f"expected different attributes, at least one, got {read}")
    cells = math.prod(sizes[attribute] for attribute in read)
    if cells > most_cells:
        raise ParameterError(
            "marginal",
            f"{len(read)} attributes have {cells} cells ({memory(cells)}), {most_cells} "
            f"({memory(most_cells)}) are allowed",
            "ask for fewer attributes, or allow more",
        )
    return read


def memory(cells: int) -> str:
    """Return the memory that ``cells`` doubles take, in words.

    Examples
    --------
    >>> memory(1 << 24)
    '128 MiB'
    """
    size = 8 * cells
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >> power:
            return f"{-(-size >> power)} {unit}"
    return counted(size, "byte")


MOST_SUBSETS = 1_000_000
"""Orders that need more subsets to be looked at are not looked at."""


def covered_order(views: Sequence[View], attributes: int) -> int:
    """Return the largest k for which every k attributes lie in a view together, as far as it was counted.

    Orders with more than a million subsets of views are not counted; the answer then is a lower bound.

    Examples
    --------
    >>> covered_order([(0, 1), (1, 2), (0, 2)], 3), covered_order([(0, 1), (2,)], 3), covered_order([(0,)], 2)
    (2, 1, 0)
    """
    if any(len(view) == attributes for view in views):
        return attributes
    order = 0
    while order < attributes:
        following = order + 1
        needed = comb(attributes, following)
        within = sum(comb(len(view), following) for view in views)
        if within < needed or within > MOST_SUBSETS:
            break
        if len({subset for view in views for subset in combinations(view, following)}) < needed:
            break
        order = following
    return order


def effect_variance(oracle: Oracle) -> float:
    """Return users times the variance of a table's coordinates other than its sum, the cells being even.

    For any two cells it is variance less covariance. The scores of the k-ary response and of subsets
    sum to 1, so the covariance is -v/(D - 1); those of two independent bits, a draw of users apart, have
    none, and the draw gives -1/D^2, which also stands for the other oracles, whose supports are pairwise
    nearly independent.
    """
    variance, cells = cell_variance(oracle), oracle.labels.size
    if oracle._fixed_support:
        return variance * cells / (cells - 1)
    return variance + 1.0 / cells**2


def noisiest_variance(oracle: Oracle) -> float:
    """Return users times the largest variance that the estimated share of a cell can have."""
    own, other = oracle.support_shares()
    worst = max(share * (1 - share) for share in (own, other))
    return float(worst / (own - other) ** 2) + 0.25


def require_oracle(number: int, oracle: object, cells: int) -> Oracle:
    """Return an oracle that fits a view of ``cells`` cells, or raise ParameterError."""
    where = f"oracles: view {number}"
    if not isinstance(oracle, Oracle):
        raise ParameterError(where, f"{type(oracle).__name__} is not a frequency oracle of this package")
    if isinstance(oracle, KaryResponse) and (oracle.delta or not oracle.keeps_all):
        raise ParameterError(where, "the k-ary response has delta > 0 or keeps some answers only")
    own, other = oracle.support_shares()
    if own <= other:
        raise ParameterError(where, "its reports contain no information about the answers", "raise epsilon")
    if oracle.labels.size != cells:
        raise ParameterError(where, f"is for {oracle.labels.size} cells, the view has {cells}")
    if oracle.labels.names is not None:
        raise ParameterError(where, "has labels of its own", "leave them out, cells are numbers")
    return oracle


def effect_errors(
    wanted: Sequence[int], views: Sequence[View], sizes: Sequence[int], precision: Sequence[float]
) -> float:
    """Return the expected sum of squared errors of a marginal from the noise of the views that share in it.

    The effect of a set B of attributes, averaged over the views i that contain B, contributes
    prod_{b in B} (c_b - 1) / (C_B sum_i p_i / C_i), where C_B and C_i are the cells of the marginal and of
    the view in a cell of B, and p_i one over the variance of a cell. Effects that no view has add nothing.

    Parameters
    ----------
    wanted : sequence of int
    views : sequence of tuple of int
    sizes : sequence of int
    precision : sequence of float
        p_i; 0 for a view without reports.

    Examples
    --------
    >>> effect_errors((0,), [(0, 1), (0, 2)], [2, 2, 2], [1.0, 1.0])  # the mean of two sums of two cells
    1.0
    """
    cells = [float(np.prod([sizes[a] for a in view])) for view in views]
    inside = [set(view) for view in views]
    whole = float(np.prod([sizes[a] for a in wanted]))
    error = 0.0
    for count in range(1, len(wanted) + 1):
        for effect in combinations(wanted, count):
            own, free = float(np.prod([sizes[a] for a in effect])), np.prod([sizes[a] - 1 for a in effect])
            chosen = set(effect)
            sure = sum(
                p * own / c for p, c, view in zip(precision, cells, inside, strict=True) if chosen <= view
            )
            if sure > 0.0:
                error += float(free) * own / (whole * sure)
    return error
