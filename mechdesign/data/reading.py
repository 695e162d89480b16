"""Data files as tables in blocks: CSV with a header line, and Parquet; memory for one block only.

With pyarrow, its readers are used; without it, CSV is read by Python's own module and Parquet is refused.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, RowError
from mechdesign.core.tables import ROWS, Block, Coded, Values, length
from mechdesign.data.arrow import longest_text
from mechdesign.data.copies import Copies
from mechdesign.data.intake import Mask, MissingRule
from mechdesign.work.bars import ProgressBar
from mechdesign.work.files import require_name

MOST_BYTES = 1 << 20
"""Bytes of one text; a report of the largest mechanism takes fewer."""

Raw = tuple[Mapping[str, Values], Mapping[str, Mask], float]
"""A block as it stands in the file, what is missing in it, and which part of the file has been read."""


class FileTable(ABC):
    """A table in a file, read in blocks of the same size whatever the file's own pieces are."""

    def __init__(self, path: str | os.PathLike[str], missing: MissingRule, name: str | None = None) -> None:
        self.path, self.missing = Path(path), missing
        self.name = os.fspath(path) if name is None else name
        require_name(path, DataError)
        if self.path.exists() and not self.path.is_file():
            raise DataError(
                f"{self.name}: cannot be read", "it is not a regular file", "save it to one first"
            )
        self.copies: Copies | None = None  # set where the same rows under another name would count twice
        self.shows = True  # a bar while it is read; not where one for many files is drawn
        self.needs_rows = True  # one of many files may have none
        self._first = 0
        self._kept: NDArray[np.int64] | None = None
        self.columns = self._columns()

    @abstractmethod
    def _columns(self) -> tuple[str, ...]:
        """Return the names of all columns."""

    @abstractmethod
    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        """Yield the rows of these columns in pieces of any size."""

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time, without those that are to be dropped.

        Raises
        ------
        DataError
            When the file cannot be read, has a damaged line, no rows (left), or the rows of another one.
        """
        blocks = self._blocks(columns)
        return blocks if self.copies is None else self.copies.watched(self.name, blocks)

    def _blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        first, any_rows, any_left = 0, False, False
        stream = None if self.shows else io.StringIO()
        with ProgressBar(f"reading {os.path.basename(self.name)}", stream) as bar:
            for values, missing, part in same_size(self._raw(columns)):
                any_rows = True
                self._first, self._kept = first, None
                try:
                    block, self._kept = self.missing.apply(values, missing)
                except RowError as error:
                    raise error.moved(self.name, self.row(error.row) - 1) from None
                rows = length(values)
                first += rows
                if length(block):
                    any_left = True
                    yield block
                bar.show(part, first)
        if not any_rows and not self.needs_rows:
            return
        if not any_rows:
            raise DataError(self.name, "has a header and no rows", "give one row per user")
        if not any_left:
            raise DataError(self.name, "every row lacks a value", "there is nothing left")

    def row(self, number: int) -> int:
        """Return the row of the file, counted from 1, of a row of the latest block, counted from 0."""
        return self._first + 1 + (number if self._kept is None else int(self._kept[number]))


def same_size(pieces: Iterator[Raw]) -> Iterator[Raw]:
    """Yield the same rows ``ROWS`` at a time: what is drawn must not depend on the pieces of a file."""
    waiting: list[Raw] = []
    rows = 0
    for piece in pieces:
        waiting.append(piece)
        rows += length(piece[0])
        while rows >= ROWS:
            values, missing, part = _joined(waiting)
            yield _cut(values, missing, part, 0, ROWS)
            rows -= ROWS
            waiting = [_cut(values, missing, part, ROWS, ROWS + rows)] if rows else []
    if rows:
        yield _joined(waiting)


def _cut(
    values: Mapping[str, Values], missing: Mapping[str, Mask], part: float, start: int, stop: int
) -> Raw:
    return (
        {name: column[start:stop] for name, column in values.items()},
        {name: mask[start:stop] for name, mask in missing.items()},
        part,
    )


def _joined(pieces: Sequence[Raw]) -> Raw:
    if len(pieces) == 1:
        return pieces[0]
    names = list(pieces[0][0])
    values = {name: _concatenated([piece[0][name] for piece in pieces]) for name in names}
    missing = {name: np.concatenate([piece[1][name] for piece in pieces]) for name in names}
    return values, missing, pieces[-1][2]


def _concatenated(parts: Sequence[Values]) -> Values:
    if all(isinstance(part, Coded) for part in parts):
        tables = [part.values for part in parts if isinstance(part, Coded)]
        starts = np.cumsum([0, *(len(table) for table in tables)])
        codes = [
            part.codes + start
            for part, start in zip(parts, starts[:-1].tolist(), strict=True)
            if isinstance(part, Coded)
        ]
        return Coded(np.concatenate(tables), np.concatenate(codes))
    arrays = [np.asarray(part) for part in parts]
    if len({array.dtype.kind for array in arrays}) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def pyarrow_module(name: str, path: str | os.PathLike[str]) -> Any:
    """Return a module of pyarrow, or raise the error that names the extra."""
    import importlib

    try:
        return importlib.import_module(f"pyarrow.{name}")
    except ImportError:
        raise MissingPackageError(
            path, "Parquet needs pyarrow", "install mechdesign[parquet], or use CSV"
        ) from None


def require_short(where: str, column: Any) -> None:
    """Refuse a text in a column of pyarrow that is not a value of anything: it would be copied many times.

    Raises
    ------
    DataError
        That says how long it is.
    """
    longest = longest_text(column)
    if longest > MOST_BYTES:
        raise DataError(where, f"contains a string of {longest} bytes", f"shorten it to at most {MOST_BYTES}")
