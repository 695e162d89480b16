"""Programs over zero-one variables through pulp; only the solution is taken from the solver, never its bound.

An integer solver's "optimal" rests on a tree of linear programs in floating point that nobody else sees. So
the caller checks the solution and proves a bound of its own. Solvers have absolute tolerances: costs of 1e-9
are all zero to them. So costs and rows are scaled by powers of two, which loses nothing; costs that differ by
more than about 1e10 from each other remain a matter of the caller's proof.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Status
from mechdesign.solvers.silent import pulp_highs

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class BinaryProgram:
    """Minimise ``costs . x`` with ``rows x >= limits`` over x in {0, 1}^N.

    Parameters
    ----------
    costs : (N,) array
    rows : sparse (R, N)
    limits : (R,) array
    fixed : (N,) array of bool
        The variables that are known to be 1.
    """

    costs: NDArray[np.float64]
    rows: csr_array
    limits: NDArray[np.float64]
    fixed: NDArray[np.bool_]


@dataclass(frozen=True)
class BinaryResult:
    """Result of the solver.

    ``status`` is ``optimal`` where the solver says so (a claim, not a proof), ``feasible`` where it stopped
    at a limit with a solution, ``infeasible``, or ``failed``. ``variables`` is empty without a solution.
    """

    status: Status
    variables: NDArray[np.bool_]
    solver: str
    message: str


def solve_binary(program: BinaryProgram, nodes: int = 2000) -> BinaryResult:
    """Solve within a number of nodes with CBC, or for a minute at most with HiGHS where pulp has no CBC.

    With CBC no clock decides, so the same program has the same answer. By default CBC uses one thread. The
    option ``threads 1`` starts its thread pool, which paused for ten seconds in 6 of 12,000 small programs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> program = BinaryProgram(np.ones(3), rows, np.ones(2), np.zeros(3, dtype=bool))
    >>> solve_binary(program).variables.tolist()
    [False, True, False]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pulp 3.3 announces 4.0 at every step
        model, variables = _model(program)
        solver = _solver(nodes)
        model.solve(solver)
    name = str(solver.name)
    status, text = _ended(model, name)
    if status not in ("optimal", "feasible"):
        return BinaryResult(status, np.zeros(0, dtype=np.bool_), name, text)
    # a variable without a cost and without a row has no value: it stays where it is
    values = [variable.lowBound if variable.varValue is None else variable.varValue for variable in variables]
    return BinaryResult(status, np.array(values) > 0.5, name, "")


def _ended(model: Any, name: str) -> tuple[Status, str]:
    """Return how a solver ended, in the words of this package and in its own."""
    import pulp

    words: dict[int, Status] = {
        pulp.LpSolutionOptimal: "optimal",
        pulp.LpSolutionIntegerFeasible: "feasible",
        pulp.LpSolutionInfeasible: "infeasible",
    }
    text = f"{name} ended with: {pulp.LpSolution[model.sol_status]}"
    return words.get(model.sol_status, "failed"), text


def _model(program: BinaryProgram) -> tuple[Any, list[Any]]:
    """Return the program in pulp's words, and its variables in order."""
    import pulp

    model = pulp.LpProblem("binary", pulp.LpMinimize)
    variables = [
        model.add_variable(f"x{place}", int(fixed), 1, pulp.LpInteger)
        for place, fixed in enumerate(program.fixed.tolist())
    ]
    costs = np.ldexp(program.costs, -exponent(program.costs))
    model.setObjective(pulp.LpAffineExpression(list(zip(variables, costs.tolist(), strict=True))))
    rows: Any = program.rows
    for row, limit in enumerate(program.limits.tolist()):
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        shift = -exponent(rows.data[entries])
        terms = zip(rows.indices[entries].tolist(), np.ldexp(rows.data[entries], shift).tolist(), strict=True)
        expression = pulp.LpAffineExpression([(variables[place], value) for place, value in terms])
        model += expression >= _shifted(limit, shift)
    return model, variables


MODERATE = (0, 16)
"""Numbers whose largest is from 2^0 to below 2^16 are left as they are."""


def exponent(numbers: NDArray[np.float64]) -> int:
    """Return by which power of two to divide numbers, so that the largest is far from a solver's tolerances.

    Examples
    --------
    >>> exponent(np.array([1.0, 3.0])), exponent(np.array([1e-9])), exponent(np.array([0.0]))
    (0, -38, 0)
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return 0
    place = math.frexp(largest)[1] - 1
    return 0 if MODERATE[0] <= place < MODERATE[1] else place - MODERATE[1] // 2


def _solver(nodes: int) -> Any:
    import pulp

    if hasattr(pulp, "PULP_CBC_CMD"):  # pulp 4 has none
        bundled = pulp.PULP_CBC_CMD(msg=False, maxNodes=nodes)
        if bundled.available():
            return bundled
    own = pulp.COIN_CMD(msg=False, maxNodes=nodes)
    return own if own.available() else pulp_highs(None, 60.0)  # it knows no such limit


def _shifted(limit: float, shift: int) -> float:
    """Return the limit of a row times a power of two; one that no row comes near where that is too large."""
    with np.errstate(over="ignore"):
        found = float(np.ldexp(limit, shift))
    return found if math.isfinite(found) else math.copysign(1e30, found)


# Programs with continuous variables as well


@dataclass(frozen=True)
class MixedProgram:
    """Maximise ``gains . x`` with ``rows x <= limits`` and ``low <= x <= high``, some x integers.

    Parameters
    ----------
    gains : (N,) array
    rows : list of lists of (place, coefficient)
    limits : list of float
    low, high : (N,) array
    whole : (N,) array of bool
    start : (N,) array, optional
        A point to start from, which keeps all rows.
    """

    gains: NDArray[np.float64]
    rows: list[list[tuple[int, float]]]
    limits: list[float]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.bool_]
    start: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class MixedResult:
    """Result of the solver; ``stated`` is its own bound of the optimum, a claim and no proof."""

    status: Status
    variables: NDArray[np.float64]
    stated: float | None
    solver: str
    message: str


def solve_mixed(program: MixedProgram, gap: float = 0.0, seconds: float = 40.0) -> MixedResult:
    """Solve with HiGHS through pulp where it is there, else with CBC, up to a relative gap or a time.

    Examples
    --------
    >>> none, one = np.zeros(2), np.ones(2)
    >>> program = MixedProgram(np.array([2.0, 1.0]), [[(0, 1.0), (1, 1.0)]], [1.5], none, one, one > 0)
    >>> solve_mixed(program).variables.tolist()
    [1.0, 0.0]
    """
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = pulp.LpProblem("mixed", pulp.LpMaximize)
        bounds = zip(program.low.tolist(), program.high.tolist(), program.whole.tolist(), strict=True)
        variables = [
            model.add_variable(f"x{place}", low, high, pulp.LpInteger if whole else pulp.LpContinuous)
            for place, (low, high, whole) in enumerate(bounds)
        ]
        scaled = exponent(program.gains)
        gains = np.ldexp(program.gains, -scaled)
        model.setObjective(pulp.LpAffineExpression(list(zip(variables, gains.tolist(), strict=True))))
        for row, limit in zip(program.rows, program.limits, strict=True):
            shift = -exponent(np.array([value for _, value in row]))
            terms = [(variables[place], math.ldexp(value, shift)) for place, value in row]
            model += pulp.LpAffineExpression(terms) <= _shifted(limit, shift)
        solver = _mixed_solver(gap, seconds)
        try:
            model.solve(solver)
        except IndexError:  # pulp looks for the values of rows that HiGHS has refused for their size
            text = f"{solver.name} refuses a row: its numbers are too far apart"
            return MixedResult("failed", np.zeros(0), None, str(solver.name), text)
    return _mixed_result(model, variables, str(solver.name), scaled)


def _mixed_solver(gap: float, seconds: float) -> Any:
    import pulp

    highs = pulp_highs(gap, seconds)
    if highs.available():
        return highs
    own = pulp.PULP_CBC_CMD if hasattr(pulp, "PULP_CBC_CMD") else pulp.COIN_CMD
    return own(msg=False, gapRel=gap, timeLimit=seconds)


def _mixed_result(model: Any, variables: list[Any], name: str, scaled: int) -> MixedResult:
    """Return the solution; the objective had been divided by two to the power ``scaled``."""
    status, text = _ended(model, name)
    values = [variable.varValue for variable in variables]
    if status == "infeasible" or any(value is None for value in values):
        return MixedResult(status if status == "infeasible" else "failed", np.zeros(0), None, name, text)
    stated = None
    native = getattr(model, "solverModel", None)
    if native is not None and hasattr(native, "getInfo"):
        bound = -float(native.getInfo().mip_dual_bound)  # pulp hands a minimisation over
        stated = float(np.ldexp(bound, scaled))
    return MixedResult(status, np.array(values, dtype=np.float64), stated, name, "")
