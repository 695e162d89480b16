"""Results into files that spreadsheets and data frames open: CSV, Parquet, Excel workbooks and JSON."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError
from mechdesign.core.tables import Block
from mechdesign.core.text import counted, encode
from mechdesign.data.frames import Columns
from mechdesign.data.writing import write_blocks
from mechdesign.work.files import whole_file

MOST_ROWS, LONGEST = 1_048_576, 32_767
"""Rows of a worksheet, and characters of one of its cells: what spreadsheets open."""

SHEET = re.compile(r"[\[\]:*?/\\']")
"""What the name of a worksheet must not have."""


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
    suffix = Path(path).suffix.lower()
    if suffix == ".xlsx":
        return _write_workbook(path, tables)
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
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = json.dumps(encode(rows), indent=1, allow_nan=False) + "\n"
    with whole_file(path, DataError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return len(rows)


def _workbooks(path: str | os.PathLike[str]) -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingPackageError(
            path, "a workbook needs xlsxwriter", "install mechdesign[xlsx], or use .csv"
        ) from None
    return xlsxwriter


def _write_workbook(path: str, tables: Mapping[str, Columns]) -> int:
    """Write a sheet for each table; texts stay texts, whatever a spreadsheet would take them for."""
    package = _workbooks(path)
    sizes = [len(next(iter(columns.values()), [])) for columns in tables.values()]
    if max(sizes, default=0) >= MOST_ROWS:
        raise DataError(path, f"{max(sizes)} rows are more than a worksheet has", "use .csv or .parquet")
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with whole_file(path, DataError) as temporary:
        stream = io.BytesIO()  # a full disk would break the archive where nothing can be caught
        book = package.Workbook(stream, {**plain, "in_memory": True})
        bold, taken = book.add_format({"bold": True}), set[str]()
        for title, columns in tables.items():
            sheet = book.add_worksheet(_sheet_name(title, taken))
            sheet.freeze_panes(1, 0)
            for place, (name, values) in enumerate(columns.items()):
                sheet.write_string(0, place, name, bold)
                sheet.set_column(place, place, min(40, 2 + max(len(name), *map(_width, values), 8)))
                for row, value in enumerate(values, 1):
                    _write_cell(sheet, row, place, value)
        book.close()
        temporary.write_bytes(stream.getvalue())
    return sum(sizes)


def _width(value: Any) -> int:
    return len(value) if isinstance(value, str) else 8


def _write_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float, np.number)) and math.isfinite(value):
        sheet.write_number(row, column, value)
    else:
        sheet.write_string(row, column, str(value)[:LONGEST])


def _sheet_name(title: str, taken: set[str]) -> str:
    """Return the name of a sheet: at most 31 characters, none of them forbidden, and not yet taken."""
    name = SHEET.sub(" ", title).strip()[:31] or "results"
    number = 1
    while name.casefold() in taken:
        number += 1
        end = f" {number}"
        name = f"{SHEET.sub(' ', title).strip()[: 31 - len(end)]}{end}"
    taken.add(name.casefold())
    return name
