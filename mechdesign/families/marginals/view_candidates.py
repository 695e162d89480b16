"""Candidate views, the outcomes of methods that split users among them, methods with views of one size.

Candidates are unions of requested marginals that no mixture of smaller views dominates. A view v is dominated
where, for some chances of dropping one of its attributes, the views that are left tell at least as much of
every requested marginal in it on average. With rho_i >= a(L / c_i, A) / a(L, A) for all L and A, chances
proportional to rho_i do it where v has at least the sum of rho_i over v attributes more than A. So only views
with the sum of 1 - rho_i below the most attributes of a marginal are of use, and so are all their parts.

The methods share outcomes, the treatment of small shares, and refusals.

**Views of one size**, by the corrected rule of the thesis, with a covering, or in closed form. What the
thesis's algorithm 3.1 is for, in its own words: among all sizes from the order to l_u whose covering has at
most m_u views, the one with the least max(SE, order x NE); where there is none, as many views of size l_u as
the threshold allows. The printed algorithm differs in line 13 and in where its search stops.

The closed form is for attributes that are all alike, where every marginal of an order is requested. By
symmetry and convexity all views of one size share the users evenly in an optimum; information is linear in
the shares, so one size is best: the one with the largest C(l, k) / a_l. A covering in which every marginal
lies in equally many views does as well with fewer views.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.problem import Outcome, Status
from mechdesign.core.values import changed
from mechdesign.families.marginals import view_evaluation
from mechdesign.families.marginals.covering_design import lower_bound
from mechdesign.families.marginals.covering_search import Subsets
from mechdesign.families.marginals.marginal_views import MOST_CELLS, MarginalViews
from mechdesign.families.marginals.view_errors import View, one_report, planned
from mechdesign.families.marginals.view_evaluation import Wholes, balanced, covering, without_covering
from mechdesign.solvers.descent import Array, ErrorTerms, allocate

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
        return Candidates(view_evaluation.as_views(problem.views))
    numbers = reachable_cells(problem.sizes)
    bounds = retained(problem, numbers)
    spared = [max(0.0, 1.0 - part) for part in bounds]
    most = MOST_CANDIDATES + len(problem.targets)
    low, high = 0, len(numbers)  # the requested marginals alone are few enough: no union has a single cell
    views = sorted(problem.targets)
    while high - low > 1:  # the largest limit with few enough candidates
        middle = (low + high) // 2
        more = views_up_to(problem, numbers[middle], most, spared)
        if more is None:
            high = middle
        else:
            low, views = middle, more
    if max(bounds) > 1.0:  # a view with an attribute more tells more: then nothing is excluded
        return Candidates(views, tuple(numbers))
    return Candidates(views, tuple(numbers[low + 1 :]))


def reachable_cells(sizes: Sequence[int]) -> list[int]:
    """Return all numbers of cells that views of at most ``MOST_CELLS`` cells can have.

    Examples
    --------
    >>> reachable_cells([2, 2, 3])
    [1, 2, 3, 4, 6, 12]
    """
    reachable = {1}
    for size in sizes:
        reachable |= {cells * size for cells in reachable if cells * size <= MOST_CELLS}
    return sorted(reachable)


def retained(problem: MarginalViews, numbers: Sequence[int]) -> list[float]:
    """Return for each attribute the largest part of an error that is left when a view drops it.

    At most 1: that fewer cells never tell less is checked here, for all numbers of cells that may occur.
    """
    small = sorted({problem.cells(one) for one in problem.targets})
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
    """Return the targets, and their unions of at most ``limit`` cells; None for more than ``most``.

    Only unions that may be undominated: the sum of ``spared`` over the attributes is below the largest order.
    Parts of a union have no more cells than it, and no larger sum, so that none is missed by going on only
    from those within both limits.
    """
    if problem.order is not None:  # unions of all sets of one size: all sets of at least that size
        steps = [1 << attribute for attribute in range(len(problem.sizes))]
    else:
        steps = [_bits(one) for one in problem.targets]
    order = max(map(len, problem.targets)) + ROUNDING
    sums = {_bits(one): math.fsum(spared[i] for i in one) for one in problem.targets}
    cells = {_bits(one): problem.cells(one) for one in problem.targets}
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


NOTHING = "with epsilon = 0 reports contain no information; give a larger epsilon"

MOST_NOTES = 40
"""Views and marginals that are named one by one."""

SPARED = 5e-7
"""The smallest shares are dropped while they raise the value by less than this part of it."""


def impossible(problem: MarginalViews) -> str | None:
    """Return why no views have finite errors, if so."""
    if problem.epsilon == 0.0:
        return NOTHING
    if problem.views is None:
        return None
    missing, first = view_evaluation.uncovered(problem, view_evaluation.as_views(problem.views))
    if missing:
        names = ", ".join(problem.shown_view(first[0]))
        return f"no view contains the marginal of {names} ({missing} such); add a view, or drop it"
    return None


def outcome(
    problem: MarginalViews,
    views: Sequence[View],
    shares: Array,
    bound: float | None = None,
    source: str = "",
    solver: str = "",
) -> Outcome:
    """Return the views with a share worth having; ``optimal`` where the value meets the bound.

    ``bound`` is for all users, as the value is.
    """
    rounded = _larger_shares(problem, views, shares, bound)
    chosen = [view for view, share in zip(views, rounded, strict=True) if share > 0.0]
    split = rounded[rounded > 0.0] / math.fsum(rounded)
    if len(chosen) > problem.users:
        raise ParameterError(
            "users",
            f"{problem.users} users are fewer than the {counted(len(chosen), 'view')} of the split",
            "have more users, want fewer marginals, or give a few large views",
        )
    variables: dict[str, Any] = {
        "size": max(len(view) for view in chosen),
        "count": len(chosen),
        "views": [list(view) for view in chosen],
        "shares": split / math.fsum(split),
    }
    value = problem.objective(variables)
    status: Status = "feasible"
    if bound is not None and value <= bound * (1.0 + problem.optimal_within):
        status = "optimal"
    return Outcome(
        status=status,
        variables=variables,
        bound=bound,
        bound_source=source if bound is not None else "",
        solver=solver,
        notes=_notes(problem, chosen, variables),
    )


def _notes(problem: MarginalViews, views: Sequence[View], variables: dict[str, Any]) -> dict[str, float]:
    """Return the share of each view and the error of each marginal by name, where they are few."""
    if problem.names is None or len(views) + len(problem.targets) > MOST_NOTES:
        return {}

    def name(one: View) -> str:
        return " x ".join(problem.shown_view(one))

    shares = variables["shares"]
    errors = view_evaluation.terms(problem, views).errors(shares) / problem.users
    return {
        **{f"share of {name(view)}": float(share) for view, share in zip(views, shares, strict=True)},
        **{f"error of {name(one)}": float(error) for one, error in zip(problem.targets, errors, strict=True)},
    }


def _larger_shares(
    problem: MarginalViews, views: Sequence[View], shares: Array, bound: float | None
) -> Array:
    """Return the shares without the smallest: as many are dropped as hardly raise the value.

    What an interior method leaves to views that do not matter would be collected from a handful of people.
    """
    terms = view_evaluation.terms(problem, views)

    def value(least: int) -> float:
        """Return the value when the ``least`` smallest shares are dropped."""
        left = shares.copy()
        left[order[:least]] = 0.0
        left /= left.sum()
        return terms.mean(left) if problem.criterion == "mean" else terms.worst(left)

    order = np.argsort(shares, kind="stable")
    reference = value(0) if bound is None else max(value(0), bound * problem.users)
    allowed = reference * (1.0 + SPARED)
    low, high = 0, len(shares)  # dropping none is fine, dropping all is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= allowed else (low, middle)
    rounded = np.zeros(len(shares))
    rounded[order[low:]] = shares[order[low:]]
    return rounded


def price_left_out(problem: MarginalViews, pool: Candidates, terms: ErrorTerms, shares: Array) -> float:
    """Return an upper bound of the worth of a view that is not a candidate.

    The price of a view v is the sum over the marginals A in it of g_A / a_vA, with g_A = c_A f_A^2. A view of
    L cells has at most l attributes, where the l smallest sizes multiply to at most L; so it contains at most
    C(l, j) marginals of j attributes, and at best those of the largest terms.
    """
    gains = terms.weights * terms.errors(shares) ** 2
    cells = np.array([problem.cells(one) for one in problem.targets])
    lengths = np.array([len(one) for one in problem.targets])
    products = np.cumprod(np.sort(np.array(problem.sizes, dtype=np.float64)))
    worth = 0.0
    for large in pool.left_out:
        if large == 1:
            continue
        most = int((products <= large).sum())
        plan = planned(large, problem.epsilon, problem.oracle)
        costs = {
            small: one_report(plan, small) if large % small == 0 else math.inf
            for small in np.unique(cells).tolist()
        }
        each = gains / np.array([costs[small] for small in cells.tolist()])
        total = 0.0
        for length in np.unique(lengths).tolist():
            of_length = np.sort(each[lengths == length])[::-1]
            total += float(of_length[: math.comb(most, length)].sum())
        worth = max(worth, total)
    return worth


def run_rule(problem: MarginalViews) -> Outcome:
    """Compare the sizes; the bound takes the proven lower bound of each covering."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="rule", message=NOTHING)
    assert problem.order is not None
    points, order, most = len(problem.sizes), problem.order, problem.most_views
    largest = problem.largest_size
    options: list[tuple[float, int, Wholes]] = []
    bounds = []
    for size in range(order, largest + 1):
        least = lower_bound(points, order, size)[0]
        if least > most:
            continue
        bounds.append(max(problem.errors_by_rule(size, least)))
        views = covering(points, order, size, most)
        if views is not None:
            options.append((max(problem.errors_by_rule(size, len(views))), size, views))
    if not options:
        size, count = without_covering(problem)
        result = rule_outcome(problem, balanced(points, size, count))
        if bounds:  # a covering that was not found may exist
            return result
        only = problem.objective(result.variables)
        return changed(result, status="optimal", bound=only, bound_source=DETERMINED)
    value, _, views = min(options, key=lambda one: one[:2])
    bound = min(bounds)
    return rule_outcome(problem, views, value <= bound, bound)


DETERMINED = "the threshold: it allows no covering, and leaves one size and number"


def rule_outcome(
    problem: MarginalViews, views: Wholes, optimal: bool = False, bound: float | None = None
) -> Outcome:
    """Return views of one size, each with the same share of the users."""
    count, size = views.shape
    sampling, noise = problem.errors_by_rule(size, count)
    return Outcome(
        status="optimal" if optimal else "feasible",
        variables={
            "size": size,
            "count": count,
            "views": [[int(point) for point in row] for row in views],
            "shares": np.full(count, 1.0 / count),
        },
        bound=bound,
        bound_source="" if bound is None else "the least number of views that can cover, for each size",
        solver="rule",
        notes={"sampling_error": sampling, "noise_error": noise},
    )


def why_not_rule(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for its own criterion), or None."""
    return None if problem.criterion == "rule" else f"it is for criterion 'rule', not '{problem.criterion}'"


def run_symmetric(problem: MarginalViews) -> Outcome:
    """Take the best size; all its views, or fewer that cover evenly."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="formula", message=NOTHING)
    assert problem.order is not None
    count, order = len(problem.sizes), problem.order
    error, size = _best_size(problem)
    views = even_views(problem, size)
    bound = error / problem.users
    source = "the symmetry of the attributes"
    rows = [tuple(row) for row in views.tolist()]
    shares = np.full(len(rows), 1.0 / len(rows))
    times = Subsets(count, order).times_covered(views)
    if times.min() < times.max():  # no even covering is known that is small enough
        shares = allocate(view_evaluation.terms(problem, rows)).shares
    return outcome(problem, rows, shares, bound, source, "formula")


def _best_size(problem: MarginalViews) -> tuple[float, int]:
    """Return the least error of a marginal for one user, and the size of the views that attain it."""
    assert problem.order is not None
    count, order, values = len(problem.sizes), problem.order, problem.sizes[0]
    sizes = []
    for size in range(order, count + 1):
        if values**size > MOST_CELLS:
            break
        each = one_report(planned(values**size, problem.epsilon, problem.oracle), values**order)
        sizes.append((each * math.comb(count, order) / math.comb(size, order), size))
    return min(sizes)


def even_views(problem: MarginalViews, size: int) -> Wholes:
    """Return a covering in which all marginals are equally frequent, or all views, or else a covering."""
    assert problem.order is not None
    count, order = len(problem.sizes), problem.order
    blocks = covering(count, order, size, min(problem.users, MOST_CANDIDATES))
    if blocks is not None and len(set(Subsets(count, order).times_covered(blocks).tolist())) == 1:
        return blocks
    if blocks is None or math.comb(count, size) <= min(problem.users, MOST_CANDIDATES):
        return np.array(list(combinations(range(count), size)), dtype=np.int64)
    return blocks


def why_no_symmetric_views(problem: MarginalViews) -> str | None:
    """Return why attributes or requests are not symmetric, or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    if problem.order is None or problem.views is not None:
        return "it is for all marginals of an order, and no given views"
    if len(set(problem.sizes)) > 1:
        return "the attributes have different numbers of values"
    return None
