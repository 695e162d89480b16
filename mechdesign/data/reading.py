"""Data files as tables in blocks, memory for one block only; and whether two of them are the same file.

CSV without quotes is read from its bytes, any other by pyarrow or, without that, by Python's own module.
Parquet needs pyarrow.
A file that a command gets twice, by two names or as a copy, would count twice in silence: it is refused.
"""

from __future__ import annotations

import importlib
import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError, RowError
from mechdesign.core.values import frozen_value
from mechdesign.data.intake import ROWS, Block, Coded, Mask, MissingRule, Values, length
from mechdesign.data.text_files import PLAIN, FileForm
from mechdesign.work.bars import ProgressBar
from mechdesign.work.files import require_name, sha256_of


def _hashlib() -> Any:
    return importlib.import_module("hashlib")  # loads OpenSSL, and one file is compared with none


OPTION = "--identical"
"""The option that says that files with the same content are meant."""

HEAD = 1 << 16
"""Bytes at the beginning of files that are compared before all of them are."""


def require_different(paths: Sequence[str], identical: bool) -> None:
    """Refuse a file that is named twice, by whatever name, and a copy of one unless that is meant.

    Raises
    ------
    ParameterError
        In a line that names both.
    """
    places: dict[object, int] = {}
    alike: dict[tuple[int, str], list[str]] = {}
    for number, path in enumerate(paths):
        first = places.setdefault(os.path.realpath(path), number)
        status = _stat(path)
        if status is not None:
            first = places.setdefault((status.st_dev, status.st_ino), first)
        if first != number:
            raise ParameterError(path, f"is the same file as {paths[first]}", "name it once")
        if status is not None and not identical and len(paths) > 1:
            alike.setdefault((status.st_size, _digest(path, HEAD)), []).append(path)
    for group in alike.values():
        contents: dict[str, str] = {}
        for path in group if len(group) > 1 else []:
            other = contents.setdefault(_digest(path), path)
            if other != path:
                raise ParameterError(_duplicate_text(path, other))


def _stat(path: str) -> os.stat_result | None:
    """Return the status of a regular file; one that cannot be read is refused elsewhere."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _digest(path: str, most: int | None = None) -> str:
    """Return the digest of the bytes of a file, or of the first ones; its name, if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            if most is not None:
                return sha256_of(stream.read(most))
            digest: str = _hashlib().file_digest(stream, "sha256").hexdigest()
            return digest
    except (OSError, ValueError):
        return path


def _duplicate_text(path: str, other: str) -> str:
    return (
        f"{path}: has the same content as {other}, and would count twice; name one of them, or add "
        f"{OPTION} to count both"
    )


@frozen_value()
class CountedFile:
    """A file whose rows were read: its name, their number, and a digest of columns and rows."""

    name: str
    rows: int
    digest: str


class Copies:
    """Notices that a table has the same columns and rows as another one, in whatever format.

    Parameters
    ----------
    identical : bool
        Whether copies are meant, and each counts.

    Examples
    --------
    >>> seen = Copies()
    >>> first = [{"x": np.array(["1", "2"])}]
    >>> _ = list(seen.watched("a.csv", first))
    >>> _ = list(seen.watched("a.csv", first))
    >>> _ = list(seen.watched("b.parquet", [{"x": np.array([1, 2])}]))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: b.parquet: has the same content as a.csv, and would count twice; ...
    """

    def __init__(self, identical: bool = False) -> None:
        self.identical = identical
        self._known: dict[str, str] = {}
        self.files: list[CountedFile] = []

    def watched(self, name: str, blocks: Iterator[Block] | Sequence[Block]) -> Iterator[Block]:
        """Yield the blocks of a table.

        Raises
        ------
        DataError
            At the end of a table that is a copy of an earlier one.
        """
        digest, rows = _hashlib().sha256(), 0
        for block in blocks:
            rows += length(block)
            for column, values in block.items():
                digest.update(f"{column!r} {len(values)} ".encode("utf-8", "backslashreplace"))
                digest.update(_row_digests(values).tobytes())
            yield block
        self.add(CountedFile(name, rows, digest.hexdigest()))

    def add(self, file: CountedFile, inside: str = "") -> None:
        """Note a file that was counted, perhaps in counts that are ``inside`` another file.

        Raises
        ------
        DataError
            When it is a copy of an earlier one, unless that is meant.
        """
        name = f"{file.name} (counted in {inside})" if inside else file.name
        other = self._known.setdefault(file.digest, name)
        if other != name and file.rows and not self.identical:
            raise DataError(_duplicate_text(name, other))
        self.files.append(file)


def _row_digests(values: Values) -> NDArray[np.uint64]:
    """Return a number for each row, the same for the same text; every different value is looked at once."""
    if isinstance(values, Coded):
        coded: NDArray[np.uint64] = _table(values.values.tolist())[values.codes]
        return coded
    array = np.asarray(values)
    if array.dtype == object:
        listed = array.tolist()
        known = {value: number for number, value in enumerate(dict.fromkeys(map(str, listed)))}
        return _table(list(known)).take([known[str(value)] for value in listed])
    table, codes = np.unique(array, return_inverse=True)
    digests: NDArray[np.uint64] = _table(table.tolist())[codes.reshape(-1)]
    return digests


def _table(values: Sequence[object]) -> NDArray[np.uint64]:
    blake2b = _hashlib().blake2b
    digests = [
        blake2b(str(value).encode("utf-8", "backslashreplace"), digest_size=8).digest() for value in values
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


MOST_BYTES = 1 << 20
"""Bytes of one text; a report of the largest mechanism takes fewer."""

Raw = tuple[Mapping[str, Values], Mapping[str, Mask], float]
"""A block as it stands in the file, what is missing in it, and which part of the file has been read."""


class FileTable(ABC):
    """A table in a file, read in blocks of the same size whatever the file's own pieces are."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        missing: MissingRule,
        name: str | None = None,
        form: FileForm = PLAIN,
    ) -> None:
        self.path, self.missing, self.form = Path(path), missing, form
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
        start = time.monotonic()
        bar: ProgressBar | None = None  # what is read at once needs none
        with ExitStack() as until_read:
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
                if bar is None and self.shows and part < 1.0:
                    label = f"reading {os.path.basename(self.name)}"
                    bar = until_read.enter_context(ProgressBar(label, start=start))
                if bar is not None:
                    bar.show(part, first)
        if not any_rows and not self.needs_rows:
            return
        if not any_rows:
            raise DataError(self.name, "has a header and no rows", "give one row per user")
        if not any_left:
            raise DataError(self.name, "every row lacks a value", "there is nothing left")

    def first_values(self, column: str, rows: int | None) -> Iterator[Values]:
        """Yield the first values of a column in pieces of any size, missing ones among them; None for all."""
        left = rows
        for values, _, _ in self._raw([column]):
            piece = values[column] if left is None else values[column][:left]
            yield piece
            left = None if left is None else left - len(piece)
            if left is not None and left <= 0:
                return

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
    try:
        return importlib.import_module(f"pyarrow.{name}")
    except ImportError:
        raise MissingPackageError(
            path, "Parquet needs pyarrow", "install mechdesign[parquet], or use CSV"
        ) from None


def longest_text(array: Any) -> int:
    """Return the bytes of the longest text of a column, 0 where there is none.

    Examples
    --------
    >>> import pyarrow
    >>> longest_text(pyarrow.array(["a", "bcd", None])), longest_text(pyarrow.array([], "string"))
    (3, 0)
    """
    kinds = {"string": np.int32, "large_string": np.int64}
    if not len(array) or array.null_count or str(array.type) not in kinds:
        import pyarrow.compute  # takes longer than a short file

        return pyarrow.compute.max(pyarrow.compute.binary_length(array)).as_py() or 0
    ends = np.frombuffer(array.buffers()[1], dtype=kinds[str(array.type)])
    return int(np.diff(ends[array.offset : array.offset + len(array) + 1]).max())


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
