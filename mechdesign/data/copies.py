"""Whether two inputs of a command are the same reports under two names: they would count twice in silence."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.tables import Block, Coded, Values, length

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
        found = _stat(path)
        if found is not None:
            first = places.setdefault((found.st_dev, found.st_ino), first)
        if first != number:
            raise ParameterError(path, f"is the same file as {paths[first]}", "name it once")
        if found is not None and not identical:
            alike.setdefault((found.st_size, _digest(path, HEAD)), []).append(path)
    for group in alike.values():
        contents: dict[str, str] = {}
        for path in group if len(group) > 1 else []:
            other = contents.setdefault(_digest(path), path)
            if other != path:
                raise ParameterError(_said(path, other))


def _stat(path: str) -> os.stat_result | None:
    """Return the status of a regular file; one that cannot be read is refused elsewhere."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _digest(path: str, most: int | None = None) -> str:
    """Return the digest of the bytes of a file, or of the first ones; its name, if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            if most is not None:
                return hashlib.sha256(stream.read(most)).hexdigest()
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return path


def _said(path: str, other: str) -> str:
    return (
        f"{path}: has the same content as {other}, and would count twice; name one of them, or add "
        f"{OPTION} to count both"
    )


@dataclass(frozen=True)
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
        self.found: list[CountedFile] = []

    def watched(self, name: str, blocks: Iterator[Block] | Sequence[Block]) -> Iterator[Block]:
        """Yield the blocks of a table.

        Raises
        ------
        DataError
            At the end of a table that is a copy of an earlier one.
        """
        digest, rows = hashlib.sha256(), 0
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
            raise DataError(_said(name, other))
        self.found.append(file)


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
    digests = [
        hashlib.blake2b(str(value).encode("utf-8", "backslashreplace"), digest_size=8).digest()
        for value in values
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
