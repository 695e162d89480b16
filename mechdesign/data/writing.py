"""Blocks of columns into CSV or Parquet files; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.data.arrow import coded_texts, joined, spread, whole_to_arrow
from mechdesign.data.csv_files import REPEATED, escaped_formula
from mechdesign.data.intake import LONGEST, Block, Coded, Values, length
from mechdesign.data.outputs import PARQUET
from mechdesign.data.reading import pyarrow_module
from mechdesign.work.files import whole_file

MANY = 1 << 15
"""Rows that pyarrow puts together: of fewer its functions take longer to import."""

RUNS = 1 << 10
"""Largest number of runs of lines that are prepared, so that several lines are written at a time."""

FEW = 1 << 12
"""Texts up to which a column is handed to Parquet as numbers of these: it keeps them so anyway."""

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


def _csv_block(columns: list[Values]) -> bytes | memoryview:
    """Return the lines of a block in UTF-8; a column of few different values is put together from these."""
    column = _coded(columns[0]) if len(columns) == 1 else None
    if column is not None:
        lines = [_csv_lines([[value]]) for value in _harmless(column.values)]
        if len(column) >= MANY and len(lines) ** 3 > RUNS and sys.modules.get("pyarrow") is not None:
            return joined(column.codes, lines)
        return _put_together(column.codes, [line.encode("utf-8") for line in lines])
    if len(columns) == 1 and not isinstance(columns[0], Coded) and columns[0].dtype.kind == "U":
        listed = columns[0].tolist()
        distinct = dict.fromkeys(listed)
        if len(distinct) * REPEATED <= len(listed):  # each different line is made once
            line_of = {text: _csv_lines([[escaped_formula(text)]]).encode("utf-8") for text in distinct}
            return b"".join(map(line_of.__getitem__, listed))
    return _csv_lines(zip(*(_harmless(values) for values in columns), strict=True)).encode("utf-8")


def _put_together(codes: NDArray[Any], lines: Sequence[bytes]) -> bytes:
    """Return the line of each code, one after the other; several lines at a time, where they are few."""
    size = 1
    while 1 < len(lines) ** (size + 1) <= min(RUNS, len(codes)):
        size += 1
    runs = [b"".join(group) for group in product(lines, repeat=size)]
    whole = len(codes) - len(codes) % size
    numbers = codes[:whole:size].astype(np.int64)
    for place in range(1, size):
        numbers *= len(lines)
        numbers += codes[place:whole:size]
    rest = [lines[code] for code in codes[whole:].tolist()]
    return b"".join([*map(runs.__getitem__, numbers.tolist()), *rest])


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
    convert = _arrow_column
    try:
        for block in blocks:
            if writer is None and all(map(_are_few_texts, block.values())):
                convert = _arrow_numbers
            table = pyarrow.table({name: convert(values) for name, values in block.items()})
            if writer is None:  # without pyarrow's own schema, a reader finds texts, not a dictionary of them
                own = convert is _arrow_column
                writer = pyarrow.parquet.ParquetWriter(
                    path, table.schema, store_schema=own, write_page_checksum=True
                )
            same = table.schema.equals(writer.schema)  # to cast, much has to be imported
            group.append(table if same else table.cast(writer.schema))
            rows, waiting = rows + table.num_rows, waiting + table.num_rows
            if waiting >= GROUP:
                writer.write_table(pyarrow.concat_tables(group).unify_dictionaries())
                group, waiting = [], 0
        if writer is not None and group:
            writer.write_table(pyarrow.concat_tables(group).unify_dictionaries())
    finally:
        if writer is not None:
            writer.close()
    return rows


def _are_few_texts(values: Values) -> bool:
    """Whether a column holds few distinct texts, short enough for the dictionary of a Parquet file."""
    return (
        isinstance(values, Coded)
        and len(values.values) <= FEW
        and all(type(value) is str and len(value) <= LONGEST for value in values.values.tolist())
    )


def _arrow_numbers(values: Values) -> Any:
    """Return a column of texts for pyarrow, as numbers of a dictionary."""
    if isinstance(values, Coded) and _are_few_texts(values):
        return coded_texts(values.codes, values.values.tolist())
    return _arrow_column(values).cast("string").dictionary_encode()


def _arrow_column(values: Values) -> Any:
    """Return a column for pyarrow; few distinct texts are put together outside of Python."""
    import pyarrow

    if isinstance(values, Coded):
        listed = values.values.tolist()
        if all(type(value) is str for value in listed):
            return spread(values.codes, listed)
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(values.codes), pyarrow.array(listed)
        ).dictionary_decode()
    return (
        whole_to_arrow(values) if values.dtype.kind in "iuf" and values.ndim == 1 else pyarrow.array(values)
    )
