"""The convex program handed to a conic solver; its answer gets a bound of its own."""

from __future__ import annotations

import math

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.cloak.problem import SpectrumCloakDesign, infeasible, outcome


def run(problem: SpectrumCloakDesign) -> Outcome:
    """Solve with cvxpy, in units in which the length of the best cell is about 1."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    nothing = infeasible(problem, "cvxpy")
    if nothing is not None:
        return nothing
    figure = problem.figure
    area = problem.density * figure.area * problem.revenue
    edge = problem.density * figure.perimeter * problem.moment
    privacy = problem.privacy_cost / figure.distance
    unit = min((privacy / area) ** (1.0 / 3.0), math.sqrt(privacy / edge))
    money = area * unit**2 + edge * unit + privacy / unit
    length = cvxpy.Variable()
    lost = (area * unit**2 / money) * cvxpy.square(length) + (edge * unit / money) * length
    low, high = problem.limits
    rows = [length >= low / unit] if low > 0 else []
    rows += [length <= high / unit] if math.isfinite(high) else []
    value = lost + (privacy / unit / money) * cvxpy.inv_pos(length)
    found = solve_convex(cvxpy.Problem(cvxpy.Minimize(value), rows))
    if found.status not in ("optimal", "feasible") or length.value is None:
        return Outcome(status="failed", solver=found.solver, message=found.message)
    return outcome(problem, float(length.value) * unit, found.solver)
