"""Outputs: files where something may stand already, and folders whose files appear together.

An existing file is replaced by ``--force`` alone, and never if it is an input.

A folder's files appear once all of them are written. A folder that is not there yet appears by one rename. In
one that is there, files are moved one by one; while that lasts, a list of them is in the folder, and a
command that reads it refuses. A killed process leaves the list; the next run that writes the same files
removes it.

Formats of files: by the ending of a name, and by the first bytes of what is no table of text.

What is no text is refused, with how to convert it.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.work.files import PART, SAFELY, fcntl, part_prefix, require_name


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
        _remove(work)
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
    folders = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
    for work in folders:
        with suppress(OSError):
            handle = os.open(work, os.O_RDONLY | SAFELY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(handle)
                if stat.S_ISDIR(own.st_mode) and own.st_uid == os.geteuid():
                    _remove(work)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    """Remove a folder and what is in it, as far as that is possible."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


HEAD = 16
"""Bytes by which a format is recognized."""

EXPAND = "decompress it first"
SAVE = "save it as CSV in UTF-8"

FORMATS = {
    b"\x1f\x8b": ("compressed by gzip", f"{EXPAND}: gunzip"),
    b"BZh": ("compressed by bzip2", f"{EXPAND}: bunzip2"),
    b"\xfd7zXZ\x00": ("compressed by xz", f"{EXPAND}: unxz"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", f"{EXPAND}: unzstd"),
    b"PK\x03\x04": (
        "a spreadsheet (.xlsx, .ods) or another ZIP archive",
        f"name it .xlsx if it is an Excel workbook, {SAVE}, or unzip it",
    ),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", SAVE),
    b"PAR1": ("Parquet", "name it .parquet"),
    b"ARROW1": ("an Arrow file (Feather)", "save it as Parquet"),
    b"$FL2": ("an SPSS file", f"use mechdesign import, or {SAVE}"),
    b"$FL3": ("an SPSS file", f"use mechdesign import, or {SAVE}"),
    b"<stata_dta>": ("a Stata file", f"use mechdesign import, or {SAVE}"),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV"),
    b"%PDF-": ("a PDF file", "give the table itself, as CSV"),
    b"\xff\xfe": ("text in UTF-16", SAVE),
    b"\xfe\xff": ("text in UTF-16", SAVE),
}
"""How files begin, what they are, and what to do."""


def require_text(name: str, head: bytes) -> None:
    r"""Raise DataError for a file that begins like one of another format than text.

    Examples
    --------
    >>> require_text("ages.csv", b"age\n31\n")
    >>> require_text("ages.csv.gz", b"\x1f\x8b\x08\x00")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: ages.csv.gz: is compressed by gzip; decompress it first: gunzip
    """
    for start, (kind, remedy) in FORMATS.items():
        if head.startswith(start):
            raise DataError(name, f"is {kind}", remedy)


LONGEST_LINE = 1 << 26
"""Bytes without the end of a line; no row of a table is that long."""


class Letters:
    r"""Looks at a text that is read in pieces, so that what is not one is refused before all of it is copied.

    Parameters
    ----------
    name : str
        What is read, in error messages.

    Examples
    --------
    >>> letters = Letters("standard input")
    >>> letters.read(b"age\n31\n")
    >>> letters.read(b"\0\0")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: standard input: line 3: holds a NUL byte; give text in UTF-8
    """

    def __init__(self, name: str) -> None:
        self._name, self._lines, self._length = name, 1, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, piece: bytes) -> None:
        """Refuse a piece with NUL bytes, or of other bytes than UTF-8, or a line without an end."""
        place = piece.find(b"\0")
        if place >= 0:
            raise self._wrong(piece, place, "holds a NUL byte")
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise self._wrong(piece, error.start, "is not text in UTF-8") from None
        end = piece.rfind(b"\n")
        self._lines += piece.count(b"\n")
        self._length = len(piece) - end - 1 if end >= 0 else self._length + len(piece)
        if self._length > LONGEST_LINE:
            raise self._wrong(b"", 0, f"has more than {LONGEST_LINE} bytes")

    def _wrong(self, piece: bytes, place: int, what: str) -> DataError:
        line = self._lines + piece[:place].count(b"\n")
        return DataError(f"{self._name}: line {line}", what, "give text in UTF-8")


IMPORT = re.compile(r'\s*\{\s*"ImportId"\s*:')
"""How the cells of the third line of a Qualtrics export begin."""

RESPONSES = ("response", "open-ended response")
"""Cells of the second line of a SurveyMonkey export."""


def require_one_header(name: str, lines: Sequence[Sequence[str]]) -> None:
    """Raise DataError for the first lines of a file with further headers, which would be users' answers.

    Examples
    --------
    >>> require_one_header("q.csv", [["Q1"], ["Do you smoke?"], ['{"ImportId":"QID1"}']])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: q.csv: is a Qualtrics export with three header lines; use ...
    """
    for number, cells in enumerate(lines[1:3], start=2):
        if any(IMPORT.match(cell) for cell in cells):
            what = f"is a Qualtrics export with {'three' if number == 3 else 'two'} header lines"
            lines_less = "the lines of questions and of ImportIds" if number == 3 else "that of ImportIds"
            remedy = f"use mechdesign import, or delete {lines_less}"
            raise DataError(name, what, remedy)
    if len(lines) > 1 and len(lines[0]) == len(lines[1]):
        header, second = ([cell.strip().casefold() for cell in cells] for cells in lines[:2])
        is_second = any(cell in RESPONSES for cell in second)
        if is_second and ("" in header or "" in second or header[0] == "respondent id"):
            remedy = "use mechdesign import, or join them into one, with a name for every column"
            raise DataError(name, "is a SurveyMonkey export with two header lines", remedy)


PARQUET = (".parquet", ".pq")
"""Names of files that are Parquet; all others are CSV."""

MECHANISM = (".json",)
"""Names of mechanism files."""

JSON_LINES = (".jsonl", ".ndjson")
"""Names of files with a JSON object a line."""

WORKBOOKS = (".xlsx", ".xlsm")
"""Names of files that are Excel workbooks."""

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
