"""``marginal-views`` by algorithm 3.1 of the thesis as it is printed, line by line.

Line 13 is reached when no smaller size than l_u can be covered, also when l_u is above the order; it then
takes all views of l_u attributes, up to m_u, where a covering by fewer exists.
"""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.marginals.marginal_views.coverings import balanced, covering
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews
from mechdesign.problems.marginals.marginal_views.rule import outcome, why_not
from mechdesign.problems.marginals.marginal_views.splits import NOTHING


def run(problem: MarginalViews) -> Outcome:
    """Return m and l of the printed algorithm, with the covering where it counts one, else balanced views."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="rule", message=NOTHING)
    assert problem.order is not None
    points, order, most = len(problem.sizes), problem.order, problem.most_views  # line 1
    largest = problem.largest_size  # lines 2 to 4
    all_of_them = min(most, math.comb(points, largest))
    if largest < order:  # line 5
        return outcome(problem, balanced(points, largest, all_of_them))
    least = largest  # line 8
    while least > order and covering(points, order, least - 1, most) is not None:
        least -= 1
    if least == largest:  # line 12
        return outcome(problem, balanced(points, largest, all_of_them))
    error, best = 1.0, balanced(points, largest, all_of_them)  # line 15
    for size in range(least, largest + 1):
        views = covering(points, order, size, most)
        if views is not None and max(problem.errors_by_rule(size, len(views))) < error:
            error, best = max(problem.errors_by_rule(size, len(views))), views
    return outcome(problem, best)


METHOD = Method(
    name="published",
    problem=MarginalViews,
    kind="published",
    preference=90,
    summary="algorithm 3.1 as printed",
    run=run,
    why_not=why_not,
)
