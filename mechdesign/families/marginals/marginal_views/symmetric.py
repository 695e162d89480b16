"""``marginal-views`` in closed form where all attributes are alike and every marginal of an order is wanted.

By symmetry and convexity all views of one size share the users evenly in an optimum; information is linear
in the shares, so one size is best: the one with the largest C(l, k) / a_l. A covering in which every marginal
lies in equally many views does as well with fewer views.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.covering_design.subsets import Subsets
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.candidates import MOST_CANDIDATES
from mechdesign.families.marginals.marginal_views.coverings import Wholes, covering
from mechdesign.families.marginals.marginal_views.prediction import one_report, planned
from mechdesign.families.marginals.marginal_views.problem import MOST_CELLS, MarginalViews
from mechdesign.families.marginals.marginal_views.splits import NOTHING, outcome
from mechdesign.solvers.reciprocals import allocate


def run(problem: MarginalViews) -> Outcome:
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
        shares = allocate(judging.terms(problem, rows)).shares
    return outcome(problem, rows, shares, bound, source, "formula")


def _best_size(problem: MarginalViews) -> tuple[float, int]:
    """Return the least error of a marginal for one user, and the size of the views that attain it."""
    assert problem.order is not None
    count, order, values = len(problem.sizes), problem.order, problem.sizes[0]
    found = []
    for size in range(order, count + 1):
        if values**size > MOST_CELLS:
            break
        each = one_report(planned(values**size, problem.epsilon, problem.oracle), values**order)
        found.append((each * math.comb(count, order) / math.comb(size, order), size))
    return min(found)


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


def why_not(problem: MarginalViews) -> str | None:
    """Return why attributes or requests are not symmetric, or None."""
    if problem.criterion == "rule":
        return "it is for criterion 'mean' or 'worst', not 'rule'"
    if problem.order is None or problem.views is not None:
        return "it is for all marginals of an order, and no given views"
    if len(set(problem.sizes)) > 1:
        return "the attributes have different numbers of values"
    return None
