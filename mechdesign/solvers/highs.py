"""Linear programs by HiGHS itself: growing ones, and packing programs without a vertex.

**Growing**: HiGHS goes on from its last basis when rows and columns are added.

**Packing programs** by the interior point method, without a vertex: good but inexact multipliers in one
solve.

Only the solution and the multipliers are taken from HiGHS; whoever asks proves a bound of its own from
the multipliers (weak duality), as :mod:`mechdesign.solvers.linear` does for a program that stays.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray


def silent_highs() -> Any:
    """Return a solver object of highspy that prints nothing.

    Since highspy 1.16 its constructor prints a banner while it enables callbacks; whatever reads our standard
    output, such as a reader of JSON, would stumble over it. Where another package has run HiGHS in this
    process with more threads, HiGHS refuses to run with one until its global scheduler is made anew.

    Examples
    --------
    >>> silent_highs().getOptionValue("output_flag")[1]
    False
    """
    module: Any = importlib.import_module("highspy")

    class QuietHighs(module.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802 (the name that highspy's constructor calls)
            self.silent()
            super().enableCallbacks()

        def run(self) -> Any:
            status = super().run()
            if status == module.HighsStatus.kError:
                module.Highs.resetGlobalScheduler(True)
                status = super().run()
            return status

    solver = QuietHighs()
    solver.silent()
    return solver


Array = NDArray[np.float64]

Places = NDArray[np.int64]


class GrowingProgram:
    """Maximise ``gains . x`` over x >= 0 with rows that sum to at most 1, or to exactly 1.

    Examples
    --------
    >>> program = GrowingProgram()
    >>> program.columns(np.array([2.0, 1.0]))
    >>> program.row(np.array([0, 1]), np.ones(2))
    >>> program.solve(10.0)
    True
    >>> program.values.tolist(), program.multipliers.tolist()
    ([1.0, 0.0], [2.0])
    >>> program.column(3.0, np.array([0]), np.ones(1))
    >>> program.solve(10.0), program.values.tolist()
    (True, [0.0, 0.0, 1.0])
    """

    def __init__(self) -> None:
        self._module: Any = importlib.import_module("highspy")
        self._solver: Any = silent_highs()
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("random_seed", 0)
        self._solver.setOptionValue("solver", "simplex")
        self.values: Array = np.zeros(0)
        self.multipliers: Array = np.zeros(0)
        self.sums: Array = np.zeros(0)

    def columns(self, gains: Array) -> None:
        """Add variables that are in no row yet."""
        count = len(gains)
        first = self._solver.getNumCol()
        self._solver.addVars(count, np.zeros(count), np.full(count, np.inf))
        self._solver.changeColsCost(count, np.arange(first, first + count, dtype=np.int32), -gains)

    def column(self, gain: float, rows: Places, entries: Array) -> None:
        """Add a variable with its entries in the rows that exist."""
        self._solver.addCol(-gain, 0.0, np.inf, len(rows), rows.astype(np.int32), entries)

    def row(self, columns: Places, entries: Array, exactly: bool = False) -> None:
        """Add a row whose sum is at most 1, or exactly 1."""
        low = 1.0 if exactly else -np.inf
        self._solver.addRow(low, 1.0, len(columns), columns.astype(np.int32), entries)

    def rows(self, value: list[tuple[Places, Array]]) -> None:
        """Add rows whose sums are at most 1, each with its columns and their entries."""
        if value:
            counts = [len(columns) for columns, _ in value]
            starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
            columns = np.concatenate([places for places, _ in value]).astype(np.int32)
            entries = np.concatenate([values for _, values in value])
            low, high = np.full(len(value), -np.inf), np.ones(len(value))
            self._solver.addRows(len(value), low, high, len(columns), starts, columns, entries)

    def entry(self, row: int, column: int, value: float) -> None:
        """Change one entry."""
        self._solver.changeCoeff(row, column, value)

    def close(self, columns: Places) -> None:
        """Keep variables at 0 from now on."""
        zeros = np.zeros(len(columns))
        self._solver.changeColsBounds(len(columns), columns.astype(np.int32), zeros, zeros)

    def drop(self, rows: Places) -> None:
        """Remove rows; those behind move up."""
        self._solver.deleteRows(len(rows), rows.astype(np.int32))

    def solve(self, seconds: float) -> bool:
        """Solve within a time; False, with what was found before kept, where that was too short."""
        states = self._module.HighsModelStatus
        started = time.monotonic()
        for again in (False, True):
            if again:
                self._solver.clearSolver()  # numerical trouble with the last basis: start again
            left = max(seconds - (time.monotonic() - started), 0.01)
            # HiGHS counts the time of all runs together
            self._solver.setOptionValue("time_limit", float(self._solver.getRunTime()) + left)
            self._solver.run()
            status = self._solver.getModelStatus()
            if status in (states.kOptimal, states.kTimeLimit):
                break
        optimum = self._solver.getSolution()
        if status != states.kOptimal or not optimum.dual_valid:
            return False
        self.values = np.array(optimum.col_value)
        self.multipliers = -np.array(optimum.row_dual)
        self.sums = np.array(optimum.row_value)
        return True


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
    point = solver.getSolution()
    if not point.value_valid or not point.dual_valid:
        return None
    return np.array(point.col_value), -np.array(point.row_dual)
