"""The request of an analyst, and the expected squared error of a marginal from the reports about views.

Exact for every distribution of the users but for the sampling part, which is bounded: see
docs/families/marginals_views.md. All figures are for one report; with n w users divide by n w. So the error
of every requested marginal is a function of the users' shares: c_A / sum over v of w_v b_vA
(:func:`terms_of`).

The thesis chooses views by other errors: its formulas (3.6) and (3.7), and the largest view size. They are
mean squared errors of whole tables, summed over the cells.

The request has attributes with their sizes and names, and marginals with weights; both are checked here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, UnknownNameError, counted, suggestion
from mechdesign.core.validation import in_range, integer, require_keys
from mechdesign.exact.numbers import text_of
from mechdesign.families.marginals.covering_design import short_number
from mechdesign.families.marginals.oracles.best import prefers_response
from mechdesign.primitives.oracle import best_size
from mechdesign.solvers.descent import ErrorTerms

View = tuple[int, ...]
"""Attributes by their numbers, in rising order."""

MOST_ATTRIBUTES = 200
MOST_VALUES = 1 << 20
"""Values of one attribute."""

MOST_MARGINALS = 200_000
"""Wanted marginals whose errors are predicted one by one."""

ENTRY_KEYS = ("attributes", "weight")


def checked_sizes(value: Any) -> tuple[int, ...]:
    """Return the domain sizes; a whole number d means d attributes with two values each.

    Examples
    --------
    >>> checked_sizes(3), checked_sizes([2, 5])
    ((2, 2, 2), (2, 5))
    """
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__"):
        return (2,) * integer("attributes", value, 1, MOST_ATTRIBUTES)
    if not len(value):
        raise ParameterError("attributes", "is empty", "give the number of values of each attribute")
    if len(value) > MOST_ATTRIBUTES:
        raise ParameterError("attributes", f"{len(value)} are more than {MOST_ATTRIBUTES}", "leave some out")
    sizes = []
    for number, size in enumerate(value):
        field = f"attributes: entry {number}"
        if integer(field, size, 0, MOST_VALUES) < 2:
            raise ParameterError(
                field, f"has {text_of(size)} value(s), so there is nothing to ask", "drop it"
            )
        sizes.append(int(size))
    return tuple(sizes)


def checked_names(value: Any, count: int) -> tuple[str, ...] | None:
    """Return one name for each attribute, each once, or None where none are given."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
        raise ParameterError("names", f"expected a list of names, got {text_of(value)}")
    if len(value) != count:
        raise ParameterError(
            "names", f"{counted(len(value), 'name')} for {count} attributes", "give one for each"
        )
    for name in value:
        if list(value).count(name) > 1:
            raise ParameterError("names", f"'{name}' is there twice", "give each attribute a name of its own")
    return tuple(value)


def attribute_set(field: str, value: Any, count: int, names: Sequence[str] | None) -> View:
    """Return attributes, given by names or by numbers from 0, in rising order.

    Examples
    --------
    >>> attribute_set("views", ["b", 0], 2, ("a", "b"))
    (0, 1)
    """
    if isinstance(value, str) or not hasattr(value, "__len__") or isinstance(value, Mapping):
        raise ParameterError(field, f"expected a list of attributes, got {text_of(value)}")
    numbers = []
    for entry in value:
        if isinstance(entry, str):
            if names is None:
                raise ParameterError(field, f"names attribute '{entry}', but there are no names", "add names")
            if entry not in names:
                raise UnknownNameError(field, f"no attribute '{entry}'", suggestion(entry, names))
            numbers.append(names.index(entry))
        else:
            numbers.append(integer(f"{field}: attribute", entry, 0, count - 1))
    if not numbers:
        raise ParameterError(field, "is empty", "name at least one attribute")
    if len(set(numbers)) < len(numbers):
        raise ParameterError(field, "has an attribute twice", "name each once")
    return tuple(sorted(numbers))


def checked_sets(field: str, value: Any, count: int, names: Sequence[str] | None) -> tuple[View, ...]:
    """Return a list of attribute sets, each once."""
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError(field, f"expected a list of lists of attributes, got {text_of(value)}")
    if len(value) > MOST_MARGINALS:
        raise ParameterError(field, f"{len(value)} are more than {MOST_MARGINALS}", "leave some out")
    distinct: dict[View, None] = {}
    for number, entry in enumerate(value):
        one = attribute_set(f"{field}: entry {number}", entry, count, names)
        if one in distinct:
            raise ParameterError(field, f"entry {number} is there twice", "drop one")
        distinct[one] = None
    return tuple(distinct)


def checked_workload(value: Any, count: int, names: Sequence[str] | None) -> dict[View, float]:
    """Return the weight of each requested marginal.

    Each entry is a list of attributes, or ``{attributes = [...], weight = 2.0}``; the weight is 1 where none
    is given.

    Examples
    --------
    >>> checked_workload([["a", "b"], {"attributes": ["b"], "weight": 3}], 2, ("a", "b"))
    {(0, 1): 1.0, (1,): 3.0}
    """
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError("workload", f"expected a list of marginals, got {text_of(value)}")
    weights = []
    for number, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            weights.append(1.0)
            continue
        field = f"workload: entry {number}"
        require_keys(field, entry, ENTRY_KEYS)
        if "attributes" not in entry:
            raise ParameterError(field, "attributes is missing", "name the attributes of the marginal")
        weights.append(in_range(f"{field}: weight", entry.get("weight", 1.0), 0.0, 1e9, low_open=True))
    sets = [entry["attributes"] if isinstance(entry, Mapping) else entry for entry in value]
    return dict(zip(checked_sets("workload", sets, count, names), weights, strict=True))


def all_marginals(count: int, order: int) -> dict[View, float]:
    """Return every marginal of ``order`` of the attributes, with weight 1.

    Raises
    ------
    ParameterError
        Where they are too many, saying how much memory their errors would take.
    """
    number = math.comb(count, order)
    if number > MOST_MARGINALS:
        gibibytes = max(1, number * 256 >> 30)
        raise ParameterError(
            "order",
            f"{count} attributes have {short_number(number)} marginals of {order}, whose errors would take "
            f"{short_number(gibibytes)} GiB of memory",
            f"{MOST_MARGINALS} are the limit: give a workload, or a smaller order",
        )
    return dict.fromkeys(combinations(range(count), order), 1.0)


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
    return _mean_cells(tuple(sizes), view_size)


@lru_cache(maxsize=1024)
def _mean_cells(sizes: tuple[int, ...], view_size: int) -> Fraction:
    """Return the same; problems that differ in users or epsilon ask for the same again."""
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
    sizes: Sequence[int], targets: dict[View, float], views: Sequence[View], epsilon: float, oracle: str
) -> ErrorTerms:
    """Return the terms for given views.

    Examples
    --------
    >>> terms = terms_of([2, 2], {(0,): 1.0, (1,): 1.0}, [(0,), (1,), (0, 1)], 1.0, "best")
    >>> (terms.information.toarray() > 0).astype(int).tolist()
    [[1, 0, 1], [0, 1, 1]]
    """
    from scipy.sparse import coo_array

    marginals = list(targets)
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
    weights = np.array(list(targets.values()))
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
