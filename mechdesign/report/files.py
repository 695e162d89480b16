"""Open a data file as a table in blocks, by its name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.mechanisms.missing import MissingRule
from mechdesign.report.reading import FileTable
from mechdesign.report.reading_csv import CsvTable
from mechdesign.report.reading_json import JSON_LINES, JsonTable
from mechdesign.report.reading_parquet import ParquetTable
from mechdesign.report.suffixes import PARQUET


def open_table(
    path: str | os.PathLike[str],
    missing: MissingRule | None = None,
    name: str | None = None,
    suffix: str | None = None,
) -> FileTable:
    r"""Return the table in a file of CSV, Parquet, or JSON lines (``.jsonl``, ``.ndjson``).

    Parameters
    ----------
    path : path
    missing : MissingRule, optional
        What to do with rows without a value; they are refused by default.
    name, suffix : str, optional
        What errors call it, and which format it has; by default as the path says.

    Raises
    ------
    DataError
        When the file cannot be read, is empty, or is not what its name says.
    MissingPackageError
        For Parquet without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "ages.csv"
    >>> _ = place.write_text("age\n31\n47\n")
    >>> table = open_table(place)
    >>> table.columns, [np.asarray(block["age"]).tolist() for block in table.blocks(["age"])]
    (('age',), [['31', '47']])
    """
    rule = MissingRule() if missing is None else missing
    ending = Path(path).suffix.lower() if suffix is None else suffix
    if ending in PARQUET:
        return ParquetTable(path, rule, name)
    if ending in JSON_LINES:
        return JsonTable(path, rule, name)
    return CsvTable(path, rule, name)


def read_column(path: str | os.PathLike[str], column: str | None = None) -> tuple[str, NDArray[np.generic]]:
    """Return name and values of one whole column, for files that fit into memory.

    Parameters
    ----------
    path : path
    column : str, optional
        May be left out when the file has just one.
    """
    table = open_table(path)
    if column is None and len(table.columns) > 1:
        raise DataError(path, f"has {counted(len(table.columns), 'column')}", "name one")
    name = table.columns[0] if column is None else column
    if name not in table.columns:
        raise DataError(path, f"no column '{name}'", f"known: {', '.join(table.columns)}")
    return name, np.concatenate([np.asarray(block[name]) for block in table.blocks([name])])
