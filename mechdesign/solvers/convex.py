"""Convex programs through cvxpy: solve quietly, try the next solver when one fails, and say which did it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Status
from mechdesign.core.sensitivity import Binding

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]

SMALL = 1e-8
"""Multipliers of an interior-point method below this are counted as 0."""

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

    Raises
    ------
    ParameterError
        For an option that the solver does not know, or a value that it does not take.
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
        except TypeError as error:
            if not options:
                raise
            raise ParameterError(f"options {', '.join(options)}", f"{name} reports: {error}") from None
        status = words.get(program.status, "failed")
        if status != "failed":
            value = float(program.value) if program.value is not None else float("nan")
            return ConvexResult(status, name, value, "" if status == "optimal" else program.status)
        complaints.append(f"{name}: {program.status}")
    return ConvexResult("failed", ", ".join(PREFERRED), float("nan"), "; ".join(complaints))


@dataclass(frozen=True, eq=False)
class ConvexPrices:
    """The variables and multipliers of a cvxpy program that a problem is stated as.

    Parameters
    ----------
    program : callable
        From a problem to its cvxpy program, always with the same variables and constraints in the same order.
    variables, multipliers : sequence of arrays
        Of all variables and constraints of the program that was solved.
    scale : float
        What its objective times it is in units of the problem's.
    names : sequence of str
        One per constraint; one without a name has no price to be shown.
    """

    program: Callable[[Any], cvxpy.Problem]
    variables: Sequence[Array]
    multipliers: Sequence[Array]
    scale: float
    names: Sequence[str]

    @classmethod
    def of(
        cls,
        solved: cvxpy.Problem,
        program: Callable[[Any], cvxpy.Problem],
        scale: float,
        names: Sequence[str],
    ) -> ConvexPrices | None:
        """Return the prices of a solved program; None where the solver did not return all of them."""
        values = [variable.value for variable in solved.variables()]
        duals = [constraint.dual_value for constraint in solved.constraints]
        if any(item is None for item in [*values, *duals]):
            return None
        return cls(program, _arrays(values), _arrays(duals), scale, names)

    def lagrangian(self, problem: Any) -> float | None:
        """Return the Lagrangian of another problem's program; None where it has another form.

        cvxpy's multipliers are those of a minimisation; their signs turn where the program maximises.
        """
        import cvxpy

        program = self.program(problem)
        variables, constraints = program.variables(), program.constraints
        shapes = [item.shape for item in variables], [item.shape for item in constraints]
        known = [item.shape for item in self.variables], [item.shape for item in self.multipliers]
        if shapes != known or any(not hasattr(item, "expr") for item in constraints):
            return None
        for variable, value in zip(variables, self.variables, strict=True):
            variable.save_value(value)
        sign = -1.0 if isinstance(program.objective, cvxpy.Maximize) else 1.0
        terms = [
            float(np.sum(price * np.asarray(constraint.expr.value)))
            for price, constraint in zip(self.multipliers, constraints, strict=True)
        ]
        return self.scale * (float(program.objective.value) + sign * math.fsum(terms))

    def binding(self) -> list[Binding]:
        """Return the price of each constraint that has a name."""
        return [
            Binding(name, self.scale * float(np.abs(prices).sum()), int(np.count_nonzero(prices > SMALL)))
            for name, prices in zip(self.names, self.multipliers, strict=True)
            if name
        ]


def _arrays(values: Sequence[Any]) -> list[Array]:
    return [np.asarray(value, dtype=np.float64) for value in values]
