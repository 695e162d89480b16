"""Many files as one data set: folders, patterns and the standard input, as the files that they stand for.

What begins with a dot or an underscore in a folder is skipped, as data engines skip it. Anything else in it
that is not a data file is refused: reports must not be lost because of an ending.

Open a data file as a table in blocks, by its name.

A folder whose files appear together, once all of them are written.

A folder that is not there yet appears by one rename. In one that is there, files are moved one by one; while
that lasts, a list of them is in the folder, and a command that reads it refuses. A killed process leaves the
list; the next run that writes the same files removes it.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.data.formats import Letters, require_text
from mechdesign.data.missing import MissingRule
from mechdesign.data.outputs import DATA, JSON_LINES, PARQUET
from mechdesign.data.reading import FileTable
from mechdesign.work.files import PART, SAFELY, fcntl, part_prefix


def open_table(
    path: str | os.PathLike[str],
    missing: MissingRule | None = None,
    name: str | None = None,
    suffix: str | None = None,
) -> FileTable:
    r"""Return the table in a file of CSV, Parquet, or JSON lines (``.jsonl``, ``.ndjson``).

    Parameters
    ----------
    path : path
    missing : MissingRule, optional
        What to do with rows without a value; they are refused by default.
    name, suffix : str, optional
        What errors call it, and which format it has; by default as the path says.

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
    >>> table.columns, [block["age"].values.tolist() for block in table.blocks(["age"])]
    (('age',), [['31', '47']])
    """
    rule = MissingRule() if missing is None else missing
    ending = Path(path).suffix.lower() if suffix is None else suffix
    if ending in PARQUET:  # what reads the other formats is not imported
        from mechdesign.data.reading_parquet import ParquetTable

        return ParquetTable(path, rule, name)
    if ending in JSON_LINES:
        from mechdesign.data.reading import JsonTable

        return JsonTable(path, rule, name)
    from mechdesign.data.reading_csv import CsvTable

    return CsvTable(path, rule, name)


LIST = ".mechdesign-moving-"
"""How the name of the list of files begins that are being moved into a folder."""

OTHER_FILES = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
"""What the system says where a folder cannot take the place of another one."""


@contextmanager
def whole_folder(folder: str) -> Iterator[Path]:
    """Give a temporary folder whose files move to this one only when all were written."""
    target = Path(folder.rstrip("/" + os.sep) or folder).absolute()
    try:
        _remove_abandoned(target)
        work, handle = _temporary(target)
    except OSError as error:
        raise ParameterError(f"-o {folder}", f"cannot be written ({error.strerror})") from None
    try:
        yield work
        if not _renamed(work, target):
            _move(work, target)
    except OSError as error:
        raise ParameterError(f"-o {folder}", f"cannot be written ({error.strerror})") from None
    except MechDesignError as error:
        parts = (getattr(error, name).replace(str(work), folder.rstrip("/")) for name in ("where", "what"))
        raise error.changed(**dict(zip(("where", "what"), parts, strict=True))) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def require_complete(folder: str) -> None:
    """Raise ParameterError for a folder into which a command that was ended has moved a part of its files."""
    for path in _lists(Path(folder)):
        raise _half(folder, path, _names(path))


def require_not_in_part(files: Iterable[str]) -> None:
    """Raise ParameterError for a file of a folder that is not complete, also where it is named alone.

    A pattern names the files that are there, not those that have not come.
    """
    known: dict[Path, list[tuple[Path, set[str]]]] = {}
    for name in files:
        place = Path(os.path.abspath(name))
        for folder in place.parents:
            if folder not in known:
                known[folder] = [(path, set(_names(path))) for path in _lists(folder)]
            for path, names in known[folder]:
                if place.relative_to(folder).as_posix() in names:
                    raise _half(name, path, names)


def _lists(folder: Path) -> list[Path]:
    """Return the lists of files that are in a folder."""
    try:
        return sorted(folder.glob(f"{LIST}*"))
    except OSError:  # a folder above that may not be read
        return []


def _half(where: str, path: Path, names: Collection[str]) -> ParameterError:
    there = sum((path.parent / name).exists() for name in names)
    return ParameterError(
        where,
        f"a command ended while it moved {len(names)} files here, of which {there} are there",
        f"run it again with --force, or see to the files and remove {path.name}",
    )


def _renamed(work: Path, target: Path) -> bool:
    """Give the whole folder its name, unless other files are there."""
    mask = os.umask(0o077)
    os.umask(mask)
    work.chmod(0o777 & ~mask)
    try:
        os.rename(work, target)
    except OSError as error:
        if error.errno not in OTHER_FILES and not target.is_dir():
            raise
        return False
    return True


def _move(work: Path, target: Path) -> None:
    """Move all files into a folder that has others; a list of them is there until all have come."""
    files = sorted(path for path in work.rglob("*") if path.is_file())
    names = [file.relative_to(work).as_posix() for file in files]
    listed = target / f"{LIST}{os.urandom(8).hex()}"
    listed.write_text(json.dumps(names), encoding="utf-8")
    for file, name in zip(files, names, strict=True):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, place)
    for other in target.glob(f"{LIST}*"):  # those of killed processes whose files have come now
        if set(_names(other)) <= set(names):
            other.unlink(missing_ok=True)


def _names(path: Path) -> list[str]:
    """Return the files of a list; a list that is not whole was written before anything was moved."""
    with suppress(OSError, ValueError):
        result = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(result, list) and all(isinstance(name, str) for name in result):
            return result
    return []


def _temporary(target: Path) -> tuple[Path, int | None]:
    """Make a temporary folder next to a target, and hold its lock while this process lives."""
    while True:
        work = target.with_name(f"{part_prefix(target)}{os.urandom(8).hex()}{PART}")
        work.mkdir(mode=0o700)
        if fcntl is None:
            return work, None
        handle = os.open(work, os.O_RDONLY | SAFELY)
        with suppress(OSError):  # no locks on this file system: then nothing is removed either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if work.is_dir() and os.path.samestat(os.fstat(handle), work.stat()):
            return work, handle
        os.close(handle)  # another process took it for abandoned before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove temporary folders of the same target, of the same owner, whose lock no process holds."""
    if fcntl is None:
        return
    pattern = re.compile(re.escape(part_prefix(target)) + "[0-9a-f]{16}" + re.escape(PART))
    found = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
    for work in found:
        with suppress(OSError):
            handle = os.open(work, os.O_RDONLY | SAFELY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(handle)
                if stat.S_ISDIR(own.st_mode) and own.st_uid == os.geteuid():
                    shutil.rmtree(work, ignore_errors=True)
            finally:
                os.close(handle)


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
    known, result = (*DATA, *JSON_LINES), []
    for place, folders, names in os.walk(folder):
        require_complete(place)
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(name for name in names if name[0] not in "._"):
            path, suffix = os.path.join(place, name), Path(name).suffix.lower()
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

    def __init__(self, until_closed: ExitStack) -> None:
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
            return open_table(name, missing)
        return open_table(self.path(name), missing, name, self._suffix)

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
        table = open_table(self.path(STANDARD_INPUT), None, STANDARD_INPUT, self._suffix)
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
def opened_data() -> Iterator[Opened]:
    """Give what opens the files of a data set, and close it at the end."""
    with ExitStack() as until_closed:
        yield Opened(until_closed)
