"""What the methods that split the users share: outcomes, small shares, refusals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.method import Outcome, Status
from mechdesign.core.text import counted
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.candidates import Candidates
from mechdesign.families.marginals.marginal_views.prediction import one_report, planned
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.workload import View
from mechdesign.solvers.reciprocals import Array, ErrorTerms

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
    kept = _kept(problem, views, shares, bound)
    chosen = [view for view, share in zip(views, kept, strict=True) if share > 0.0]
    split = kept[kept > 0.0] / math.fsum(kept)
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


def _kept(problem: MarginalViews, views: Sequence[View], shares: Array, bound: float | None) -> Array:
    """Return the shares without the smallest: as many are dropped as hardly raise the value.

    What an interior method leaves to views that do not matter would be collected from a handful of people.
    """
    terms = judging.terms(problem, views)

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
    kept = np.zeros(len(shares))
    kept[order[low:]] = shares[order[low:]]
    return kept


def price_left_out(problem: MarginalViews, found: Candidates, terms: ErrorTerms, shares: Array) -> float:
    """Return an upper bound of the worth of a view that is not a candidate.

    The price of a view v is the sum over the marginals A in it of g_A / a_vA, with g_A = c_A f_A^2. A view of
    L cells has at most l attributes, where the l smallest sizes multiply to at most L; so it contains at most
    C(l, j) marginals of j attributes, and at best those of the largest terms.
    """
    gains = terms.weights * terms.errors(shares) ** 2
    cells = np.array([problem.cells(one) for one in problem.wanted])
    lengths = np.array([len(one) for one in problem.wanted])
    products = np.cumprod(np.sort(np.array(problem.sizes, dtype=np.float64)))
    worth = 0.0
    for large in found.left_out:
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
