"""What the figures of a model show, at each point of its sweep: the quantities, not the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mechdesign.catalog.curves import COUNTED, CurvePoints
from mechdesign.catalog.figure_table import METHOD, FigureTable
from mechdesign.catalog.figures import figure_tables
from mechdesign.catalog.model import Model
from mechdesign.catalog.sweeping import SweepRow
from mechdesign.core.errors import MechDesignError
from mechdesign.core.text import encode

KNOWN = ("value", "bound")
"""Quantities of the method that solved a point, which every table of a sweep has."""


def plotted_quantities(model: Model, rows: Sequence[SweepRow]) -> list[dict[str, Any]]:
    """Return for each point of a sweep the quantities that the model's figures show there, by name.

    A quantity by a method that the figure names is called ``quantity by method``. Points that no figure
    shows have None, and so have those where a method does not apply.

    Parameters
    ----------
    model : Model
    rows : sequence of SweepRow
        What :func:`run_sweep` gave for this model.

    Raises
    ------
    MechDesignError
        When a declared quantity does not exist, naming the model, the figure and the closest names.
    """
    points, found = CurvePoints(model, rows), [dict[str, Any]() for _ in rows]
    for number, table in enumerate(figure_tables(model), 1):
        try:
            for place, row in enumerate(rows):
                _add(points, table, row, found[place])
        except MechDesignError as error:
            raise error.inside(f"{model.slug}: [figure {number}]") from None
    names = list(dict.fromkeys(name for each in found for name in each))
    return [{name: each.get(name) for name in names} for each in found]


def _add(points: CurvePoints, table: FigureTable, row: SweepRow, into: dict[str, Any]) -> None:
    """Add what a figure shows at a point; nothing where it does not lie in the figure."""
    fixed = points.fixed(table)
    if any(row.parameters.get(name) != value for name, value in fixed.items()):
        return
    is_listed = table.x != METHOD and table.x not in points.model.sweep
    names = [*table.y, *table.once]
    if is_listed and table.x != COUNTED:
        names.insert(0, table.x)
    for method in table.methods or (None,):
        for name in names:
            key = name if method is None else f"{name} by {method}"
            is_known = method is None and (name in KNOWN or name in row.measured)
            if key not in into and not is_known:
                into[key] = _quantity(points, row, method, name, is_listed)


def _quantity(points: CurvePoints, row: SweepRow, method: str | None, name: str, is_listed: bool) -> Any:
    if is_listed:
        solution = points.solution(row.parameters, method)
        return None if solution is None else encode(points.found(solution, name, row.measured))
    number = points.number(row.parameters, method, name)
    return None if math.isnan(number) else number
