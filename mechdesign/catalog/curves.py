"""The numbers that a figure of a model shows: solutions along a sweep, by one or several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.catalog.figure_table import FigureTable
from mechdesign.catalog.load import Model, quantity_of
from mechdesign.catalog.sweeping import SweepRow
from mechdesign.core.errors import MethodError, UnknownNameError, suggestion
from mechdesign.core.fields import replace_parameters, values_of
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.solvers.solve import solve

Array = NDArray[np.float64]

COUNTED = "number"
"""The name of an axis that counts the entries of a quantity from 0."""


@dataclass
class CurvePoints:
    """Solutions of a model at the points of its sweep, each solved once by each method.

    Attributes
    ----------
    model : Model
    rows : sequence of SweepRow
        What was solved already.
    runs : sequence of Solution
        What was solved already with the model's own parameters, by several methods.
    """

    model: Model
    rows: Sequence[SweepRow]
    runs: Sequence[Solution] = ()
    solved: dict[str, Solution | None] = field(default_factory=dict)

    def fixed(self, table: FigureTable) -> dict[str, Any]:
        """Return the values of the swept parameters that a figure does not run over."""
        result = {}
        for name, values in self.model.sweep.items():
            if name not in (table.x, table.series):
                own = own_value(self.model.problem, name)
                first = own if own in values else values[0]
                result[name] = table.at.get(name, first)
        return result

    def row(self, parameters: Mapping[str, Any]) -> SweepRow | None:
        """Return the row that was solved at these parameters."""
        for row in self.rows:
            if set(row.parameters) == set(parameters) and all(
                row.parameters[name] == value for name, value in parameters.items()
            ):
                return row
        return None

    def solution(self, parameters: Mapping[str, Any], method: str | None) -> Solution | None:
        """Return the solution at these parameters; None where the method does not apply or finds none."""
        row = self.row(parameters)
        if row is not None and method in (None, row.solution.method):
            return row.solution if row.solution.found else None
        if method is not None and self._is_own(parameters):
            for run in self.runs:
                if run.method == method:
                    return run if run.found else None
        key = repr((sorted(parameters.items(), key=lambda item: item[0]), method))
        if key not in self.solved:
            problem = (
                replace_parameters(self.model.problem, dict(parameters)) if parameters else self.model.problem
            )
            try:
                solution = solve(problem, method)
            except MethodError:
                self.solved[key] = None
            else:
                self.solved[key] = solution if solution.found else None
        return self.solved[key]

    def _is_own(self, parameters: Mapping[str, Any]) -> bool:
        """Whether these are the values that the model itself has."""
        return all(own_value(self.model.problem, name) == value for name, value in parameters.items())

    def number(self, parameters: Mapping[str, Any], method: str | None, name: str) -> float:
        """Return a quantity, or what was measured, at one point; NaN where there is none."""
        row = self.row(parameters)
        if method is None and row is not None and name in row.measured:
            return row.measured[name]
        solution = self.solution(parameters, method)
        if solution is None:
            return float("nan")
        measured = row.measured if row is not None else {}
        quantity = self.quantity(solution, name, measured)
        if quantity is None:
            return float("nan")
        if np.ndim(quantity) != 0 or isinstance(quantity, str):
            raise UnknownNameError(
                "y", f"'{name}' is not a single number", "draw it over a quantity of its length"
            )
        return float(quantity)

    def quantity(self, solution: Solution, name: str, measured: Mapping[str, float]) -> Any:
        """Return a quantity of a solution, or a parameter of its problem.

        Raises
        ------
        UnknownNameError
            With the closest names, those of the simulation among them.
        """
        if name in measured:
            return measured[name]
        own = {"value": solution.value, "bound": solution.bound, "seconds": solution.seconds}
        at_hand: Mapping[str, Any] = {**solution.variables, **solution.notes, **own}
        if name in at_hand:  # the others are computed on first use, which takes its time
            return at_hand[name]
        try:
            return quantity_of(solution, name)
        except UnknownNameError:
            parameters = values_of(solution.problem)
            if name in parameters:
                return parameters[name]
            if name in self.optional(solution):
                return None
            known = [
                "value",
                "bound",
                "gap",
                *solution.quantities,
                *solution.variables,
                *solution.notes,
                *measured,
            ]
            raise UnknownNameError("y", f"no quantity '{name}'", suggestion(name, known)) from None

    def optional(self, solution: Solution) -> set[str]:
        """Return the names of what other points of the sweep have; some are not defined everywhere."""
        return {
            name
            for row in self.rows
            if row.solution.found
            for name in (*row.solution.quantities, *row.solution.notes, *row.measured)
        }

    def vector(self, solution: Solution, name: str) -> Array:
        """Return a quantity that is a list of numbers."""
        result = np.asarray(self.quantity(solution, name, {}), dtype=np.float64)
        if result.ndim != 1:
            raise UnknownNameError(
                "y", f"'{name}' is not a list of numbers", "draw it over a parameter of the sweep"
            )
        return result


def own_value(problem: Any, name: str) -> Any:
    """Return a parameter of a problem as a file gives it: lists in place of arrays."""
    value = getattr(problem, name, None)
    return list(value) if isinstance(value, tuple) else encode(value)
