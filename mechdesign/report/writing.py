"""Blocks of columns into CSV or Parquet files; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.files import whole_file
from mechdesign.core.tables import Block, Coded, Values, length
from mechdesign.report.arrow import coded_texts, whole_to_arrow
from mechdesign.report.formulas import escaped_formula
from mechdesign.report.reading import pyarrow_module
from mechdesign.report.suffixes import PARQUET

RUNS, LONGEST_RUN = 1 << 10, 8
"""Lines are looked up several at a time: so many different runs of them are put together before."""

GROUP = 1 << 20
"""Rows of a row group of Parquet files: small groups make large files."""


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Block], private: bool = False) -> int:
    """Write blocks to a CSV or Parquet file and return the number of rows.

    A new file that is ``private`` can be read by its owner only.

    Raises
    ------
    DataError
        When the place cannot be written; nothing is left behind.
    MissingPackageError
        For Parquet without pyarrow.
    """
    if Path(path).suffix.lower() in PARQUET:
        pyarrow_module("parquet", path)
        write = _write_parquet
    else:
        write = _write_csv
    with whole_file(path, DataError, private=private) as temporary:
        try:
            rows = write(temporary, blocks)
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.end]
            raise DataError(f"{path}: not written", f"{half!r} is half a character", "correct it") from None
        return rows


def _write_csv(path: Path, blocks: Iterable[Block]) -> int:
    rows = 0
    with path.open("wb") as stream:
        for block in blocks:
            if not rows:
                stream.write(_csv_header(list(block)).encode("utf-8"))
            stream.write(_csv_block(list(block.values())))
            rows += length(block)
    return rows


def _csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    listed, text = list(rows), io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(listed)
    written = text.getvalue()
    if "\r" not in written:
        return written
    # Python's writer leaves a carriage return without quotes, where readers take it for the end of a line.
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in listed:
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (quoting if has_return else plain).writerow(row)
    return text.getvalue()


def _csv_header(names: Sequence[str]) -> str:
    return _csv_lines([[escaped_formula(name) for name in names]])


def _csv_block(columns: list[Values]) -> bytes:
    """Return the lines of a block in UTF-8; a column of few different values is put together from these."""
    column = _coded(columns[0]) if len(columns) == 1 else None
    if column is not None:
        lines = [_csv_lines([[value]]).encode("utf-8") for value in _harmless(column.values)]
        return _joined(column.codes, tuple(lines))
    return _csv_lines(zip(*(_harmless(values) for values in columns), strict=True)).encode("utf-8")


def _joined(codes: NDArray[Any], lines: tuple[bytes, ...]) -> bytes:
    """Return the lines of all codes one after the other."""
    size, runs = _runs(lines)
    whole = len(codes) - len(codes) % size
    places = np.array([len(lines) ** place for place in reversed(range(size))], dtype=np.int64)
    found = [runs[run] for run in (codes[:whole].reshape(-1, size) @ places).tolist()]
    return b"".join([*found, *(lines[code] for code in codes[whole:].tolist())])


@lru_cache(maxsize=4)
def _runs(lines: tuple[bytes, ...]) -> tuple[int, list[bytes]]:
    """Return a number of lines, and all runs of so many of them, in the order of their codes."""
    size, runs = 1, list(lines)
    while size < LONGEST_RUN and len(runs) * len(lines) <= RUNS:
        size, runs = size + 1, [before + line for before in runs for line in lines]
    return size, runs


def _harmless(values: Values) -> list[Any]:
    """Return the values of a column with those texts marked that a spreadsheet takes for formulas.

    Numbers stay numbers. Each different text is looked at once.
    """
    if isinstance(values, Coded):
        table = _harmless(values.values)
        return [table[code] for code in values.codes.tolist()]
    listed: list[Any] = values.tolist()
    if values.dtype.kind in "biuf":
        return listed
    known: dict[str, str] = {}
    for value in listed:
        if isinstance(value, str) and value not in known:
            known[value] = escaped_formula(value)
    return [known[value] if isinstance(value, str) else value for value in listed]


def _coded(values: Values) -> Coded | None:
    """Return the column as codes of few distinct values, where that is known or quickly found."""
    if isinstance(values, Coded):
        return values
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < len(values) // 4:
            return Coded(np.arange(low, high + 1), values - low)
    return None


def _write_parquet(path: Path, blocks: Iterable[Block]) -> int:
    import pyarrow
    import pyarrow.parquet

    rows, writer, waiting = 0, None, 0
    group: list[Any] = []
    try:
        for block in blocks:
            table = pyarrow.table({name: _arrow_column(values) for name, values in block.items()})
            if writer is None:
                # Texts with codes are written as texts: that they have codes is not stored.
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, store_schema=False)
            group.append(table if table.schema == writer.schema else table.cast(writer.schema))
            rows, waiting = rows + table.num_rows, waiting + table.num_rows
            if waiting >= GROUP:
                writer.write_table(pyarrow.concat_tables(group))
                group, waiting = [], 0
        if writer is not None and group:
            writer.write_table(pyarrow.concat_tables(group))
    finally:
        if writer is not None:
            writer.close()
    return rows


def _arrow_column(values: Values) -> Any:
    """Return a column for pyarrow; few distinct texts stand there once."""
    import pyarrow

    if isinstance(values, Coded):
        listed = values.values.tolist()
        if all(type(value) is str for value in listed):
            return coded_texts(values.codes, listed)
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(values.codes), pyarrow.array(listed)
        ).dictionary_decode()
    return (
        whole_to_arrow(values) if values.dtype.kind in "iuf" and values.ndim == 1 else pyarrow.array(values)
    )
