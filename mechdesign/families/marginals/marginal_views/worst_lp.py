"""``marginal-views`` for the worst error: a linear program, since 1 / error is linear in the shares."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.candidates import candidates
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.splits import impossible, outcome


def run(problem: MarginalViews) -> Outcome:
    """Maximise t subject to (information of A) >= t (weight of A) for every wanted A; the worst error is 1/t.

    The bound is weak duality's; it is given where no view that may be of use was left out.
    """
    from scipy.sparse import csr_array, diags_array, hstack

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="HiGHS simplex", message=reason)
    found = candidates(problem)
    terms = judging.terms(problem, found.views)
    relative = terms.weights * len(terms.weights)
    scaled = diags_array(1.0 / relative) @ terms.information
    size = scaled.shape[1]
    unit = float(scaled.max())  # t is at most the largest entry
    rows = csr_array(hstack([-scaled / unit, csr_array(np.ones((len(relative), 1)))]))
    program = LinearProgram(
        objective=np.append(np.zeros(size), 1.0),
        upper_rows=rows,
        upper_limits=np.zeros(len(relative)),
        equal_rows=csr_array(np.append(np.ones(size), 0.0)[None, :]),
        equal_limits=np.ones(1),
        low=np.zeros(size + 1),
        high=np.ones(size + 1),
    )
    result = solve_linear(program)
    if result.status != "optimal" or result.bound is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    shares = np.maximum(result.variables[:-1], 0.0)
    bound = None if found.left_out else 1.0 / (result.bound * unit) / problem.users
    return outcome(problem, found.views, shares, bound, "weak duality of the linear program", result.solver)


def why_not(problem: MarginalViews) -> str | None:
    """Return why the method does not apply (it is for the worst error), or None."""
    return None if problem.criterion == "worst" else f"it is for criterion 'worst', not '{problem.criterion}'"
