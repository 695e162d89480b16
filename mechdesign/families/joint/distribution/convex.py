"""The convex program as it stands, by an interior-point solver: for few cells, to keep the others honest."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.joint.distribution.outcomes import outcome
from mechdesign.families.joint.distribution.problem import JointDistribution

MOST_NUMBERS = 400_000
"""Numbers of the matrix of reports by cells."""


def convex_program(problem: JointDistribution) -> Outcome:
    """Maximise the mean of ln(A P), less the penalty, over the simplex; A has a row of chances a report."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    model = problem.model
    rows = model.columns(np.arange(model.cells), np.arange(len(model.counts)))
    point = cvxpy.Variable(model.cells, nonneg=True)
    gain = (model.counts / model.users) @ cvxpy.log(rows @ point)
    if problem.penalty:
        entropy = cvxpy.sum(cvxpy.rel_entr(point, problem.shares_drawn_to))
        gain -= problem.penalty / model.users * entropy
    result = solve_convex(cvxpy.Problem(cvxpy.Maximize(gain), [cvxpy.sum(point) == 1.0]))
    if result.status == "failed" or point.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    return outcome(problem, np.maximum(point.value, 0.0), result.solver)


def why_not_convex(problem: JointDistribution) -> str | None:
    """Return why the method does not apply, or None."""
    numbers = len(problem.model.counts) * problem.model.cells
    if numbers > MOST_NUMBERS:
        return f"its matrix has {numbers} numbers; the limit is {MOST_NUMBERS}"
    return None
