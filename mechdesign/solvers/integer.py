"""Programs over zero-one variables through PuLP; only the solution is taken from the solver, never its bound.

An integer solver's "optimal" rests on a tree of linear programs in floating point that nobody else sees. So
the caller checks the solution and proves a bound of its own. Solvers have absolute tolerances: costs of 1e-9
are all zero to them. So costs and rows are scaled by powers of two, which loses nothing; costs that differ by
more than about 1e10 from each other remain a matter of the caller's proof.

The interface of PuLP differs between its versions, and nothing outside this file depends on that. Version 3
makes an expression with the class itself, ``solve`` returns a number, and CBC comes with it. Version 4 makes
an expression with ``from_list``, ``solve`` returns statistics, and the solver that is always there is HiGHS.
A version that differs again makes the run fail with a message (:class:`PulpError`), which the caller reports;
it does not end the program.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import failure_text, is_failure
from mechdesign.core.problem import Status
from mechdesign.solvers.highs import silent_highs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STATUSES_OF_3: dict[int, Status] = {1: "optimal", 2: "feasible", -1: "infeasible"}
"""``sol_status`` of a solved model in PuLP 3."""


class PulpError(Exception):
    """PuLP or its solver raised an error; the text is one line."""


@contextmanager
def pulp_module() -> Iterator[Any]:
    """Import PuLP; within the block, its announcements are silent and its errors are ``PulpError``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 3.3 announces 4.0 at every step
        try:
            yield importlib.import_module("pulp")
        except BaseException as error:
            if not is_failure(error):
                raise
            raise PulpError(f"PuLP {_version()}: {failure_text(error)}") from error


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pulp")
    except PackageNotFoundError:
        return "is not installed"


def affine_expression(pulp: Any, terms: Sequence[tuple[Any, float]]) -> Any:
    """Return the sum of coefficients times variables."""
    make = getattr(pulp.LpAffineExpression, "from_list", pulp.LpAffineExpression)
    return make(list(terms))


def solve_model(model: Any, solver: Any) -> tuple[Status, str]:
    """Solve a model; return how it ended in the words of this package, and in a sentence with the solver's.

    ``optimal`` is what the solver claims. ``feasible``: it stopped at a limit with a solution.
    """
    answer = model.solve(solver)
    if hasattr(answer, "has_solution"):  # PuLP 4
        status: Status = "feasible" if answer.has_solution else "failed"
        if answer.status.name == "Optimal":
            status = "optimal"
        elif answer.status.name == "Infeasible":
            status = "infeasible"
        return status, f"{solver.name} ended with: {answer.status.name}"
    status = STATUSES_OF_3.get(int(model.sol_status), "failed")
    return status, f"{solver.name} ended with: {importlib.import_module('pulp').LpSolution[model.sol_status]}"


def cbc(pulp: Any, **options: Any) -> Any:
    """Return CBC: the one that comes with PuLP 3 if it runs here, otherwise the one on the path, if any."""
    if hasattr(pulp, "PULP_CBC_CMD"):
        bundled = pulp.PULP_CBC_CMD(msg=False, **options)
        if bundled.available():
            return bundled
    own = pulp.COIN_CMD(msg=False, **options)
    return own if own.available() else None


def highs(pulp: Any, gap: float | None, seconds: float) -> Any:
    """Return HiGHS for programs of PuLP: one thread, up to a relative gap or a time, and silent."""

    class SilentHighs(pulp.HiGHS):  # type: ignore[misc]
        def createAndConfigureSolver(self, lp: Any) -> None:  # noqa: N802 (PuLP's name)
            lp.solverModel = silent_highs()
            lp.solverModel.setOptionValue("threads", 1)
            lp.solverModel.setOptionValue("time_limit", float(seconds))
            if gap is not None:
                lp.solverModel.setOptionValue("mip_rel_gap", gap)

    return SilentHighs(msg=False)


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
    try:
        with pulp_module() as pulp:
            model, variables = _model(pulp, program)
            solver = _binary_solver(pulp, nodes)
            status, text = solve_model(model, solver)
            values = [_value(variable) for variable in variables]
    except PulpError as failure:
        return BinaryResult("failed", np.zeros(0, dtype=np.bool_), "pulp", str(failure))
    name = str(solver.name)
    if status not in ("optimal", "feasible"):
        return BinaryResult(status, np.zeros(0, dtype=np.bool_), name, text)
    return BinaryResult(status, np.array(values) > 0.5, name, "")


def _value(variable: Any) -> float:
    """Return the value of a variable; one without a cost and without a row has none and stays at its end."""
    return float(variable.lowBound if variable.varValue is None else variable.varValue)


def _model(pulp: Any, program: BinaryProgram) -> tuple[Any, list[Any]]:
    """Return the program in PuLP's words, and its variables in order."""
    model = pulp.LpProblem("binary", pulp.LpMinimize)
    variables = [
        model.add_variable(f"x{place}", int(fixed), 1, pulp.LpInteger)
        for place, fixed in enumerate(program.fixed.tolist())
    ]
    costs = np.ldexp(program.costs, -exponent(program.costs))
    model.setObjective(affine_expression(pulp, list(zip(variables, costs.tolist(), strict=True))))
    rows: Any = program.rows
    for row, limit in enumerate(program.limits.tolist()):
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        shift = -exponent(rows.data[entries])
        terms = zip(rows.indices[entries].tolist(), np.ldexp(rows.data[entries], shift).tolist(), strict=True)
        expression = affine_expression(pulp, [(variables[place], value) for place, value in terms])
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


def _binary_solver(pulp: Any, nodes: int) -> Any:
    own = cbc(pulp, maxNodes=nodes)
    return highs(pulp, None, 60.0) if own is None else own  # HiGHS has no such limit


def _shifted(limit: float, shift: int) -> float:
    """Return the limit of a row times a power of two; one that no row comes near where that is too large."""
    with np.errstate(over="ignore"):
        number = float(np.ldexp(limit, shift))
    return number if math.isfinite(number) else math.copysign(1e30, number)


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
    scaled = exponent(program.gains)
    try:
        with pulp_module() as pulp:
            model, variables = _mixed_model(pulp, program, scaled)
            solver = _mixed_solver(pulp, gap, seconds)
            status, text = solve_model(model, solver)
            return _mixed_result(model, variables, status, text, str(solver.name), scaled)
    except PulpError as failure:
        if isinstance(failure.__cause__, IndexError):  # PuLP looks for the values of rows that HiGHS refused
            failure = PulpError("HiGHS refuses a row: its numbers are too far apart")
        return MixedResult("failed", np.zeros(0), None, "pulp", str(failure))


def _mixed_model(pulp: Any, program: MixedProgram, scaled: int) -> tuple[Any, list[Any]]:
    """Return the program in PuLP's words, its gains divided by 2^scaled, and its variables in order."""
    model = pulp.LpProblem("mixed", pulp.LpMaximize)
    bounds = zip(program.low.tolist(), program.high.tolist(), program.whole.tolist(), strict=True)
    variables = [
        model.add_variable(f"x{place}", low, high, pulp.LpInteger if whole else pulp.LpContinuous)
        for place, (low, high, whole) in enumerate(bounds)
    ]
    gains = np.ldexp(program.gains, -scaled)
    model.setObjective(affine_expression(pulp, list(zip(variables, gains.tolist(), strict=True))))
    for row, limit in zip(program.rows, program.limits, strict=True):
        shift = -exponent(np.array([value for _, value in row]))
        terms = [(variables[place], math.ldexp(value, shift)) for place, value in row]
        model += affine_expression(pulp, terms) <= _shifted(limit, shift)
    return model, variables


def _mixed_solver(pulp: Any, gap: float, seconds: float) -> Any:
    solver = highs(pulp, gap, seconds)
    return solver if solver.available() else cbc(pulp, gapRel=gap, timeLimit=seconds)


def _mixed_result(
    model: Any, variables: list[Any], status: Status, text: str, name: str, scaled: int
) -> MixedResult:
    """Return the solution; the objective had been divided by two to the power ``scaled``."""
    values = [variable.varValue for variable in variables]
    if status not in ("optimal", "feasible") or any(value is None for value in values):
        return MixedResult(status if status == "infeasible" else "failed", np.zeros(0), None, name, text)
    return MixedResult(status, np.array(values, dtype=np.float64), _stated_bound(model, scaled), name, "")


def _stated_bound(model: Any, scaled: int) -> float | None:
    """Return the bound that HiGHS states, in the units of the gains; other solvers state none."""
    native = getattr(model, "solverModel", None)
    if native is None or not hasattr(native, "getInfo"):
        return None
    bound = float(native.getInfo().mip_dual_bound)
    is_negated = native.getObjectiveSense()[1].name == "kMinimize"  # PuLP 3 hands a minimisation over
    return float(np.ldexp(-bound if is_negated else bound, scaled))
