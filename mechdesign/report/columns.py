"""Columns of a CSV or Parquet file: read them, write them, with errors that name the file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, suggestion
from mechdesign.core.files import whole_file

PARQUET = (".parquet", ".pq")
LONGEST = 200


def read_column(path: str | os.PathLike[str], column: str | None = None) -> tuple[str, NDArray[Any]]:
    """Return the name and the values of one column of a CSV (with a header line) or Parquet file.

    Parameters
    ----------
    path : path
    column : str, optional
        May be left out when the file has just one.

    Raises
    ------
    DataError
        When the file cannot be read, is empty, lacks the column, or has a line of the wrong length.
    MissingPackageError
        For Parquet without pyarrow.
    """
    columns = _read(Path(path), None if column is None else [column], single=True)
    return next(iter(columns.items()))


def read_columns(
    path: str | os.PathLike[str], wanted: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the named columns of a CSV or Parquet file, all of them by default; see :func:`read_column`."""
    return _read(Path(path), wanted, single=False)


def _read(path: Path, wanted: Sequence[str] | None, single: bool) -> dict[str, NDArray[Any]]:
    return (_read_parquet if path.suffix in PARQUET else _read_csv)(path, wanted, single)


def _chosen(path: Path, names: Sequence[str], wanted: Sequence[str] | None, single: bool) -> list[str]:
    if single and wanted is None and len(names) > 1:
        raise DataError(f"{path}: has {len(names)} columns ({', '.join(names[:8])}); name one with --column")
    for column in wanted or ():
        if column not in names:
            raise DataError(f"{path}: no column '{column}'; {suggestion(column, names)}")
    chosen = list(names if wanted is None else wanted)
    for column in chosen:
        if list(names).count(column) > 1:
            raise DataError(f"{path}: several columns are named '{column}'; rename all but one")
        if chosen.count(column) > 1:
            raise DataError(f"{path}: column '{column}' is asked for twice; name it once")
    return chosen


def _read_csv(path: Path, wanted: Sequence[str] | None, single: bool) -> dict[str, NDArray[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            header = next(reader, None)
            if not header:
                raise DataError(f"{path}: is empty; give a header line and one line a user")
            names = _chosen(path, header, wanted, single)
            places = [header.index(name) for name in names]
            values: list[list[str]] = [[] for _ in places]
            for line in _full_lines(path, reader, len(header)):
                for column, place in zip(values, places, strict=True):
                    column.append(line[place])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is not a CSV file in UTF-8 ({error}); convert it") from None
    if not values[0]:
        raise DataError(f"{path}: has a header and no rows; give one line a user")
    return {name: _texts(column) for name, column in zip(names, values, strict=True)}


def _full_lines(path: Path, reader: Any, width: int) -> Iterator[list[str]]:
    """Yield the lines of a CSV file; a blank line is a missing answer, except at the end of the file."""
    blank = 0
    for line in reader:
        if not line:
            blank = blank or reader.line_num
        elif blank:
            raise DataError(f"{path}: line {blank}: is blank; remove it, or recode the missing answer")
        elif len(line) != width:
            count = f"{len(line)} fields, the header has {width}"
            raise DataError(f"{path}: line {reader.line_num}: {count}; correct the line")
        else:
            yield line


def _texts(values: list[str]) -> NDArray[Any]:
    # numpy's texts have a fixed width and drop trailing NULs: others are kept as they are
    unusual = max(map(len, values)) > LONGEST or any("\0" in value for value in values)
    return np.array(values, dtype=object if unusual else None)


def _read_parquet(path: Path, wanted: Sequence[str] | None, single: bool) -> dict[str, NDArray[Any]]:
    parquet = _pyarrow_parquet(path)
    try:
        names = parquet.read_schema(path).names
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); check the path") from None
    except ValueError as error:
        raise DataError(f"{path}: is not a Parquet file ({error})") from None
    chosen = _chosen(path, names, wanted, single)
    try:
        content = parquet.read_table(path, columns=chosen)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); check the path") from None
    except ValueError as error:
        raise DataError(f"{path}: is not a Parquet file ({error})") from None
    if not len(content):
        raise DataError(f"{path}: has no rows; give one row a user")
    return {name: _parquet_values(path, name, content.column(name)) for name in chosen}


def _parquet_values(path: Path, name: str, values: Any) -> NDArray[Any]:
    if values.null_count:
        raise DataError(
            f"{path}: column '{name}' has {values.null_count} missing values; remove or recode them"
        )
    try:
        return np.array(values.to_pylist())
    except ValueError:
        raise DataError(
            f"{path}: column '{name}' holds lists or mixed values; give one value a row"
        ) from None


def _pyarrow_parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError(
            f"{path}: Parquet needs pyarrow; install mechdesign[parquet], or use CSV"
        ) from None
    return pyarrow.parquet


def write_columns(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Write named columns to a CSV or Parquet file; the file appears whole or not at all."""
    with whole_file(path, DataError) as temporary:
        if Path(path).suffix in PARQUET:
            _write_parquet(temporary, columns)
        else:
            _write_csv(temporary, columns)


def _write_parquet(path: Path, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    parquet = _pyarrow_parquet(path)
    import pyarrow

    arrays = {name: pyarrow.array(np.asarray(values)) for name, values in columns.items()}
    parquet.write_table(pyarrow.table(arrays), path)


def _write_csv(path: Path, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    plain = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(list(columns))
        writer.writerows(zip(*plain, strict=True))
