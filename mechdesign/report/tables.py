"""Readable tables of solutions and sweeps.

Results into files that spreadsheets and data frames open: CSV, Parquet, Excel workbooks and JSON.

What ``show`` prints of a problem: its parameters and methods.

Parameters are described by their forms, meanings and defaults, and for other programs by a JSON Schema.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import OPTIMALITY, format_figure
from mechdesign.core.errors import DataError, ParameterError, counted, printable
from mechdesign.core.fields import Generators, Parameter, fields_of, schema_of, signature_text
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.data.intake import Block
from mechdesign.data.tidy import Columns, one_cell, stacked
from mechdesign.show.tables import table
from mechdesign.solvers.solve import methods_of

if TYPE_CHECKING:
    from mechdesign.catalog.sweeping import SweepRow


def json_schema(problem_class: type[Problem]) -> dict[str, Any]:
    """Return the JSON Schema of a problem's parameters, derived from its fields.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> json_schema(RandomizedResponse)["required"]
    ['prior', 'epsilon']
    """
    hints = get_type_hints(problem_class)
    generators: Generators = getattr(problem_class, "generators", {})
    fields = fields_of(problem_class)
    described = described_parameters(problem_class)
    properties = {}
    for field in fields:
        schema = _limited(schema_of(hints[field.name]), field)
        if field.name in generators:
            schema = {"anyOf": [schema, *_generator_schemas(generators[field.name])]}
        if field.name in described:
            schema = {"description": described[field.name].text, **schema}
        properties[field.name] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": problem_class.name,
        "description": problem_class.summary,
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields if field.is_required],
        "additionalProperties": False,
    }


def _generator_schemas(known: Mapping[str, Callable[..., Any]]) -> list[dict[str, Any]]:
    """Return a schema for each generator: its name, its arguments, those that are needed."""
    schemas = []
    for name, function in sorted(known.items()):
        arguments = inspect.signature(function).parameters
        needed = [word for word, argument in arguments.items() if argument.default is argument.empty]
        schemas.append(
            {
                "type": "object",
                "properties": {"name": {"const": name}, **{word: {} for word in arguments}},
                "required": ["name", *needed],
                "additionalProperties": False,
            }
        )
    return schemas


def _limited(schema: dict[str, Any], field: Parameter) -> dict[str, Any]:
    """Return the schema with the field's limits at the numbers or texts that they are about."""
    if "anyOf" in schema:
        return {"anyOf": [_limited(part, field) for part in schema["anyOf"]]}
    is_limited = schema.get("type") in ("number", "integer", "string")
    return {**schema, **field.limits} if is_limited else schema


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", flags=re.MULTILINE | re.DOTALL)

ENTRY = re.compile(r"^(\w[\w, ]*?)(?: ?: ?(.*))?$")


class Described(NamedTuple):
    """The two parts of a parameter's entry in a NumPy docstring, as plain text."""

    form: str
    meaning: str

    @property
    def text(self) -> str:
        """Both in one: ``float: > 0 and finite.``."""
        return ": ".join(part for part in self if part)


def described_parameters(problem_class: type[Problem]) -> dict[str, Described]:
    """Return form and meaning of each parameter, without the marks of reStructuredText.

    Of a problem that is a plain dataclass they are read from the section ``Parameters`` of its docstring;
    those of a base class count as well, unless the class describes them itself.

    Examples
    --------
    >>> from mechdesign.families.mean import MeanChannel
    >>> described_parameters(MeanChannel)["epsilon"]
    Described(form='float', meaning='> 0 and finite.')
    """
    descriptions: dict[str, Described] = {}
    for item in reversed(problem_class.__mro__):
        descriptions |= _section(inspect.cleandoc(item.__doc__ or ""))
    stated = fields_of(problem_class)
    descriptions |= {
        item.name: Described(without_markup(item.form), without_markup(item.meaning))
        for item in stated
        if item.meaning
    }
    return {item.name: descriptions[item.name] for item in stated if item.name in descriptions}


def _section(text: str) -> dict[str, Described]:
    section = SECTION.search(text + "\n")
    if section is None:
        return {}
    result: dict[str, Described] = {}
    names: list[str] = []
    lines: list[str] = []
    form = ""
    for line in [*section[1].splitlines(), "end"]:
        entry = ENTRY.match(line)
        if entry is None:
            lines.append(line.strip())
            continue
        meaning = without_markup(" ".join(lines))
        result |= {name: Described(without_markup(form), meaning) for name in names}
        names, form, lines = entry[1].split(", "), entry[2] or "", []
    return result


def without_markup(text: str) -> str:
    r"""Return a line of reStructuredText without its marks.

    Examples
    --------
    >>> without_markup(r"``\"truth\"`` is -\|i - j\|, see :class:`~mechdesign.Problem`")
    '"truth" is -|i - j|, see Problem'
    """
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", text)
    return " ".join(re.sub(r"\\(.)", r"\1", text.replace("``", "")).split())


def default_of(parameter: Parameter) -> str:
    """Return the default of a parameter as a model file writes it; empty where it is required."""
    if parameter.is_required:
        return ""
    if parameter.default is None:
        return "none"
    if not isinstance(parameter.default, (str, int, float, list, tuple, dict)):
        return "see its meaning"
    return f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)


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
        return _chosen_rows([_described(item) for item in value[:SHOWN_ROWS]], len(value))
    if isinstance(value, list) and len({len(row) for row in value if isinstance(row, list)}) > 1:
        return _chosen_rows([cell_text(row) for row in value[:SHOWN_ROWS]], len(value))
    array = np.asarray(value)
    if array.ndim == 0:
        return f"    {format_figure(array.item())}"
    if array.ndim == 1:
        return f"    {cell_text(array.tolist())}"
    return _chosen_rows([_row(row) for row in array[:SHOWN_ROWS]], len(array))


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


def _chosen_rows(rows: list[str], number: int) -> str:
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


def write_results(path: str, tables: Mapping[str, Columns]) -> int:
    """Write tables of results to one file, and return the number of rows.

    Parameters
    ----------
    path : str
        Its extension is one of ``RESULTS``.
    tables : mapping
        By their titles; only a workbook holds several, each in a sheet.

    Raises
    ------
    ParameterError
        For several tables in a file that is not a workbook.
    MissingPackageError
        For Parquet without pyarrow, for a workbook without xlsxwriter.
    """
    from mechdesign.data.writing import write_blocks

    suffix = Path(path).suffix.lower()
    if suffix == ".xlsx":
        from mechdesign.report.workbook import write_tables  # most results are no workbooks

        return write_tables(path, tables)
    if len(tables) != 1:
        raise ParameterError(f"-o {path}", counted(len(tables), "table"), "name a file ending in .xlsx")
    (columns,) = tables.values()
    if suffix == ".json":
        return _write_json(path, columns)
    return write_blocks(path, [_block(columns)])


def _block(columns: Columns) -> Block:
    return {name: _array(values) for name, values in columns.items()}


def _array(values: Sequence[Any]) -> NDArray[Any]:
    """Return a column as an array; one with gaps keeps them as None."""
    if any(value is None for value in values) or any(isinstance(value, str) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _write_json(path: str, columns: Columns) -> int:
    from mechdesign.work.files import whole_file

    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = json.dumps(encode(rows), indent=1, allow_nan=False) + "\n"
    with whole_file(path, DataError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return len(rows)


def problem_text(problem_class: type[Problem], width: int | None = None) -> str:
    """Return a description of a problem: its purpose, a table of its parameters, and its methods.

    Examples
    --------
    >>> from mechdesign.families.mean import MeanChannel
    >>> print(problem_text(MeanChannel, 100).splitlines()[0])
    mean-channel (min): the best mechanism for the mean of a number, by linear programming
    """
    described = described_parameters(problem_class)
    generators: Generators = getattr(problem_class, "generators", {})
    rows = []
    for field in fields_of(problem_class):
        entry = described.get(field.name, Described("", ""))
        meaning = [entry.meaning]
        for name, function in sorted(generators.get(field.name, {}).items()):
            meaning.append(f'Or {{ name = "{name}", {signature_text(function)} }}.')
        default = default_of(field) or "required"
        rows.append([field.name, default, entry.form, " ".join(part for part in meaning if part)])
    methods = [[method.name, method.kind, method.summary] for method in methods_of(problem_class)]
    return "\n\n".join(
        [
            f"{problem_class.name} ({problem_class.sense}): {problem_class.summary}",
            table(["parameter", "default", "form", "meaning"], rows, width),
            table(["method", "kind", "summary"], methods, width),
            "--json prints the JSON Schema of the parameters.",
        ]
    )
