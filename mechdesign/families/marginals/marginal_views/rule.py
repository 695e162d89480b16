"""``marginal-views`` by the corrected rule: the best view size that the threshold allows, with a covering.

What the thesis's algorithm 3.1 is for, in its own words: among all sizes from the order to l_u whose covering
has at most m_u views, the one with the least max(SE, order x NE); where there is none, as many views of size
l_u as the threshold allows. The printed algorithm differs in line 13 and in where its search stops.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.covering_design.bounds import lower_bound
from mechdesign.families.marginals.marginal_views.coverings import Wholes, balanced, covering
from mechdesign.families.marginals.marginal_views.judging import without_covering
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.splits import NOTHING


def run(problem: MarginalViews) -> Outcome:
    """Compare the sizes; the bound takes the proven lower bound of each covering."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="rule", message=NOTHING)
    assert problem.order is not None
    points, order, most = len(problem.sizes), problem.order, problem.most_views
    largest = problem.largest_size
    found: list[tuple[float, int, Wholes]] = []
    bounds = []
    for size in range(order, largest + 1):
        least = lower_bound(points, order, size)[0]
        if least > most:
            continue
        bounds.append(max(problem.errors_by_rule(size, least)))
        views = covering(points, order, size, most)
        if views is not None:
            found.append((max(problem.errors_by_rule(size, len(views))), size, views))
    if not found:
        size, count = without_covering(problem)
        result = outcome(problem, balanced(points, size, count))
        if bounds:  # a covering that was not found may exist
            return result
        only = problem.objective(result.variables)
        return changed(result, status="optimal", bound=only, bound_source=DETERMINED)
    value, _, views = min(found, key=lambda one: one[:2])
    bound = min(bounds)
    return outcome(problem, views, value <= bound, bound)


DETERMINED = "the threshold: it allows no covering, and leaves one size and number"


def outcome(
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


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for its own criterion), or None."""
    return None if problem.criterion == "rule" else f"it is for criterion 'rule', not '{problem.criterion}'"
