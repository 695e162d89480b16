"""Texts of commands that depend on files alone, remembered by the contents of these files.

A text is found by a digest of the files it was made from, of the arguments, and of the package's own modules:
their names, sizes and times, as Python finds its byte code. An entry begins with a digest of its key and
text: one that is damaged, cut or of another key is made again. It is written under another name first, so
processes that write the same one do not disturb each other. Where nothing can be written, nothing is
remembered, and where others can write, nothing is read.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "MECHDESIGN_CACHE"
"""The environment variable that names the folder; ``off`` keeps nothing."""

FOLDER = "texts"
"""The folder of the texts within that of the cache."""

MOST = 64
"""Texts that are kept; beyond these the ones that were written first are removed."""


def cache_folder() -> Path | None:
    """Return the user's folder of caches: the one that ``MECHDESIGN_CACHE`` names, else the usual place.

    None where the variable is ``off``.
    """
    setting = os.environ.get(VARIABLE, "")
    if setting.lower() == "off":
        return None
    if setting:
        return Path(os.path.expanduser(setting))
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(usual, "mechdesign")


def is_private(path: Path) -> bool:
    """Whether a file or folder exists, is the user's own, and nobody else may write to it."""
    try:
        status = path.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's profile is private by default
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def remembered_text(
    arguments: Iterable[object], files: Iterable[Path], make: Callable[[], str], root: Path | None = None
) -> str:
    """Return the text that ``make`` returns, without making it where that was done before.

    Parameters
    ----------
    arguments : iterable
        What the text depends on besides the files: its name first. Only their ``repr`` counts.
    files : iterable of Path
        Files whose contents it depends on.
    make : callable
        Returns the text.
    root : Path, optional
        The folder of caches; by default the user's.

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> home.chmod(0o700)
    >>> remembered_text(["greeting"], [], lambda: "hello", home)
    'hello'
    >>> remembered_text(["greeting"], [], lambda: "never asked", home)
    'hello'
    """
    root = cache_folder() if root is None else root
    if root is None:
        return make()
    key = _key(arguments, files)
    entry = root / FOLDER / key
    text = _read(entry, key) if is_private(root) and is_private(entry.parent) and is_private(entry) else None
    if text is None:
        text = make()
        with suppress(OSError, UnicodeEncodeError):
            _write(entry, key, text)
    return text


def _key(arguments: Iterable[object], files: Iterable[Path]) -> str:
    import hashlib  # loads OpenSSL, and others need only the folder

    digest = hashlib.sha256(repr((sys.version, *arguments)).encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path} {len(content)} ".encode("utf-8", "backslashreplace"))
        digest.update(content)
    package = Path(__file__).resolve().parent.parent
    for name, size, changed in sorted(_modules(str(package), "")):
        digest.update(f"{name} {size} {changed} ".encode())
    return digest.hexdigest()


def _modules(folder: str, inner: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, size and time of change of the modules of a folder and below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield inner + entry.name, status.st_size, status.st_mtime_ns
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _modules(entry.path, f"{inner}{entry.name}/")


def _seal(key: str, text: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(key.encode() + text).hexdigest().encode()


def _read(entry: Path, key: str) -> str | None:
    """Return the text of an entry; None where it is missing or damaged."""
    with suppress(OSError, UnicodeDecodeError):
        seal, _, text = entry.read_bytes().partition(b"\n")
        if seal == _seal(key, text):
            return text.decode()
    return None


def _write(entry: Path, key: str, text: str) -> None:
    entry.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry.parent.mkdir(mode=0o700, exist_ok=True)
    content = text.encode()
    temporary = entry.with_name(f".{key}.{os.getpid()}.{time.monotonic_ns()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_seal(key, content) + b"\n" + content)
        os.replace(temporary, entry)
    finally:
        temporary.unlink(missing_ok=True)
    others = sorted(entry.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in others[:-MOST]:
        path.unlink(missing_ok=True)
