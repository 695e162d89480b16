"""A cache of finished work in the user's own folder, so that what was interrupted goes on where it stopped.

An entry is found by what it was computed from: the arguments, a digest of the package's own source and of
the versions of the libraries that it computes with, and one of the source of every other package whose
classes and functions the arguments hold. Nothing that was computed by other code is ever given back. Entries
are pickled, and reading a pickle runs code: so each carries a seal that only the user's secret key can make
(:mod:`mechdesign.work.user_key`), and neither one with another seal nor one that others could have written to
is read.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.work.files import whole_file
from mechdesign.work.user_code import MEASURED, pickled_with_owners, source_digest
from mechdesign.work.user_key import SIZE, is_seal, seal_of

VARIABLE = "MECHDESIGN_CACHE"
"""The environment variable that names the folder; ``off`` keeps nothing."""
KEPT_DAYS = 30
"""Entries of other versions that were not used for this many days are removed."""
FOLDER, ENTRY = re.compile(r"[0-9a-f]{16}"), re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\..*\.part")
"""The names of the folders of versions and of the files in them: nothing else is ever removed."""


@cache
def code_digest() -> str:
    """Return a digest of the package's source, of Python and of the libraries it computes with.

    Examples
    --------
    >>> code_digest() == code_digest()
    True
    """
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    digest = hashlib.sha256(sys.version.encode())
    package = Path(__file__).resolve().parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    for name in MEASURED:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()[:16]


def key_of(*parts: Any) -> str:
    """Return the key of work: a digest of everything that it depends on besides the code of this package.

    Where the parts hold classes or functions of others, their source is a part as well. The key is empty, and
    nothing is kept, when that cannot be told: for what cannot be pickled, or was written in a notebook.

    Examples
    --------
    >>> key_of("check", 1) == key_of("check", 1), key_of("check", 1) == key_of("check", 2)
    (True, False)
    >>> key_of("check", lambda value: value)
    ''
    """
    try:
        text, owners = pickled_with_owners(parts)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return ""
    digest = hashlib.sha256(text)
    for owner in owners:
        source = source_digest(owner)
        if source is None:
            return ""
        digest.update(f"{owner} {source}".encode())
    return digest.hexdigest()


class Cache:
    """Finished results on disk.

    Parameters
    ----------
    folder : path
        Made when the first result is kept, for its owner alone.

    Examples
    --------
    >>> import tempfile
    >>> kept = Cache(tempfile.mkdtemp())
    >>> kept.put(key_of("a"), 1.5)
    >>> kept.get(key_of("a")), kept.get(key_of("b"))
    ((1.5,), None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.root = Path(folder)

    @cached_property
    def folder(self) -> Path:
        """The folder of this version's entries; its name is a digest of the source, computed on first use."""
        return self.root / code_digest()

    def get(self, key: str) -> tuple[Any] | None:
        """Return the result in a tuple; None when there is none that can be read and trusted."""
        path = self.folder / key
        if not key or not (_is_private(self.root) and _is_private(self.folder) and _is_private(path)):
            return None
        # A damaged entry can raise nearly anything; it counts as missing and is written again.
        with suppress(Exception):
            content = path.read_bytes()
            seal, text = content[:SIZE], content[SIZE:]
            if is_seal(seal, *self._sealed(key, text)):
                return (pickle.loads(text),)
        return None

    def put(self, key: str, value: Any) -> None:
        """Keep a result; a folder that cannot be written keeps nothing, and that is not an error."""
        if not key:
            return
        # What cannot be pickled can raise nearly anything as well.
        with suppress(Exception):
            text = pickle.dumps(value, protocol=5)
            seal = seal_of(*self._sealed(key, text))
            if seal is None:
                return
            self._make()
            with whole_file(self.folder / key, ParameterError, private=True) as temporary:
                temporary.write_bytes(seal + text)

    def _sealed(self, key: str, text: bytes) -> tuple[bytes, ...]:
        """Return what a seal is about: the version, the key and the entry."""
        return b"cache", self.folder.name.encode(), key.encode(), text

    def _make(self) -> None:
        if self.folder.is_dir():
            return
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in self.root.iterdir():
            if _is_of_entries(other) and time.time() - other.stat().st_mtime > KEPT_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)


def _is_of_entries(path: Path) -> bool:
    """Whether this is the folder of a version: the root may also hold other things."""
    if path.is_symlink() or not path.is_dir() or not FOLDER.fullmatch(path.name):
        return False
    return all(ENTRY.fullmatch(found.name) for found in path.iterdir())


def _is_private(path: Path) -> bool:
    """Whether a file or folder exists, is the user's own, and nobody else may write to it."""
    try:
        found = path.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's profile is private by default
        return True
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


def default_cache() -> Cache | None:
    """Return the user's cache: the folder that ``MECHDESIGN_CACHE`` names, else the usual place.

    None where the variable is ``off``.
    """
    given = os.environ.get(VARIABLE, "")
    if given.lower() == "off":
        return None
    if given:
        return Cache(os.path.expanduser(given))
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Cache(os.path.join(usual, "mechdesign"))
