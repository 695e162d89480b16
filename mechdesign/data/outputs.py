"""Whether an output may be written where something stands: by ``--force``, and never over an input.

The names that files for mechanisms, data and results have.

Whether two inputs of a command are the same reports under two names: they would count twice in silence.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.core.tables import Block, Coded, Values, length
from mechdesign.work.files import require_name


def require_output(
    path: str,
    inputs: Iterable[str],
    force: bool,
    same: Callable[[], bool] | None = None,
    option: str = "-o",
) -> None:
    """Raise ParameterError when writing to this path would destroy something.

    Parameters
    ----------
    path : str
        The output.
    inputs : iterable of str
        What the command reads; none of it is ever overwritten, by whatever name.
    force : bool
        Whether the user said that an existing file may be replaced.
    same : callable, optional
        Whether what stands there says the same already, so that nothing is lost. An error of the toolkit
        means no.
    option : str
        How the command names this output.

    Examples
    --------
    >>> require_output("people.csv", ["people.csv"], force=True)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: -o people.csv: is an input of this command; choose another path
    """
    if path == "-":
        raise ParameterError(f"{option} -", "nothing is written to the standard output", "name a file")
    require_name(path, ParameterError)
    for source in inputs:
        if same_file(path, source):
            raise ParameterError(f"{option} {path}", "is an input of this command", "choose another path")
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise ParameterError(
            f"{option} {path}",
            "cannot be written (its folder does not exist)",
            "create it or choose another path",
        )
    if os.path.islink(os.path.realpath(path)):
        raise ParameterError(f"{option} {path}", "is a link that leads to itself", "choose another path")
    if force or not os.path.lexists(path) or not Path(path).is_file():
        return  # what is not a file is refused when it is written
    if same is not None:
        with suppress(MechDesignError):
            if same():
                return
    raise ParameterError(f"{option} {path}", "file exists", "choose another path or add --force")


def same_file(first: str, second: str) -> bool:
    """Whether two names are of one file, be it through links."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


PARQUET = (".parquet", ".pq")
"""Names of files that are Parquet; all others are CSV."""

MECHANISM = (".json",)
"""Names of mechanism files."""

JSON_LINES = (".jsonl", ".ndjson")
"""Names of files with a JSON object a line."""

DATA = (".csv", *PARQUET)
"""Names of files for data and reports, which the commands read again."""

RESULTS = (*DATA, ".xlsx", ".json")
"""Names of files for results."""


def require_suffix(path: str, known: Sequence[str], option: str = "-o") -> None:
    """Raise ParameterError for a file whose name does not say what it is to hold.

    Examples
    --------
    >>> require_suffix("t.csv", RESULTS)
    >>> require_suffix("t.xls", RESULTS)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: -o t.xls: no format '.xls'; name it .csv, .parquet, .xlsx or .json
    """
    suffix = Path(path).suffix.lower()
    if path == "-" or suffix in known:  # the standard output has an error of its own
        return
    text = [item for item in known if item != ".pq"]
    remedy = text[0] if len(text) == 1 else f"{', '.join(text[:-1])} or {text[-1]}"
    what = f"no format '{suffix}'" if suffix else "has no extension"
    raise ParameterError(f"{option} {path}", what, f"name it {remedy}")


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
