"""The methods of papers for ``marginal-views``: rivals that take no views, and the thesis's algorithm 3.1.

The algorithm stands as it is printed, line by line. Line 13 is reached when no smaller size than l_u can be
covered, also when l_u is above the order; it then takes all views of l_u attributes, up to m_u, where a
covering by fewer exists.
"""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.families.marginals.marginal_views.coverings import balanced, covering
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.rule import outcome, why_not
from mechdesign.families.marginals.marginal_views.splits import NOTHING
from mechdesign.families.marginals.papers.marginal_views.rival_designs import SCOPE, refusal, runner


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


def rivals(*named: tuple[str, str]) -> tuple[Method, ...]:
    """Return the methods that collect otherwise than by views, by the names of their rivals."""
    return tuple(
        Method(name.lower(), MarginalViews, "heuristic", f"{name}: {how}", runner(name), refusal(name), SCOPE)
        for name, how in named
    )


METHODS = (
    *rivals(
        ("FC", "every user reports the cell of the table of all attributes"),
        ("AM", "users are split over all tables of the order"),
        ("FT", "users are split over the Fourier coefficients that are needed"),
        ("EM", "every user reports every attribute, each with a part of epsilon"),
        ("BE", "users are split over the requested marginals of attributes encoded as bits"),
    ),
    Method("published", MarginalViews, "published", "algorithm 3.1 as printed", run, why_not),
)
