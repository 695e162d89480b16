"""A quantity of a solution by its name: what sweeps draw and claims are about."""

from __future__ import annotations

from typing import Any

from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.core.solution import Solution

SIMPLE = ("value", "bound", "gap", "status")
"""What every solution has, and nothing else is called."""

CERTIFICATE = "certificate."


def quantity_of(solution: Solution, name: str) -> Any:
    """Return a named quantity of a solution: value, bound, gap, status, variable, certificate or others.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    if name in SIMPLE:
        return getattr(solution, name)
    if name in solution.variables:
        return solution.variables[name]
    if name.startswith(CERTIFICATE):  # computed only for those who ask for them, as the quantities below
        known = {f"{CERTIFICATE}{item.property}": item.holds for item in solution.certificates}
    else:
        known = {**solution.notes, **solution.quantities}
    if name in known:
        return known[name]
    certificates = [f"{CERTIFICATE}{item.property}" for item in solution.certificates]
    names = {*SIMPLE, *solution.notes, *solution.quantities, *solution.variables, *certificates}
    raise UnknownNameError("quantity", f"no '{name}'", suggestion(name, names))
