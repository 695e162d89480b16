"""Linear programs in series: HiGHS starts from the basis in which the last one ended.

The numbers of two programs of a series may differ everywhere. A basis that is neither feasible nor dual
feasible for the new numbers is still near to the best one, and the simplex takes a fraction of its steps.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.solvers.silent import silent_highs

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

Array = NDArray[np.float64]

PRIMAL = 4
"""What HiGHS calls the primal simplex: where only columns were added, the old solution is still feasible."""


PATIENCE = 20
"""Steps of the simplex for each row and column, before it is given up: a bad start can go round for ever."""


@dataclass(frozen=True)
class KeptBasis:
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
    kept = store.get(key) or store.get(key[1])
    basis = None if kept is None else _extended(module, kept, columns, upper)
    if basis is not None:
        solver.setBasis(basis)
        if kept is not None and len(kept.basis.col_status) < columns:
            solver.setOptionValue("simplex_strategy", PRIMAL)
    solver.setOptionValue("solver", "ipm" if basis is None and algorithm == "interior-point" else "simplex")
    solver.run()
    found = solver.getSolution()
    if solver.getModelStatus() != module.HighsModelStatus.kOptimal or not found.dual_valid:
        store.pop(key, None)
        store.pop(key[1], None)
        return None
    info = solver.getInfo()
    iterations = info.simplex_iteration_count + info.crossover_iteration_count
    store[key] = store[key[1]] = KeptBasis(solver.getBasis(), upper, max(int(iterations), 0))
    duals = np.array(found.row_dual)
    return WarmAnswer(np.array(found.col_value), duals[key[1] :], duals[: key[1]])


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


def _extended(module: Any, kept: KeptBasis, columns: int, upper_rows: int) -> Any:
    """Return the basis with columns and rows that were added at the ends; None where there are fewer now."""
    more = columns - len(kept.basis.col_status)
    if more < 0 or upper_rows < kept.upper_rows:
        return None
    basis = module.HighsBasis()
    basis.col_status = [*kept.basis.col_status, *[module.HighsBasisStatus.kLower] * more]
    added = [module.HighsBasisStatus.kBasic] * (upper_rows - kept.upper_rows)
    basis.row_status = [*kept.basis.row_status, *added]
    basis.valid = True
    return basis
