"""Convex programs through cvxpy: solve quietly, try the next solver when one fails, and say which did it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mechdesign.core.method import Status

if TYPE_CHECKING:
    import cvxpy

PREFERRED = ("CLARABEL", "SCS")
"""Solvers in order of trust: an interior-point method to high accuracy, then a first-order one."""

ACCURACY: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9},
}
"""What is asked of each solver; the proven bounds then say what was reached."""


@dataclass(frozen=True)
class ConvexResult:
    """Status in the toolkit's words, the solver's name and its objective (not to be believed as a bound)."""

    status: Status
    solver: str
    objective: float
    message: str


def solve_convex(program: cvxpy.Problem, solver: str | None = None, **options: Any) -> ConvexResult:
    """Solve a cvxpy problem and translate its status.

    Parameters
    ----------
    program : cvxpy.Problem
        Its variables hold the solution afterwards.
    solver : str, optional
        A solver that cvxpy knows; by default CLARABEL, then SCS.
    **options
        Passed on to the solver.

    Returns
    -------
    ConvexResult
    """
    import cvxpy

    words: dict[str, Status] = {
        cvxpy.OPTIMAL: "optimal",
        cvxpy.OPTIMAL_INACCURATE: "feasible",
        cvxpy.INFEASIBLE: "infeasible",
        cvxpy.INFEASIBLE_INACCURATE: "infeasible",
        cvxpy.UNBOUNDED: "unbounded",
        cvxpy.UNBOUNDED_INACCURATE: "unbounded",
    }
    complaints = []
    for name in (solver,) if solver else PREFERRED:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program.solve(solver=name, **{**ACCURACY.get(name, {}), **options})
        except (cvxpy.SolverError, ArithmeticError, ValueError, IndexError) as error:
            complaints.append(f"{name}: {error}")
            continue
        status = words.get(program.status, "failed")
        if status != "failed":
            value = float(program.value) if program.value is not None else float("nan")
            return ConvexResult(status, name, value, "" if status == "optimal" else program.status)
        complaints.append(f"{name}: {program.status}")
    return ConvexResult("failed", ", ".join(PREFERRED), float("nan"), "; ".join(complaints))
