"""What the methods that split the users share: outcomes, small shares, refusals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.method import Outcome, Status
from mechdesign.problems.marginals.marginal_views import judging
from mechdesign.problems.marginals.marginal_views.allocation_terms import Array, Terms
from mechdesign.problems.marginals.marginal_views.candidates import Candidates
from mechdesign.problems.marginals.marginal_views.prediction import one_report, planned
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews
from mechdesign.problems.marginals.marginal_views.workload import View

NOTHING = "with epsilon = 0 reports say nothing; give a larger epsilon"

MOST_NOTES = 40
"""Views and marginals that are named one by one."""

LEAST_SHARE = 1e-9
"""Smaller shares are dropped, as are those of less than one user."""


def impossible(problem: MarginalViews) -> str | None:
    """Return why no views have finite errors, if so."""
    if problem.epsilon == 0.0:
        return NOTHING
    if problem.views is None:
        return None
    missing, first = judging.uncovered(problem, judging.as_views(problem.views))
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
    kept = _kept(problem, views, shares)
    chosen = [views[number] for number in kept.tolist()]
    split = shares[kept] / math.fsum(shares[kept])
    if len(chosen) > problem.users:
        raise ParameterError(
            f"users: {problem.users} users are fewer than the {len(chosen)} views of the split; have more "
            "users, want fewer marginals, or give a few large views"
        )
    variables: dict[str, Any] = {
        "size": max(len(view) for view in chosen),
        "count": len(chosen),
        "views": [list(view) for view in chosen],
        "shares": split / math.fsum(split),
    }
    value = problem.objective(variables)
    status: Status = "feasible"
    if bound is not None and value <= bound * (1.0 + judging.OPTIMALITY):
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
    if problem.names is None or len(views) + len(problem.wanted) > MOST_NOTES:
        return {}

    def name(one: View) -> str:
        return " x ".join(problem.shown_view(one))

    shares = variables["shares"]
    errors = judging.terms(problem, views).errors(shares) / problem.users
    return {
        **{f"share of {name(view)}": float(share) for view, share in zip(views, shares, strict=True)},
        **{f"error of {name(one)}": float(error) for one, error in zip(problem.wanted, errors, strict=True)},
    }


def _kept(problem: MarginalViews, views: Sequence[View], shares: Array) -> np.ndarray:
    """Return the views with more than a user, unless a marginal would be lost: then those with any share."""
    for least in (max(LEAST_SHARE, 1.0 / problem.users), LEAST_SHARE, 0.0):
        kept = np.flatnonzero(shares >= least) if least else np.flatnonzero(shares > 0.0)
        if kept.size and not judging.uncovered(problem, [views[number] for number in kept.tolist()])[0]:
            return kept
    return np.flatnonzero(shares > 0.0)


def price_left_out(problem: MarginalViews, found: Candidates, terms: Terms, shares: Array) -> float:
    """Return what a view that is no candidate can be worth at most: all marginals at the least error.

    The price of a view v is the sum over the marginals A in it of g_A / a_vA, with g_A = c_A f_A^2.
    """
    if not found.left_out:
        return 0.0
    gains = terms.weights * terms.errors(shares) ** 2
    cells = np.array([problem.cells(one) for one in problem.wanted])
    total = 0.0
    for small in np.unique(cells).tolist():
        least = min(
            (
                one_report(planned(large, problem.epsilon, problem.oracle), small)
                for large in found.left_out
                if large % small == 0
            ),
            default=math.inf,
        )
        total += float(gains[cells == small].sum()) / least
    return total
