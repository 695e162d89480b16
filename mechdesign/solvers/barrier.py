"""Packing programs by the interior point method of HiGHS, without a vertex: good multipliers in one solve.

The multipliers are inexact; whoever asks proves a bound of its own from them (weak duality).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.solvers.silent import silent_highs

Array = NDArray[np.float64]

TOLERANCE = 1e-4
"""The relative gap at which the method ends."""


def packed(
    gains: Array, matrix: Any, exactly: NDArray[np.bool_], seconds: float
) -> tuple[Array, Array] | None:
    """Return variables and multipliers of a packing program, None where the time was too short.

    The program maximises ``gains . x`` over x >= 0 with rows that sum to at most 1.

    Parameters
    ----------
    gains : (n,) array
    matrix : sparse (rows, n), by columns
    exactly : (rows,) array of bool
        Rows that sum to exactly 1.
    seconds : float

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> rows = csc_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> values, prices = packed(np.array([1.0, 3.0, 1.0]), rows, np.zeros(2, dtype=bool), 10.0)
    >>> values.round(3).tolist(), float(prices.sum().round(3))
    ([0.0, 1.0, 0.0], 3.0)
    """
    module: Any = importlib.import_module("highspy")
    solver = silent_highs()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", "ipx")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("ipm_optimality_tolerance", TOLERANCE)
    solver.setOptionValue("time_limit", max(seconds, 0.01))
    program = module.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = -gains
    program.col_lower_, program.col_upper_ = np.zeros(len(gains)), np.full(len(gains), np.inf)
    program.row_lower_ = np.where(exactly, 1.0, -np.inf)
    program.row_upper_ = np.ones(len(exactly))
    program.a_matrix_.format_ = module.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver.passModel(program)
    solver.run()
    found = solver.getSolution()
    if not found.value_valid or not found.dual_valid:
        return None
    return np.array(found.col_value), -np.array(found.row_dual)
