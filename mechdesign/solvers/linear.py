"""Linear programs through HiGHS, with a bound that does not trust the solver.

For any multipliers y >= 0 of the inequalities and z of the equations,

    c.x <= y.b_ub + z.b_eq + max over the box or simplex of (c - A_ub'y - A_eq'z).x

holds for every feasible x (weak duality). The solver's multipliers are used, its objective is not.
Every sum is enlarged by what double precision may have lost, so the bound is proven, not observed.

**In series**, HiGHS starts from the basis in which the last program ended. The numbers of two programs of a
series may differ everywhere. A basis that is neither feasible nor dual feasible for the new numbers is still
near to the best one, and the simplex takes a fraction of its steps.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Status
from mechdesign.solvers.highs import silent_highs
from mechdesign.solvers.sensitivity import Binding, current_starts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]
UNIT = 2.0**-53


@dataclass(frozen=True)
class LinearProgram:
    """Maximise ``objective . x`` with ``upper_rows x <= upper_limits`` and ``equal_rows x = equal_limits``.

    Parameters
    ----------
    objective : (N,) array
    upper_rows, equal_rows : sparse (rows, N)
    upper_limits, equal_limits : array
    low, high : (N,) array
        Bounds of the variables; infinite ones are allowed where ``blocks`` covers the variable.
    blocks : (N,) int array, optional
        Number of the simplex each variable lies in (-1: none, its box is used for the bound): the
        variables of one block are >= 0 and are known to sum to at most ``block_totals[block]``.
    block_totals : array, optional
    block_tight : array of bool, optional
        Whether a block is known to sum to exactly its total.
    """

    objective: Array
    upper_rows: csr_array
    upper_limits: Array
    equal_rows: csr_array
    equal_limits: Array
    low: Array
    high: Array
    blocks: NDArray[np.int64] | None = None
    block_totals: Array | None = None
    block_tight: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class LinearResult:
    """Result of HiGHS, with the proven upper bound of the maximum.

    ``upper_multipliers`` are >= 0; ``equal_multipliers`` are free.
    """

    status: Status
    variables: Array
    bound: float | None
    upper_multipliers: Array
    equal_multipliers: Array
    message: str
    solver: str


def solve_linear(
    program: LinearProgram,
    algorithm: Literal["simplex", "interior-point"] = "simplex",
    tolerance: float = 1e-10,
) -> LinearResult:
    """Maximise a linear program with HiGHS and prove an upper bound from its multipliers.

    Parameters
    ----------
    program : LinearProgram
    algorithm : {"simplex", "interior-point"}
    tolerance : float
        Feasibility tolerance asked of HiGHS, absolute.

    Returns
    -------
    LinearResult
        ``status`` is ``infeasible`` or ``unbounded`` with a message where HiGHS says so.
    """
    from scipy import optimize

    linprog: Any = optimize.linprog  # its stubs know neither sparse matrices nor a method by variable
    name = "highs-ds" if algorithm == "simplex" else "highs-ipm"
    options: dict[str, Any] = {
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
    }
    if algorithm == "interior-point":
        options["ipm_optimality_tolerance"] = 1e-10
    store = current_starts()
    if store is not None:
        warm = _warm(program, algorithm, tolerance, store)
        if warm is not None:
            return warm
    upper = program.upper_rows if program.upper_rows.shape[0] else None
    equal = program.equal_rows if program.equal_rows.shape[0] else None
    # HiGHS has absolute tolerances: without the scale a small utility would be below all of them.
    scale = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    answer = linprog(
        -program.objective / scale,
        A_ub=upper,
        b_ub=program.upper_limits if upper is not None else None,
        A_eq=equal,
        b_eq=program.equal_limits if equal is not None else None,
        bounds=np.column_stack([program.low, program.high]),
        method=name,
        options=options,
    )
    empty = np.zeros(0)
    status: dict[int, Status] = {0: "optimal", 2: "infeasible", 3: "unbounded"}
    if answer.status == 4 and algorithm == "interior-point":  # numerical trouble: the simplex may do
        return solve_linear(program, "simplex", tolerance)
    if answer.status != 0:
        return LinearResult(
            status.get(answer.status, "failed"),
            empty,
            None,
            empty,
            empty,
            str(answer.message),
            f"HiGHS {algorithm}",
        )
    marginals = np.asarray(answer.ineqlin.marginals) if upper is not None else empty
    multipliers = scale * np.maximum(0.0, -marginals)
    free = -scale * np.asarray(answer.eqlin.marginals) if equal is not None else empty
    bound = proven_bound(program, multipliers, free)
    return LinearResult("optimal", np.asarray(answer.x), bound, multipliers, free, "", f"HiGHS {algorithm}")


def _warm(
    program: LinearProgram,
    algorithm: Literal["simplex", "interior-point"],
    tolerance: float,
    store: dict[Any, Any],
) -> LinearResult | None:
    """Return HiGHS's solution, started where the last program of the series ended, with its proven bound."""
    scale = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    optimum = solve_from(program, scale, algorithm, tolerance, store)
    if optimum is None:
        return None
    multipliers, free = scale * np.maximum(0.0, -optimum.upper_marginals), -scale * optimum.equal_marginals
    bound = proven_bound(program, multipliers, free)
    return LinearResult("optimal", optimum.variables, bound, multipliers, free, "", f"HiGHS {algorithm}")


PRIMAL = 4
"""What HiGHS calls the primal simplex: where only columns were added, the old solution is still feasible."""


PATIENCE = 20
"""Steps of the simplex for each row and column, before it is given up: a bad start can go round for ever."""


@dataclass(frozen=True)
class LastBasis:
    """The basis of the last program, how many rows it was for, and the steps that it took."""

    basis: Any
    upper_rows: int
    iterations: int


@dataclass(frozen=True)
class WarmAnswer:
    """The variables, and the derivatives of the minimum by the limits of the rows."""

    variables: Array
    upper_marginals: Array
    equal_marginals: Array


def solve_from(
    program: LinearProgram,
    scale: float,
    algorithm: Literal["simplex", "interior-point"],
    tolerance: float,
    store: dict[Any, Any],
) -> WarmAnswer | None:
    """Minimise minus the objective over ``scale``, from the kept basis if there is one; keep the new one.

    None where HiGHS does not end with an optimum; whoever asks then starts cold.
    """
    module: Any = importlib.import_module("highspy")
    solver = silent_highs()
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(option, tolerance)
    solver.setOptionValue("threads", 1)
    solver.passModel(_model(module, program, scale))
    upper, columns = program.upper_rows.shape[0], len(program.objective)
    most = PATIENCE * (upper + program.equal_rows.shape[0] + columns)
    solver.setOptionValue("simplex_iteration_limit", most)
    key = (columns, program.equal_rows.shape[0])
    last = store.get(key) or store.get(key[1])
    basis = None if last is None else _extended(module, last, columns, upper)
    if basis is not None:
        solver.setBasis(basis)
        if last is not None and len(last.basis.col_status) < columns:
            solver.setOptionValue("simplex_strategy", PRIMAL)
    solver.setOptionValue("solver", "ipm" if basis is None and algorithm == "interior-point" else "simplex")
    solver.run()
    optimum = solver.getSolution()
    if solver.getModelStatus() != module.HighsModelStatus.kOptimal or not optimum.dual_valid:
        store.pop(key, None)
        store.pop(key[1], None)
        return None
    info = solver.getInfo()
    iterations = info.simplex_iteration_count + info.crossover_iteration_count
    store[key] = store[key[1]] = LastBasis(solver.getBasis(), upper, max(int(iterations), 0))
    duals = np.array(optimum.row_dual)
    return WarmAnswer(np.array(optimum.col_value), duals[key[1] :], duals[: key[1]])


def _model(module: Any, program: LinearProgram, scale: float) -> Any:
    """Return the program for HiGHS, equations first: rows that are added later come last."""
    from scipy.sparse import csc_array, vstack

    rows = csc_array(vstack([program.equal_rows, program.upper_rows]))
    rows.sum_duplicates()
    model = module.HighsLp()
    model.num_row_, model.num_col_ = rows.shape
    model.col_cost_ = -program.objective / scale
    model.col_lower_, model.col_upper_ = program.low, program.high
    infinite = np.full(len(program.upper_limits), -np.inf)
    model.row_lower_ = np.concatenate([program.equal_limits, infinite])
    model.row_upper_ = np.concatenate([program.equal_limits, program.upper_limits])
    model.a_matrix_.format_ = module.MatrixFormat.kColwise
    model.a_matrix_.start_ = rows.indptr.astype(np.int32)
    model.a_matrix_.index_ = rows.indices.astype(np.int32)
    model.a_matrix_.value_ = rows.data
    return model


def _extended(module: Any, last: LastBasis, columns: int, upper_rows: int) -> Any:
    """Return the basis with columns and rows that were added at the ends; None where there are fewer now."""
    more = columns - len(last.basis.col_status)
    if more < 0 or upper_rows < last.upper_rows:
        return None
    basis = module.HighsBasis()
    basis.col_status = [*last.basis.col_status, *[module.HighsBasisStatus.kLower] * more]
    added = [module.HighsBasisStatus.kBasic] * (upper_rows - last.upper_rows)
    basis.row_status = [*last.basis.row_status, *added]
    basis.valid = True
    return basis


def proven_bound(program: LinearProgram, multipliers: Array, free: Array) -> float:
    """Return an upper bound of the maximum for any multipliers >= 0, rounding errors included.

    Coefficients are allowed to be off by two units in the last place, so that the bound also holds
    for the exact e^epsilon that a coefficient stands for.
    """
    parts = [abs(program.objective)]
    reduced = program.objective.copy()
    for rows, values in ((program.upper_rows, multipliers), (program.equal_rows, free)):
        if rows.shape[0]:
            reduced -= rows.T @ values
            parts.append(abs(rows).T @ abs(values))
    longest = 4 + max(_longest_column(program.upper_rows), _longest_column(program.equal_rows))
    error = longest * UNIT * 2 * np.sum(parts, axis=0)
    high_reduced = reduced + error
    terms = np.concatenate([multipliers * program.upper_limits, free * program.equal_limits])
    terms = np.concatenate([terms, _domain_maximum(program, high_reduced, reduced - error)])
    slack = (len(terms) + 4) * UNIT * 2 * float(np.abs(terms).sum())
    return float(terms.sum()) + slack


def _longest_column(rows: csr_array) -> int:
    if not rows.shape[0] or not rows.nnz:
        return 0
    return int(np.bincount(rows.indices).max())


def _domain_maximum(program: LinearProgram, upper: Array, lower: Array) -> Array:
    """Return, per block or boxed variable, the maximum of the reduced objective over its domain."""
    blocks = program.blocks if program.blocks is not None else np.full(len(upper), -1)
    boxed = blocks < 0
    with np.errstate(invalid="ignore"):
        choices = [
            bound[boxed] * costs[boxed] for bound in (program.low, program.high) for costs in (upper, lower)
        ]
    # an infinite bound times a cost of exactly 0 is NaN; the variable earns nothing
    terms = (
        [np.nan_to_num(choices, nan=0.0, posinf=np.inf, neginf=-np.inf).max(axis=0)] if boxed.any() else []
    )
    if program.block_totals is not None and program.block_tight is not None:
        best = np.where(program.block_tight, -np.inf, 0.0)
        np.maximum.at(best, blocks[~boxed], upper[~boxed])
        terms.append(best * program.block_totals)
    return np.concatenate(terms) if terms else np.zeros(0)


def lagrangian(program: LinearProgram, result: LinearResult) -> float | None:
    """Return the Lagrangian of a program at the variables and multipliers that were found for another one.

    None where the two have different numbers of variables or rows.
    """
    x, y, z = result.variables, result.upper_multipliers, result.equal_multipliers
    if (program.upper_rows.shape, program.equal_rows.shape) != ((len(y), len(x)), (len(z), len(x))):
        return None
    upper, equal = np.zeros(len(y)), np.zeros(len(z))
    if len(y):
        upper = y * (program.upper_limits - program.upper_rows @ x)
    if len(z):
        equal = z * (program.equal_limits - program.equal_rows @ x)
    return math.fsum(np.concatenate([program.objective * x, upper, equal]).tolist())


@dataclass(frozen=True, eq=False)
class LinearPrices:
    """The multipliers of a linear program that a problem is stated as: prices of its constraints.

    Parameters
    ----------
    result : LinearResult
    program : callable
        From a problem to its linear program.
    sign : float
        -1 where the problem minimises what the program maximises.
    scale : float
        What the program's objective times it is in units of the problem's.
    names : sequence of (str, int)
        Groups of upper rows, in order, with their numbers of rows; a group without a name has no price to
        be shown.
    """

    result: LinearResult
    program: Callable[[Any], LinearProgram]
    sign: float = 1.0
    scale: float = 1.0
    names: Sequence[tuple[str, int]] = ()

    def lagrangian(self, problem: Any) -> float | None:
        """Return the Lagrangian of another problem's program, in units of the problem."""
        value = lagrangian(self.program(problem), self.result)
        return None if value is None else self.sign * self.scale * value

    def binding(self) -> list[Binding]:
        """Return the price of each group of rows that has a name."""
        result, start = [], 0
        for name, count in self.names:
            prices = self.scale * self.result.upper_multipliers[start : start + count]
            start += count
            if name and prices.any():
                result.append(Binding(name, float(prices.sum()), int((prices > 0).sum())))
        return result


def solve_equality_form(values: Array, columns: Array, limits: Array) -> tuple[Array, Array]:
    """Maximise ``values . x`` with ``columns x = limits``, ``x >= 0``; return x and the rows' prices.

    For the small master programs of column generation; the caller proves its own bound from the prices.

    Raises
    ------
    MethodError
        When HiGHS does not end with an optimum.
    """
    from scipy.sparse import csr_array

    scale, count = float(np.abs(values).max(initial=0.0)) or 1.0, len(values)
    none, free = csr_array((0, count)), np.full(count, np.inf)
    program = LinearProgram(
        values, none, np.zeros(0), csr_array(columns), np.asarray(limits), np.zeros(count), free
    )
    # For programs this small half of the time of scipy's linprog goes into reading its arguments.
    answer = solve_from(program, scale, "simplex", 1e-10, {})
    if answer is not None:
        return answer.variables, -scale * answer.equal_marginals
    result = solve_linear(program)
    if result.status != "optimal":
        raise MethodError("linear program: HiGHS ended with", result.message or result.status)
    return result.variables, result.equal_multipliers
