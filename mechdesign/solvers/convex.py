"""Convex programs through cvxpy: solve quietly, try the next solver when one fails, and say which did it.

**Separable** programs have a separable convex objective and linear rows:

    minimise    weights . f(x) + linear . y         or    linear . y  with  weights . f(x) <= limit
    subject to  upper x, y rows <= upper_limits,  equal rows = equal_limits,  low <= x <= high

The convex functions are named; each has a cone form that cvxpy recognises:

    inverse-square     1 / x^2
    coth-square        coth(x/2)^2 = (1 + 2 exp(t - x))^2          with  exp(-t) + exp(-x) <= 1
    inverse-sinh       1 / (3 sinh(x/4)^2) = exp(log(4/3) - x/2 + 2 t)   with  exp(-t) + exp(-x/2) <= 1
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Status
from mechdesign.solvers.sensitivity import Binding

if TYPE_CHECKING:
    import cvxpy
    from scipy.sparse import csr_array

    from mechdesign.solvers.prove import ProvenBound

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
    """Status in the toolkit's words, the solver's name and its objective (not to be believed as a bound).

    ``bound`` is a proven one, in exact arithmetic, computed when it is first asked for.
    """

    status: Status
    solver: str
    objective: float
    message: str
    program: cvxpy.Problem

    @cached_property
    def bound(self) -> ProvenBound:
        """The proven bound of the program; see :func:`mechdesign.prove`."""
        from mechdesign.solvers.prove import prove

        return prove(self.program)


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
            message = "" if status == "optimal" else program.status
            return ConvexResult(status, name, value, message, program)
        complaints.append(f"{name}: {program.status}")
    return ConvexResult("failed", ", ".join(PREFERRED), float("nan"), "; ".join(complaints), program)


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


REGULARIZATIONS = (1e-11, 1e-12, 1e-10, 1e-13, 1e-9)
"""Worth trying, best first; the solver's own default is 1e-8."""

FUNCTIONS = ("inverse-square", "coth-square", "inverse-sinh")


@dataclass(frozen=True, eq=False)
class SeparableProgram:
    """The program above; rows act on the vector (x, y).

    Parameters
    ----------
    function : str
        One of ``FUNCTIONS``.
    scale : float
        The function is applied to ``scale * x``, so that x can be of the order of 1.
    weights : (k,) array
    linear : (m,) array
    upper_rows, equal_rows : sparse (rows, k + m)
    upper_limits, equal_limits : array
    low, high : float
        Bounds of x.
    limit : float or None
        Where given, weights . f(x) is bounded by it and only the linear part is minimised.
    """

    function: str
    scale: float
    weights: Array
    linear: Array
    upper_rows: csr_array
    upper_limits: Array
    equal_rows: csr_array
    equal_limits: Array
    low: float
    high: float
    limit: float | None = None


@dataclass(frozen=True, eq=False)
class SeparableResult:
    """Result of the solver; multipliers >= 0 of the upper rows, free ones of the equations.

    ``price`` is the multiplier of the bound on weights . f(x), 1 where that is the objective.
    """

    status: Status
    x: Array
    upper_multipliers: Array
    equal_multipliers: Array
    price: float
    solver: str
    message: str


def solve_separable(program: SeparableProgram, regularization: float = REGULARIZATIONS[0]) -> SeparableResult:
    """Solve the program with an interior-point solver.

    Parameters
    ----------
    program : SeparableProgram
    regularization : float
        How much the solver regularises its linear systems. Menus have many rows that are nearly tight, and
        no one choice is accurate for all: where a proven bound says so, try the next of ``REGULARIZATIONS``.
    """
    import cvxpy

    x = cvxpy.Variable(len(program.weights), pos=True)
    y = cvxpy.Variable(len(program.linear))
    both = cvxpy.hstack([x, y])
    values, own = cone_form(program.function, program.scale * x)
    rows: list[Any] = []
    upper = program.upper_rows @ both <= program.upper_limits if program.upper_rows.shape[0] else None
    equal = program.equal_rows @ both == program.equal_limits if program.equal_rows.shape[0] else None
    rows += [row for row in (upper, equal) if row is not None]
    if program.low > 0:
        rows.append(x >= program.low)
    if program.high < np.inf:
        rows.append(x <= program.high)
    error = program.weights @ values
    bounded = None if program.limit is None else error <= program.limit
    objective = error + program.linear @ y if bounded is None else program.linear @ y
    rows += own if bounded is None else [*own, bounded]
    whole = cvxpy.Problem(cvxpy.Minimize(objective), rows)
    result = solve_convex(
        whole,
        "CLARABEL",
        static_regularization_constant=regularization,
        dynamic_regularization_eps=1e-15,
        iterative_refinement_max_iter=50,
        iterative_refinement_reltol=1e-14,
        iterative_refinement_abstol=1e-14,
    )
    if result.status == "failed":
        result = solve_convex(whole)
    empty = np.zeros(0)
    if x.value is None or result.status not in ("optimal", "feasible"):
        return SeparableResult(result.status, empty, empty, empty, 1.0, result.solver, result.message)
    return SeparableResult(
        result.status,
        np.asarray(x.value, dtype=np.float64),
        np.maximum(0.0, _dual(upper)),
        _dual(equal),
        1.0 if bounded is None else max(0.0, float(_dual(bounded)[0])),
        result.solver,
        result.message,
    )


def _dual(row: Any) -> Array:
    if row is None:
        return np.zeros(0)
    return np.atleast_1d(np.asarray(row.dual_value, dtype=np.float64))


def cone_form(function: str, x: cvxpy.Expression) -> tuple[cvxpy.Expression, list[Any]]:
    """Return an expression for f(x) and the constraints that define its helper variables."""
    import cvxpy

    if function == "inverse-square":
        return cvxpy.square(cvxpy.inv_pos(x)), []
    helper = cvxpy.Variable(x.shape[0], name="helper", nonneg=True)
    half = x if function == "coth-square" else x / 2.0
    own = [cvxpy.exp(-helper) + cvxpy.exp(-half) <= 1.0]
    if function == "coth-square":
        return cvxpy.square(1.0 + 2.0 * cvxpy.exp(helper - x)), own
    return cvxpy.exp(np.log(4.0 / 3.0) - half + 2.0 * helper), own
