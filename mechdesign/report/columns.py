"""One column of a CSV or Parquet file: read it, write it, with errors that name the file."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, suggestion

PARQUET = (".parquet", ".pq")


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
            values = []
            for line in reader:
                if len(line) != width:
                    if not line:
                        continue
                    raise DataError(
                        f"{path}: line {reader.line_num}: {len(line)} fields, the header has {width}"
                    )
                values.append(line[place])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is not a CSV file in UTF-8 ({error}); convert it") from None
    if not values:
        raise DataError(f"{path}: has a header and no rows; give one line a user")
    return name, np.array(values)


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
    return name, np.array(values.to_pylist())


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
    place = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); give another place with -o") from None
    os.close(handle)
    try:
        if place.suffix in PARQUET:
            parquet = _pyarrow_parquet(place)
            import pyarrow

            arrays = {name: pyarrow.array(np.asarray(values)) for name, values in columns.items()}
            parquet.write_table(pyarrow.table(arrays), temporary)
        else:
            _write_csv(temporary, columns)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, place)
    except OSError as error:
        os.unlink(temporary)
        raise DataError(f"{path}: cannot be written ({error.strerror}); give another place with -o") from None
    except BaseException:
        os.unlink(temporary)
        raise


def _write_csv(path: str, columns: dict[str, Sequence[Any] | NDArray[Any]]) -> None:
    plain = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(list(columns))
        writer.writerows(zip(*plain, strict=True))
