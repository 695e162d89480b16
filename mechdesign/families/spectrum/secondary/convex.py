"""The concave program handed to a conic solver, as the thesis says; its answer gets a bound of its own."""

from __future__ import annotations

import math

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.secondary.problem import SpectrumSecondary, outcome


def run(problem: SpectrumSecondary) -> Outcome:
    """Solve with cvxpy, in units in which L is about 1."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    unit = (problem.privacy_cost / (2.0 * math.pi * problem.price)) ** (1.0 / 3.0)
    unit = min(unit, math.sqrt(problem.privacy_cost / (2.0 * math.pi * problem.price * problem.radius)))
    paid, loss = math.pi * problem.price * unit**2, problem.privacy_cost / unit
    money = paid * (1.0 + problem.radius / unit) + loss
    level = cvxpy.Variable()
    cost = (paid / money) * (cvxpy.square(level) + (2.0 * problem.radius / unit) * level)
    found = solve_convex(cvxpy.Problem(cvxpy.Minimize(cost + (loss / money) * cvxpy.inv_pos(level))))
    if found.status not in ("optimal", "feasible") or level.value is None:
        return Outcome(status="failed", solver=found.solver, message=found.message)
    return outcome(problem, float(level.value) * unit, found.solver)
