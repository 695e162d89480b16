"""Data files by their names: one as a table in blocks, many as one data set.

Folders, patterns and the standard input are the files that they stand for.

What begins with a dot or an underscore in a folder is skipped, as data engines skip it. Anything else in it
that is not a data file is refused: reports must not be lost because of an ending.
"""

from __future__ import annotations

import csv
import glob
import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.data.intake import Block, MissingRule, Source
from mechdesign.data.outputs import (
    DATA,
    JSON_LINES,
    PARQUET,
    WORKBOOKS,
    require_complete,
    require_not_in_part,
)
from mechdesign.data.reading import FileTable
from mechdesign.data.text_files import PLAIN, FileForm, Letters, TextFile, plain_suffix, require_text


def open_table(
    path: str | os.PathLike[str],
    missing: MissingRule | None = None,
    name: str | None = None,
    suffix: str | None = None,
    form: FileForm = PLAIN,
) -> FileTable:
    r"""Return the table in a file of CSV, Excel, Parquet, or JSON lines (``.jsonl``, ``.ndjson``).

    Parameters
    ----------
    path : path
    missing : MissingRule, optional
        What to do with rows without a value; they are refused by default.
    name, suffix : str, optional
        What errors call it, and which format it has; by default as the path says.
    form : FileForm
        What is stated about delimiters, decimals, encoding and sheet; the rest is recognized.

    Raises
    ------
    DataError
        When the file cannot be read, is empty, or is not what its name says.
    MissingPackageError
        For Parquet without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp()) / "ages.csv"
    >>> _ = place.write_text("age\n31\n47\n")
    >>> table = open_table(place)
    >>> table.columns, [len(block["age"]) for block in table.blocks(["age"])]
    (('age',), [2])
    """
    rule = MissingRule() if missing is None else missing
    ending = Path(path).suffix.lower() if suffix is None else suffix
    if ending in WORKBOOKS:
        from mechdesign.data.workbooks import WorkbookTable

        return WorkbookTable(path, rule, name, form)
    if form.sheet:
        raise DataError(os.fspath(path if name is None else name), "has no sheets", "omit --sheet")
    if ending in PARQUET:  # what reads the other formats is not imported
        from mechdesign.data.arrow import ParquetTable

        return ParquetTable(path, rule, name)
    if ending in JSON_LINES:
        from mechdesign.data.json_lines import JsonTable

        return JsonTable(path, rule, name)
    from mechdesign.data.csv_files import CsvTable

    return CsvTable(path, rule, name, form)


def file_rows(
    path: str | os.PathLike[str], name: str, form: FileForm = PLAIN, most: int = 1 << 30
) -> list[list[str]]:
    r"""Return all rows of a table in a text file or a workbook, the header's among them, as texts.

    Raises
    ------
    DataError
        When it cannot be read, or its text is longer than ``most`` characters.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "codes.csv"
    >>> _ = place.write_text("name;labels\nsmokes;no|yes\n")
    >>> file_rows(place, "codes.csv")
    [['name', 'labels'], ['smokes', 'no|yes']]
    """
    if Path(path).suffix.lower() in WORKBOOKS:
        from mechdesign.data.workbooks import sheet_rows

        return sheet_rows(path, name, form)
    if form.sheet:
        raise DataError(name, "has no sheets", "omit --sheet")
    file = TextFile(path, name, form)
    with file.errors(), file.open() as binary:
        stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        text = stream.read(most + 1)
    if len(text) > most:
        raise DataError(name, f"is longer than {most >> 20} MiB", "name another file")
    if "\0" in text:
        raise DataError(name, "holds NUL bytes, which no text has", "save it as text in UTF-8")
    with file.errors():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=file.delimiter, strict=True)
        rows = list(reader)
    return rows[file.extra_lines :]


SAMPLE = 1 << 16
"""Bytes of a text file by which the number of its rows is estimated."""


def rows_about(paths: Sequence[str]) -> float:
    r"""Return about how many rows files have, from their sizes and the first lines of the first text file.

    A Parquet file says it. It is infinite where that cannot be told: of compressed files and workbooks.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "ages.csv"
    >>> _ = place.write_text("age\n" + "31\n" * 1000)
    >>> 900 < rows_about([str(place)]) < 1100
    True
    """
    total, each = 0.0, 0.0
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix in PARQUET:
            from mechdesign.data.reading import pyarrow_module

            total += pyarrow_module("parquet", path).read_metadata(path).num_rows
        elif suffix in TEXTS:
            if not each:
                with open(path, "rb") as stream:
                    sample = stream.read(SAMPLE)
                each = len(sample) / max(1, sample.count(b"\n"))
            total += os.path.getsize(path) / max(1.0, each)
        else:
            return math.inf
    return total


TEXTS = (".csv", ".tsv", ".txt", *JSON_LINES)

STANDARD_INPUT = "-"
COUNTS = ".json"
"""How the names of files with counts end."""
HEAD = 1 << 20
"""Bytes of the standard input that are looked at before the rest is copied."""
SHARE = 0.9
"""Part of the free space of the temporary folder that it may take."""
OPEN_FILES = Path("/proc/self/fd")
"""Where Linux shows open files, also those without a name."""


def data_set(value: Sequence[str], counts: bool = False) -> list[str]:
    """Return the files that names of files, folders and patterns stand for, sorted within each of them.

    Parameters
    ----------
    value : sequence of str
        A folder stands for the data files in it and below it, a name with ``*``, ``?`` or ``[`` that is no
        file for those that it matches, and ``-`` for the standard input.
    counts : bool
        Whether files with counts (``.json``) in a folder are meant as well; else they are skipped there.

    Raises
    ------
    ParameterError
        For a folder or a pattern without files, and for a folder with something that is not a data file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...     _ = (folder / name).write_text("x")
    >>> [Path(path).name for path in data_set([str(folder)])]
    ['a.csv', 'b.csv']
    """
    result: list[str] = []
    for name in value:
        if os.path.isdir(name):
            result += _in_folder(name, counts)
        elif glob.has_magic(name) and not os.path.lexists(name):
            result += _of_pattern(name)
        else:
            result.append(name)
    if result.count(STANDARD_INPUT) > 1:
        raise ParameterError(STANDARD_INPUT, "is named twice", "name it once")
    require_not_in_part(path for path in result if path != STANDARD_INPUT)
    return result


class JoinedTable:
    """Several tables as one, with the name of that which is read.

    Parameters
    ----------
    parts : sequence of Source
        With the same columns.
    """

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts, self._part = parts, parts[0]
        for other in parts[1:]:
            if set(other.columns) != set(parts[0].columns):
                what = f"has other columns than {parts[0].name}"
                raise DataError(other.name, what, "keep files of one kind in a folder")

    @property
    def name(self) -> str:
        """The name of the table that is read."""
        return self._part.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all tables."""
        return self.parts[0].columns

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the blocks of all tables, one after the other."""
        for part in self.parts:
            self._part = part
            yield from part.blocks(columns)

    def row(self, number: int) -> int:
        """Return the row of the file that is read."""
        return self._part.row(number)


def joined_folders(value: Sequence[str], tables: Sequence[Source]) -> list[Source]:
    """Return the tables of names, in the order of :func:`data_set`: those of a folder are one."""
    result, left = list[Source](), list(tables)
    for name in value:
        count = len(data_set([name]))
        part, left = left[:count], left[count:]
        result += [JoinedTable(part)] if os.path.isdir(name) and count > 1 else part
    return result


def count_set(value: Sequence[str]) -> list[str]:
    """Return the count files that names, folders and patterns stand for."""
    result: list[str] = []
    for name in value:
        if os.path.isdir(name):
            require_complete(name)
            here = sorted(path for path in glob.glob(os.path.join(glob.escape(name), f"*{COUNTS}")))
            if not here:
                raise ParameterError(name, "is a folder without count files", f"their names end in {COUNTS}")
            result += here
        else:
            result += data_set([name])
    return result


def _in_folder(folder: str, counts: bool) -> list[str]:
    known, result = (*DATA, *JSON_LINES, *WORKBOOKS, ".tsv"), []
    for place, folders, names in os.walk(folder):
        require_complete(place)
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(name for name in names if name[0] not in "._"):
            path, suffix = os.path.join(place, name), plain_suffix(name)
            if suffix in known or (counts and suffix == COUNTS):
                result.append(path)
            elif suffix != COUNTS:
                raise ParameterError(path, "is not a data file", "use a pattern such as 'folder/*.csv'")
    if not result:
        raise ParameterError(
            folder, "is a folder without data files", f"their names end in {', '.join(known)}"
        )
    return result


def _of_pattern(pattern: str) -> list[str]:
    result = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not result:
        raise ParameterError(pattern, "no file matches this pattern", "check the path")
    return result


class Opened:
    """Opens the files of a data set; what came on the standard input is kept until the end, without a name.

    Examples
    --------
    >>> with opened_data() as data:
    ...     data.table("missing.csv")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: missing.csv: file not found; check the path
    """

    def __init__(self, until_closed: ExitStack, form: FileForm = PLAIN) -> None:
        self.form = form
        self._until_closed, self._spool = until_closed, None  # type: ExitStack, IO[bytes] | None
        self._suffix = ""
        self.look: Callable[[FileTable, bool], None] | None = None
        """Looks at the beginning of the standard input; at its rows as well, if they are said to be whole."""

    def path(self, name: str) -> str:
        """Return the path of a file; for the standard input, that of what came there."""
        if name != STANDARD_INPUT:
            return name
        if self._spool is None:
            self._read()
        assert self._spool is not None  # just read
        unnamed = OPEN_FILES / str(self._spool.fileno())
        return str(unnamed) if unnamed.exists() else str(self._spool.name)

    def table(self, name: str, missing: MissingRule | None = None) -> FileTable:
        """Return the table in a file, or in what came on the standard input."""
        if name != STANDARD_INPUT:
            return open_table(name, missing, form=self.form)
        return open_table(self.path(name), missing, name, self._suffix, self.form)

    def _read(self) -> None:
        """Copy the standard input to a file that nobody else can open, and see what format it has."""
        if sys.stdin is None or sys.stdin.closed:
            raise DataError(STANDARD_INPUT, "there is no standard input", "name a file")
        import tempfile  # most commands read files that are there

        folder = self._until_closed.enter_context(tempfile.TemporaryDirectory(prefix="mechdesign-"))
        make = tempfile.TemporaryFile if OPEN_FILES.exists() else tempfile.NamedTemporaryFile
        spool: IO[bytes] = self._until_closed.enter_context(make(dir=folder))
        head = sys.stdin.buffer.read(HEAD)
        self._suffix = (
            ".parquet" if head[:4] == b"PAR1" else ".jsonl" if head[:HEAD].lstrip()[:1] == b"{" else ".csv"
        )
        self._spool, letters = spool, None
        if self._suffix != ".parquet":
            require_text(STANDARD_INPUT, head)
            if len(head) == HEAD:
                self._look_at(spool, head)
                letters = Letters(STANDARD_INPUT)
                letters.read(head)
        spool.write(head)
        _copy(spool, folder, letters)

    def _look_at(self, spool: IO[bytes], head: bytes) -> None:
        """Refuse what begins wrong: it may be large, or have no end."""
        cut = head.rfind(b"\n") + 1
        spool.write(head[:cut] or head)
        spool.flush()
        table = open_table(self.path(STANDARD_INPUT), None, STANDARD_INPUT, self._suffix, self.form)
        table.shows = table.needs_rows = False
        if self.look is not None:
            self.look(table, cut > 0 and (self._suffix != ".csv" or b'"' not in head))
        spool.seek(0)
        spool.truncate()


def _copy(spool: IO[bytes], folder: str, letters: Letters | None) -> None:
    """Copy the rest of the standard input; refuse what is not text, and more than there is room for."""
    import shutil

    room = int(SHARE * shutil.disk_usage(folder).free)
    while piece := sys.stdin.buffer.read(HEAD):
        room -= len(piece)
        if letters is not None:
            letters.read(piece)
        if room < 0:
            where = os.path.dirname(folder)
            raise DataError(
                STANDARD_INPUT, f"is larger than the room in {where}", "save it to a file, and name that"
            )
        spool.write(piece)
    spool.flush()


@contextmanager
def opened_data(form: FileForm = PLAIN) -> Iterator[Opened]:
    """Give what opens the files of a data set, and close it at the end."""
    with ExitStack() as until_closed:
        yield Opened(until_closed, form)
