"""The formula where all noise is drawn again: a single report, or promises that R single ones already keep.

Any two reports of a user have a covariance >= 0 (both come from the kept bit), so the variance of the mean of
R is at least that of one divided by R; and one report with likelihood ratio E has at least 4 E / (E - 1)^2,
which q = 1/2, p = 1/(E + 1), f = 0 attain (Wang et al. 2017).
"""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.families.joint.collection.problem import JointCollection, impossible

SAFETY = 1e-12
"""More than the roundings of the formula, relative."""


def closed_form(problem: JointCollection) -> Outcome:
    """Return redraw = 0, keep = 1/2 and add = 1/(E + 1) with E that of one report on one attribute."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="formula", message=reason)
    variables = {"redraw": 0.0, "keep": 0.5, "add": 1.0 / (problem.report_ratio + 1.0)}
    return Outcome(
        status="optimal",
        variables=variables,
        bound=value_lower_bound(problem),
        bound_source="the likelihood ratio of one report",
        solver="formula",
    )


def value_lower_bound(problem: JointCollection) -> float:
    """Return a lower bound of the value: all reports' ratio bounds it, and so does one report's divided by R.

    Examples
    --------
    >>> round(value_lower_bound(JointCollection(attributes=[2, 2], epsilon=2.0)), 6)
    14.730778
    """
    each = max(
        _least_variance(problem.ratio), _least_variance(problem.report_ratio) / problem.reports_per_user
    )
    return problem.bits * each * (1.0 - SAFETY)


def _least_variance(ratio: float) -> float:
    """Return 4 E / (E - 1)^2: no unbiased estimate from data of this likelihood ratio has less variance.

    Examples
    --------
    >>> _least_variance(3.0)
    3.0
    """
    return 4.0 / (ratio - 2.0 + 1.0 / ratio)


def why_not_closed_form(problem: JointCollection) -> str | None:
    """Return why the method does not apply, or None."""
    single = problem.reports_per_user == 1
    enough = (
        problem.report_epsilon is not None
        and problem.reports_per_user * problem.report_epsilon <= problem.epsilon
    )
    if single or enough or impossible(problem) is not None:
        return None
    return "several reports that together reveal more than epsilon need noise that is kept"
