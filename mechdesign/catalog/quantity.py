"""A quantity of a solution by its name: what sweeps draw and claims are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.core.solution import Solution


def quantity_of(solution: Solution, name: str) -> Any:
    """Return a named quantity of a solution: value, bound, gap, status, variable, certificate or others.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    simple = {
        "value": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": solution.status,
    }
    certificates: Mapping[str, Any] = {
        f"certificate.{item.property}": item.holds for item in solution.certificates
    }
    known = {**simple, **solution.notes, **solution.quantities, **solution.variables, **certificates}
    if name not in known:
        raise UnknownNameError("quantity", f"no '{name}'", suggestion(name, known))
    return known[name]
