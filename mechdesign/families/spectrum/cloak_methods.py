"""The methods of ``spectrum-cloak``: a cubic, bisection, and a convex program.

The first one that applies is the default. The answer of the conic solver gets a bound of its own.
"""

from __future__ import annotations

import math

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.spectrum.cloak import SpectrumCloakDesign, infeasible, outcome
from mechdesign.families.spectrum.numbers import positive_root
from mechdesign.solvers.roots import sign_change


def cell_by_conic_program(problem: SpectrumCloakDesign) -> Outcome:
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
    answer = solve_convex(cvxpy.Problem(cvxpy.Minimize(value), rows))
    if answer.status not in ("optimal", "feasible") or length.value is None:
        return Outcome(status="failed", solver=answer.solver, message=answer.message)
    return outcome(problem, float(length.value) * unit, answer.solver)


def cell_from_cubic(problem: SpectrumCloakDesign) -> Outcome:
    """Return the positive root of the cubic, cut to the limits, with its bound."""
    return infeasible(problem, "closed form") or outcome(
        problem, positive_root(*problem.coefficients), "closed form"
    )


def cell_by_bisection(problem: SpectrumCloakDesign) -> Outcome:
    """Bracket the change of sign of the loss's slope by doubling, then halve."""
    low = high = problem.radius
    while problem.slope(low) >= 0:
        low /= 2.0
    while problem.slope(high) <= 0:
        high *= 2.0
    return infeasible(problem, "bisection") or outcome(
        problem, sign_change(problem.slope, low, high), "bisection"
    )


METHODS = (
    Method("closed-form", SpectrumCloakDesign, "analytic", "the positive root of a cubic", cell_from_cubic),
    Method("search", SpectrumCloakDesign, "numeric", "bisection of the slope", cell_by_bisection),
    Method("convex", SpectrumCloakDesign, "numeric", "a convex program for a conic solver (cvxpy)",
           cell_by_conic_program),
)  # fmt: skip
