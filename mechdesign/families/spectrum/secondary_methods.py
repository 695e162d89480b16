"""The methods of ``spectrum-secondary``: a cubic, bisection, and the concave program of the thesis.

The first one that applies is the default. The answer of the conic solver gets a bound of its own.
"""

from __future__ import annotations

import math

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.spectrum.numbers import positive_root
from mechdesign.families.spectrum.secondary import SpectrumSecondary, outcome
from mechdesign.solvers.roots import sign_change


def level_by_conic_program(problem: SpectrumSecondary) -> Outcome:
    """Solve with cvxpy, in units in which L is about 1."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    unit = (problem.privacy_cost / (2.0 * math.pi * problem.price)) ** (1.0 / 3.0)
    unit = min(unit, math.sqrt(problem.privacy_cost / (2.0 * math.pi * problem.price * problem.radius)))
    paid, loss = math.pi * problem.price * unit**2, problem.privacy_cost / unit
    money = paid * (1.0 + problem.radius / unit) + loss
    level = cvxpy.Variable()
    cost = (paid / money) * (cvxpy.square(level) + (2.0 * problem.radius / unit) * level)
    answer = solve_convex(cvxpy.Problem(cvxpy.Minimize(cost + (loss / money) * cvxpy.inv_pos(level))))
    if answer.status not in ("optimal", "feasible") or level.value is None:
        return Outcome(status="failed", solver=answer.solver, message=answer.message)
    return outcome(problem, float(level.value) * unit, answer.solver)


def level_from_cubic(problem: SpectrumSecondary) -> Outcome:
    """Return the positive root of 2 k1 pi L^3 + 2 k1 pi r0 L^2 = ks, with its bound."""
    unit = 2.0 * math.pi * problem.price / problem.privacy_cost
    return outcome(problem, positive_root(unit, unit * problem.radius, 1.0), "closed form")


def level_by_bisection(problem: SpectrumSecondary) -> Outcome:
    """Bracket the change of sign of the utility's slope by doubling, then halve."""
    low = high = problem.radius
    while problem.slope(low) <= 0:
        low /= 2.0
    while problem.slope(high) >= 0:
        high *= 2.0
    return outcome(problem, sign_change(problem.slope, low, high), "bisection")


METHODS = (
    Method("closed-form", SpectrumSecondary, "analytic", "the positive root of a cubic", level_from_cubic),
    Method("search", SpectrumSecondary, "numeric", "bisection of the slope", level_by_bisection),
    Method("convex", SpectrumSecondary, "numeric", "a concave program for a conic solver (cvxpy)",
           level_by_conic_program),
)  # fmt: skip
