"""One column of a CSV or Parquet file: read it, write it, with errors that name the file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
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
    place = Path(path)
    return _read_parquet(place, column) if place.suffix in PARQUET else _read_csv(place, column)


def _chosen(path: Path, names: Sequence[str], column: str | None) -> str:
    if column is None:
        if len(names) == 1:
            return names[0]
        raise DataError(f"{path}: has {len(names)} columns ({', '.join(names[:8])}); name one with --column")
    if column not in names:
        raise DataError(f"{path}: no column '{column}'; {suggestion(column, names)}")
    if list(names).count(column) > 1:
        raise DataError(
            f"{path}: {list(names).count(column)} columns are named '{column}'; rename all but one"
        )
    return column


def _read_csv(path: Path, column: str | None) -> tuple[str, NDArray[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            header = next(reader, None)
            if not header:
                raise DataError(f"{path}: is empty; give a header line and one line a user")
            name = _chosen(path, header, column)
            place, width = header.index(name), len(header)
            values: list[str] = []
            blank = 0  # a blank line is a missing answer, except at the end of the file
            for line in reader:
                if not line:
                    blank = blank or reader.line_num
                elif blank:
                    raise DataError(
                        f"{path}: line {blank}: is blank; remove it, or recode the missing answer"
                    )
                elif len(line) != width:
                    count = f"{len(line)} fields, the header has {width}"
                    raise DataError(f"{path}: line {reader.line_num}: {count}; correct the line")
                else:
                    values.append(line[place])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is not a CSV file in UTF-8 ({error}); convert it") from None
    if not values:
        raise DataError(f"{path}: has a header and no rows; give one line a user")
    # numpy's texts have a fixed width and drop trailing NULs: others are kept as they are
    unusual = max(map(len, values)) > LONGEST or any("\0" in value for value in values)
    return name, np.array(values, dtype=object if unusual else None)


def _read_parquet(path: Path, column: str | None) -> tuple[str, NDArray[Any]]:
    parquet = _pyarrow_parquet(path)
    try:
        names = parquet.read_schema(path).names
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); check the path") from None
    except ValueError as error:
        raise DataError(f"{path}: is not a Parquet file ({error})") from None
    name = _chosen(path, names, column)
    try:
        values = parquet.read_table(path, columns=[name]).column(name)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); check the path") from None
    except ValueError as error:
        raise DataError(f"{path}: is not a Parquet file ({error})") from None
    if not len(values):
        raise DataError(f"{path}: has no rows; give one row a user")
    if values.null_count:
        raise DataError(
            f"{path}: column '{name}' has {values.null_count} missing values; remove or recode them"
        )
    try:
        return name, np.array(values.to_pylist())
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


def write_columns(path: str | os.PathLike[str], columns: dict[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Write named columns to a CSV or Parquet file; the file appears whole or not at all."""
    with whole_file(path, DataError) as temporary:
        if Path(path).suffix in PARQUET:
            _write_parquet(temporary, columns)
        else:
            _write_csv(temporary, columns)


def _write_parquet(path: Path, columns: dict[str, Sequence[Any] | NDArray[Any]]) -> None:
    parquet = _pyarrow_parquet(path)
    import pyarrow

    arrays = {name: pyarrow.array(np.asarray(values)) for name, values in columns.items()}
    parquet.write_table(pyarrow.table(arrays), path)


def _write_csv(path: Path, columns: dict[str, Sequence[Any] | NDArray[Any]]) -> None:
    plain = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(list(columns))
        writer.writerows(zip(*plain, strict=True))
