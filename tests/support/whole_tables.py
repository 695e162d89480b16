"""Whole columns of files that fit into memory, for tests that write and read small tables."""

from __future__ import annotations

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from mechdesign.data.writing import write_blocks


def read_column(path, column=None):
    """Return name and values of a column; the name may be left out when the file has just one."""
    table = open_table(path)
    if column is None and len(table.columns) > 1:
        raise DataError(path, f"has {len(table.columns)} columns", "name one")
    name = table.columns[0] if column is None else column
    if name not in table.columns:
        raise DataError(path, f"no column '{name}'", f"known: {', '.join(table.columns)}")
    return name, np.concatenate([np.asarray(block[name]) for block in table.blocks([name])])


def write_columns(path, columns):
    """Write columns that are in memory to a CSV or Parquet file."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if len({len(values) for values in arrays.values()}) > 1:
        raise ValueError("columns: their lengths differ")
    write_blocks(path, [arrays])
