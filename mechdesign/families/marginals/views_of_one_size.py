"""Views of one size: by the corrected rule of the thesis, with a covering, or in closed form.

What the thesis's algorithm 3.1 is for, in its own words: among all sizes from the order to l_u whose covering
has at most m_u views, the one with the least max(SE, order x NE); where there is none, as many views of size
l_u as the threshold allows. The printed algorithm differs in line 13 and in where its search stops.

The closed form is for attributes that are all alike, where every marginal of an order is requested. By
symmetry and convexity all views of one size share the users evenly in an optimum; information is linear in
the shares, so one size is best: the one with the largest C(l, k) / a_l. A covering in which every marginal
lies in equally many views does as well with fewer views.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals import view_evaluation
from mechdesign.families.marginals.covering_design import lower_bound
from mechdesign.families.marginals.covering_search import Subsets
from mechdesign.families.marginals.marginal_views import MOST_CELLS, MarginalViews
from mechdesign.families.marginals.view_candidates import (
    MOST_CANDIDATES,
    NOTHING,
    outcome,
)
from mechdesign.families.marginals.view_errors import one_report, planned
from mechdesign.families.marginals.view_evaluation import Wholes, balanced, covering, without_covering
from mechdesign.solvers.descent import allocate


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
