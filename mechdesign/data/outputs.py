"""Outputs: files where something may stand already, and folders whose files appear together.

An existing file is replaced by ``--force`` alone, and never if it is an input.

A folder's files appear once all of them are written. A folder that is not there yet appears by one rename. In
one that is there, files are moved one by one; while that lasts, a list of them is in the folder, and a
command that reads it refuses. A killed process leaves the list; the next run that writes the same files
removes it.

Formats of files by the ending of a name.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mechdesign.core.errors import MechDesignError, ParameterError
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


def is_folder(path: str) -> bool:
    """Whether an output is a folder: a name that ends like that of one, or one that exists.

    Examples
    --------
    >>> is_folder("reports/"), is_folder("reports.csv")
    (True, False)
    """
    return path.endswith((os.sep, "/")) or (os.path.isdir(path) and not path.lower().endswith(DATA))


def require_folder(folder: str, names: Sequence[str], inputs: Sequence[str], force: bool) -> None:
    """Raise ParameterError when writing these files to a folder would destroy something."""
    path = folder.rstrip("/" + os.sep) or folder
    if os.path.lexists(path) and not os.path.isdir(path):
        raise ParameterError(f"-o {folder}", "is a file, not a folder", "choose another path")
    if not os.path.isdir(path):
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise ParameterError(f"-o {folder}", "its parent folder does not exist", "choose another path")
        return
    for name in names:
        place = os.path.join(path, name)
        if os.path.isdir(os.path.dirname(place)):
            require_output(place, inputs, force)


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
