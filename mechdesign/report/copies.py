"""Whether two inputs of a command are the same reports under two names: they would count twice in silence."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.tables import Block, Coded, Values
from mechdesign.report.outputs import same_file

OPTION = "--identical"
"""The option that says that files with the same content are meant."""
PIECE = 1 << 20


def require_different(paths: Sequence[str], identical: bool) -> None:
    """Refuse a file that is named twice, by whatever name, and a copy of one unless that is meant.

    Raises
    ------
    ParameterError
        In a line that names both.
    """
    for number, path in enumerate(paths):
        for other in paths[:number]:
            if same_file(path, other):
                raise ParameterError(path, f"is the same file as {other}", "name it once")
            if not identical and _same_bytes(path, other):
                raise ParameterError(_said(path, other))


def _said(path: str, other: str) -> str:
    return (
        f"{path}: has the same content as {other}, and would count twice; name one of them, or say with "
        f"{OPTION} that both count"
    )


def _same_bytes(first: str, second: str) -> bool:
    """Whether two files have the same bytes; what cannot be read is refused elsewhere."""
    try:
        if not (os.path.isfile(first) and os.path.isfile(second)):
            return False
        if os.path.getsize(first) != os.path.getsize(second):
            return False
        with open(first, "rb") as one, open(second, "rb") as two:
            while piece := one.read(PIECE):
                if piece != two.read(PIECE):
                    return False
        return True
    except (OSError, ValueError):
        return False


class Copies:
    """Notices that a table has the same columns and rows as another one, in whatever format.

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

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def watched(self, name: str, blocks: Iterator[Block] | Sequence[Block]) -> Iterator[Block]:
        """Yield the blocks of a table.

        Raises
        ------
        DataError
            At the end of a table that is a copy of an earlier one.
        """
        digest = hashlib.sha256()
        for block in blocks:
            for column, values in block.items():
                digest.update(f"{column!r} {len(values)} ".encode("utf-8", "backslashreplace"))
                digest.update(_row_digests(values).tobytes())
            yield block
        other = self._known.setdefault(digest.digest(), name)
        if other != name:
            raise DataError(_said(name, other))


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
