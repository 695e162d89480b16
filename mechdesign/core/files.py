"""Files that appear whole or not at all, and that are read up to a limit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mechdesign.core.errors import MechDesignError

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
def whole_file(path: str | os.PathLike[str], error_class: type[MechDesignError]) -> Iterator[Path]:
    """Give a temporary path to write to, and move it to its place only when all was written.

    A link is followed. Anything that exists and is no regular file (a folder, a pipe, a device) is
    refused rather than replaced.

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
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=place.suffix)
        os.close(handle)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); name another place") from None
    try:
        yield Path(name)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, place)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); name another place") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
