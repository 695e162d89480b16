"""How candidates are judged: proper views, shares, exact cover, optimality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mechdesign.core.certificate import Certificate, optimality
from mechdesign.core.discovery import companion
from mechdesign.core.errors import UnknownNameError
from mechdesign.core.problem import Problem, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.solve import methods_of, reason_against, solve
from mechdesign.core.values import changed
from mechdesign.families.marginals.audit.covering import audit_covering
from mechdesign.families.marginals.marginal_views.allocation_terms import contained, terms_of
from mechdesign.families.marginals.marginal_views.by_sets import BySets
from mechdesign.families.marginals.marginal_views.coverings import covering
from mechdesign.families.marginals.marginal_views.workload import View
from mechdesign.solvers.reciprocals import ErrorTerms

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views.problem import MarginalViews

SHOWN = 3
"""Marginals that a witness names."""

MOST_COMPARED = 128
"""Attributes up to which an optimum among views is compared with other ways to collect."""

NEARLY = 1e-6
"""By a smaller part two errors are the same."""


class Otherwise(Protocol):
    """A way to collect that is not by views: what it is worth, whether it answers all, and what runs."""

    def value(self) -> float:
        """Return the error by the problem's criterion."""

    def residuals(self) -> dict[str, float]:
        """Return the numbers of requested marginals without an answer and of superfluous groups."""

    def mechanism(self) -> Any:
        """Return the mechanism to run."""


def is_otherwise(variables: Variables) -> bool:
    """Whether a candidate collects otherwise than by views."""
    return "rival" in variables or "sets" in variables


def evaluator_of(problem: Any, variables: Variables) -> Otherwise | None:
    """Return the evaluator of a candidate of another kind, by ``otherwise`` next to the problem."""
    if not is_otherwise(variables):
        return None
    if "sets" in variables:
        return BySets(problem, variables["sets"], np.asarray(variables["shares"], dtype=np.float64))
    owner: type[Problem] = type(problem)
    judge = companion(owner, "otherwise")
    if judge is None:
        raise UnknownNameError("rival", f"no '{variables['rival']}'", "give views and shares")
    found: Otherwise = judge(problem, variables)
    return found


def as_views(rows: Any) -> list[View]:
    """Return the views of a solution as tuples."""
    return [tuple(int(point) for point in row) for row in rows]


def terms(problem: MarginalViews, views: Any) -> ErrorTerms:
    """Return the errors of the requested marginals as functions of the shares of these views."""
    return terms_of(problem.sizes, dict(problem.wanted), as_views(views), problem.epsilon, problem.oracle)


def residuals(problem: MarginalViews, variables: Variables) -> dict[str, float]:
    """Return the numbers of improper and superfluous views, and the distance of the shares from a split."""
    other = evaluator_of(problem, variables)
    if other is not None:
        return other.residuals()
    views = as_views(variables["views"])
    shares = np.asarray(variables["shares"], dtype=np.float64)
    proper = [
        view == tuple(sorted(set(view))) and bool(view) and view[0] >= 0 and view[-1] < len(problem.sizes)
        for view in views
    ]
    allowed = None if problem.views is None else set(problem.views)
    strange = [
        not fine or (allowed is not None and view not in allowed)
        for view, fine in zip(views, proper, strict=True)
    ]
    most = problem.most_views if problem.criterion == "rule" else problem.users
    found = {
        "improper_views": float(sum(strange) + len(views) - len(set(views))),
        "views_too_many": float(max(0, len(views) - most)),
        "shares": abs(math.fsum(shares) - 1.0) + float(np.maximum(-shares, 0.0).sum()),
        "miscounted": float(len(views) != variables["count"] or len(shares) != len(views)),
    }
    if problem.criterion == "rule":
        found["miscounted"] += float(any(len(view) != variables["size"] for view in views))
        found["size_over_largest"] = float(max(0, variables["size"] - problem.largest_size))
        if not covering_fits(problem):
            wanted = without_covering(problem)
            found["not_determined"] = float((variables["size"], variables["count"]) != wanted)
            return found
    found["uncovered"] = float(uncovered(problem, views)[0])
    return found


def without_covering(problem: MarginalViews) -> tuple[int, int]:
    """Return size and number of the views where no covering fits: l_u, as many as the threshold allows."""
    size = problem.largest_size
    return size, min(problem.most_views, math.comb(len(problem.sizes), size))


def uncovered(problem: MarginalViews, views: Sequence[View]) -> tuple[int, list[View]]:
    """Return the number of requested marginals that lie in no view, and the first few of them; exact."""
    if problem.order is not None and len({len(view) for view in views}) == 1:
        points, size = len(problem.sizes), len(views[0])
        if size < problem.order:
            return math.comb(points, problem.order), [tuple(range(problem.order))]
        audit = audit_covering(views, points, problem.order, size)
        return audit.uncovered, list(audit.first_uncovered)
    marginals = list(problem.wanted)
    rows, _ = contained(marginals, views, len(problem.sizes))
    missing = np.setdiff1d(np.arange(len(marginals)), rows)
    return len(missing), [marginals[number] for number in missing[:SHOWN].tolist()]


def marginals_of(problem: MarginalViews) -> int:
    """Return the number of requested marginals."""
    return math.comb(len(problem.sizes), problem.order) if problem.order is not None else len(problem.wanted)


def covering_fits(problem: MarginalViews) -> bool:
    """Whether the rule's threshold leaves room for views that cover everything."""
    size = problem.largest_size
    if problem.order is None or size < problem.order:
        return False
    return covering(len(problem.sizes), problem.order, size, problem.most_views) is not None


def certificates(problem: MarginalViews, solution: Solution[Any]) -> tuple[Certificate, ...]:
    """Return the covering (exact), and optimality where a bound is known."""
    return _covering(problem, solution), _optimality(problem, solution)


def _covering(problem: MarginalViews, solution: Solution[Any]) -> Certificate:
    """Return the certificate of marginals in no view; no failure where the threshold allows no covering."""
    other = evaluator_of(problem, solution.variables)
    if other is not None:
        left = int(other.residuals()["unanswered"])
        answered = {
            "groups": solution.variables["count"],
            "marginals": marginals_of(problem),
            "uncovered": left,
        }
        return Certificate("covering", not left, True, answered)
    missing, first = uncovered(problem, as_views(solution.variables["views"]))
    figures = {
        "views": int(solution.variables["count"]),
        "marginals": marginals_of(problem),
        "uncovered": missing,
    }
    excused = problem.criterion == "rule" and bool(missing) and not covering_fits(problem)
    witness = {"uncovered": [problem.shown_view(one) for one in first]} if missing else {}
    note = (
        "no covering keeps within the threshold; the uncovered ones are to be reconstructed"
        if excused
        else ""
    )
    return Certificate("covering", not missing or excused, True, figures, witness, note)


def _optimality(problem: MarginalViews, solution: Solution[Any]) -> Certificate:
    if solution.bound is None:
        return optimality(solution)
    excess, figures = solution.value - solution.bound, {"gap": solution.gap}
    judged = optimality(solution, excess, solution.bound, figures=figures)
    smaller = smaller_outside(problem, solution.value)
    if not smaller:
        return judged
    names = ", ".join(f"{name} {value:.4g}" for name, value in smaller)
    return changed(judged, note=f"{judged.note}; smaller outside of this class: {names}")


def smaller_outside(problem: MarginalViews, value: float) -> list[tuple[str, float]]:
    """Return the methods that collect otherwise than by views with a smaller error than this one, best first.

    Examples
    --------
    >>> from mechdesign.families.marginals import MarginalViews
    >>> problem = MarginalViews(attributes=[2, 2, 2], order=2, users=1000, epsilon=0.5, criterion="mean")
    >>> [name for name, value in smaller_outside(problem, 0.0822740703)]
    ['ft']
    """
    if len(problem.sizes) > MOST_COMPARED:
        return []
    others = [
        (method.name, solve(problem, method).value)
        for method in methods_of(problem)
        if method.scope and reason_against(method, problem) is None
    ]
    smaller = [other for other in others if other[1] < value * (1.0 - NEARLY)]
    return sorted(smaller, key=lambda other: other[1])
