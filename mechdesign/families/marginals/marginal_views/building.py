"""From views and shares to what runs: the oracles that are planned, with exact integer weights."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mechdesign.collect.attributes import Attributes
from mechdesign.collect.oracle import Oracle
from mechdesign.core.solution import Solution
from mechdesign.families.marginals.marginal_views.judging import as_views
from mechdesign.families.marginals.marginal_views.prediction import Plan, planned
from mechdesign.families.marginals.oracles.best import BUILT
from mechdesign.families.marginals.release import MarginalRelease

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views.problem import MarginalViews


def release(problem: MarginalViews, solution: Solution[Any]) -> MarginalRelease:
    """Return the release of the views; attributes that are in none are left out."""
    views = as_views(solution.variables["views"])
    used = sorted({attribute for view in views for attribute in view})
    place = {attribute: number for number, attribute in enumerate(used)}
    names = None if problem.names is None else [problem.names[attribute] for attribute in used]
    if names is None and len(used) < len(problem.sizes):  # else they would get new numbers
        names = [str(attribute) for attribute in used]
    labels = None if problem.labels is None else [problem.labels[attribute] for attribute in used]
    attributes = Attributes([problem.sizes[attribute] for attribute in used], names, labels)
    made = {
        cells: runs(planned(cells, problem.epsilon, problem.oracle))
        for cells in sorted({problem.cells(view) for view in views})
    }
    return MarginalRelease(
        attributes,
        [tuple(place[attribute] for attribute in view) for view in views],
        [made[problem.cells(view)] for view in views],
        [Fraction(float(share)) for share in solution.variables["shares"]],
        problem.users,
    )


def runs(plan: Plan) -> Oracle:
    """Return the oracle of a plan.

    Examples
    --------
    >>> runs(planned(16, 1.0, "best"))
    SubsetSelection(16 categories, size=4, epsilon=1)
    """
    return BUILT[plan.kind](plan.cells, plan.epsilon, **plan.parameters)
