"""Files that appear whole or not at all, and that are read up to a limit."""

from __future__ import annotations

import glob
import importlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mechdesign.core.errors import MechDesignError

fcntl: Any = None  # Windows has none: what a killed process left stays there
with suppress(ImportError):
    fcntl = importlib.import_module("fcntl")

PART = ".part"
"""How the names of unfinished files end."""
PIECE = 1 << 20
"""Bytes read at a time."""


def read_text(path: str | os.PathLike[str], most: int, error_class: type[MechDesignError]) -> str:
    """Return the text of a file in UTF-8; no more than ``most`` bytes and a piece are ever read.

    Raises
    ------
    MechDesignError
        Of the given class, when the file is larger.
    OSError, UnicodeDecodeError
        When it cannot be read, or is no text in UTF-8.

    Examples
    --------
    >>> read_text(os.devnull, 100, MechDesignError)
    ''
    """
    pieces, size = [], 0
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise error_class(f"{path}: is larger than {most >> 20} MiB; name another file")
    return b"".join(pieces).decode("utf-8")


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    error_class: type[MechDesignError],
    durable: bool = False,
    private: bool = False,
) -> Iterator[Path]:
    """Give a temporary path to write to, and move it to its place only when all was written.

    With ``durable``, it is on the disk before this returns: a loss of power takes nothing of it back. With
    ``private``, nobody but its owner may read or write it. A link is followed. Anything that exists and is
    no regular file (a folder, a pipe, a device) is refused rather than replaced.

    Raises
    ------
    MechDesignError
        Of the given class, when the place cannot be written; nothing is left behind.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with whole_file(place, MechDesignError) as temporary:
    ...     written = temporary.write_text("done")
    >>> place.read_text()
    'done'
    """
    if not os.fspath(path):
        raise error_class("the name of the output file is empty; name a place")
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise error_class(f"{path}: is not a regular file; name another place")
    prefix = f".{place.name[:100]}."
    try:
        _remove_abandoned(place.parent, prefix)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=prefix, suffix=PART)
        _lock(handle)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); name another place") from None
    try:
        yield Path(name)
        if not private:  # the temporary file is its owner's alone
            os.chmod(name, place.stat().st_mode & 0o7777 if place.exists() else 0o666 & ~_umask())
        if durable:
            _flush(name)
        os.replace(name, place)
        if durable:
            _flush(place.parent)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); name another place") from None
    finally:
        os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(name)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what a killed process left of the same file: a live one holds a lock on its own."""
    if fcntl is None:
        return
    for rest in folder.glob(f"{glob.escape(prefix)}*{PART}"):
        with suppress(OSError), rest.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            rest.unlink()


def _flush(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.path.isdir(path) and not hasattr(os, "O_DIRECTORY"):
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def one_at_a_time(path: str | os.PathLike[str], error_class: type[MechDesignError]) -> Iterator[None]:
    """Let one process after the other work on a file; a killed one holds up nobody.

    The lock is a file beside it, which is gone when the work is done or refused.

    Examples
    --------
    >>> import tempfile
    >>> with one_at_a_time(Path(tempfile.mkdtemp()) / "state.json", MechDesignError):
    ...     pass
    """
    if fcntl is None:
        yield
        return
    place = Path(os.path.realpath(path))
    lock = place.parent / f".{place.name[:100]}.lock"
    try:
        stream = _locked(lock)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); name another place") from None
    with stream:
        try:
            yield
        finally:  # removed while it is held: who waits for it sees that, and makes a new one
            with suppress(OSError):
                lock.unlink()


def _locked(lock: Path) -> Any:
    """Return the open file that everybody locks, held; one that was removed meanwhile does not count."""
    while True:
        stream = open(lock, "w")  # noqa: SIM115 - closed by the caller
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            return stream
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(stream.fileno()), os.stat(lock)):
                return stream
        stream.close()


def _lock(handle: int) -> None:
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
