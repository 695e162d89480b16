"""Readable tables of solutions and sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mechdesign.catalog.sweeping import SweepRow
from mechdesign.core.certificate import OPTIMALITY, format_figure
from mechdesign.core.errors import printable
from mechdesign.core.solution import Solution
from mechdesign.core.solve import methods_of
from mechdesign.core.text import counted, encode
from mechdesign.data.frames import Columns, one_cell, stacked

SHOWN_ROWS = 12
SHOWN_COLUMNS = 10


def solution_text(solution: Solution) -> str:
    """Return a solution with its certificates and its variables, matrices abridged.

    The first line of one that need not be optimal says which method would prove an optimum.
    """
    first, *rest = str(solution).split("\n")
    lines = [first + _remedy(solution), *rest]
    for name, value in solution.variables.items():
        lines.append(f"  {name}:")
        lines.append(variable_text(value))
    return "\n".join(lines)


def _remedy(solution: Solution) -> str:
    """Return which method solves for the optimum where a heuristic or a published formula did not."""
    proven = any(item.property == OPTIMALITY and item.holds for item in solution.certificates)
    if not solution.found or solution.scope or proven or solution.kind not in ("heuristic", "published"):
        return ""
    for method in methods_of(solution.problem):
        is_exact = method.kind in ("analytic", "numeric") and not method.scope
        if is_exact and method.name != solution.method and method.why_not(solution.problem) is None:
            return f"; --method {method.name} solves for the optimum"
    return ""


def variable_text(value: Any) -> str:
    """Return a number, vector or matrix as indented text; large ones by their first entries."""
    if hasattr(value, "as_json"):
        plain = value.as_json()
        return "\n".join(f"    {key}: {cell_text(item)}" for key, item in plain.items())
    if isinstance(value, (list, tuple)) and _has_tables(value):
        return _shown_rows([_described(item) for item in value[:SHOWN_ROWS]], len(value))
    if isinstance(value, list) and len({len(row) for row in value if isinstance(row, list)}) > 1:
        return _shown_rows([cell_text(row) for row in value[:SHOWN_ROWS]], len(value))
    array = np.asarray(value)
    if array.ndim == 0:
        return f"    {format_figure(array.item())}"
    if array.ndim == 1:
        return f"    {cell_text(array.tolist())}"
    return _shown_rows([_row(row) for row in array[:SHOWN_ROWS]], len(array))


def _has_tables(value: Any) -> bool:
    """Whether something is a mapping, or holds one at any depth."""
    return isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and any(map(_has_tables, value)))


def _described(value: Any) -> str:
    """Return a mapping, or a list of them, in one line.

    Examples
    --------
    >>> _described([{"kind": "sets", "epsilon": 2.0}, {"kind": "number"}])
    'kind = sets, epsilon = 2; kind = number'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{printable(str(key))} = {cell_text(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_described, value))
    return cell_text(value)


def _shown_rows(rows: list[str], number: int) -> str:
    """Return the shown rows, indented, and a line with how many of all ``number`` rows are not shown."""
    lines = [f"    {row}" for row in rows]
    if number > len(rows):
        lines.append(f"    ... {number - len(rows)} more rows (--json prints all)")
    return "\n".join(lines)


def _row(row: Any) -> str:
    """Return the first numbers of a row: six decimals, or integers where there are no others."""
    whole = np.issubdtype(row.dtype, np.integer)
    cells = "  ".join(f"{entry:3d}" if whole else f"{float(entry):.6f}" for entry in row[:SHOWN_COLUMNS])
    return cells if len(row) <= SHOWN_COLUMNS else f"{cells}  ... ({counted(len(row), 'column')})"


def cell_text(value: Any) -> str:
    """Return a plain value as text; a long list by its first entries."""
    if isinstance(value, list) and len(value) > SHOWN_COLUMNS:
        return f"[{', '.join(map(_cell, value[:SHOWN_COLUMNS]))}, ... {len(value)} in all]"
    if isinstance(value, list):
        return f"[{', '.join(map(_cell, value))}]"
    return _cell(value)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_figure(value) if isinstance(value, (int, float)) else printable(value)


def _short(value: Any) -> str:
    plain = encode(value)
    if isinstance(plain, list) and plain and isinstance(plain[0], list):
        return "[" + ", ".join(cell_text(row) for row in plain[:3]) + (", ...]" if len(plain) > 3 else "]")
    return cell_text(plain)


def sweep_table(rows: Sequence[SweepRow]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a sweep: parameters, value, bound, and what was measured."""
    parameters = list(rows[0].parameters)
    measured = list(dict.fromkeys(key for row in rows for key in row.measured))
    header = [*parameters, "status", "value", "gap", *measured]
    lines = []
    for row in rows:
        solution = row.solution
        cells = [_short(row.parameters[name]) for name in parameters]
        cells += [solution.status, _cell(solution.value) if solution.found else "-"]
        cells.append(f"{solution.gap:.1e}" if math.isfinite(solution.gap) else "-")
        cells += [_cell(row.measured[name]) if name in row.measured else "-" for name in measured]
        lines.append(cells)
    return header, lines


def sweep_columns(rows: Sequence[SweepRow], plotted: Sequence[Mapping[str, Any]]) -> Columns:
    """Return a sweep as columns of plain values: parameters, value, bound, what was measured and is drawn."""
    parts = []
    for row, text in zip(rows, plotted, strict=True):
        solution = row.solution
        whole = {**row.parameters, "status": solution.status}
        whole |= {"value": solution.value if solution.found else None, "bound": solution.bound}
        whole |= {"gap": solution.gap if math.isfinite(solution.gap) else None, **row.measured, **text}
        parts.append({name: [one_cell(value)] for name, value in whole.items()})
    return stacked(parts)


def sweep_json(rows: Sequence[SweepRow], plotted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a sweep as plain values, without the variables; with what the figures show."""
    return [
        {
            "parameters": encode(row.parameters),
            "status": row.solution.status,
            "value": encode(row.solution.value),
            "bound": encode(row.solution.bound),
            "measured": encode(row.measured),
            "plotted": encode(dict(text)),
        }
        for row, text in zip(rows, plotted, strict=True)
    ]
