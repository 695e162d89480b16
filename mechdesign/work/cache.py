"""A cache of finished work in the user's own folder, so that what was interrupted goes on where it stopped.

An entry is found by what it was computed from: the arguments, a digest of the package's own source and of
the versions of the libraries that it computes with, and one of the source of every other package whose
classes and functions the arguments hold. Nothing that was computed by other code is ever given back. Entries
are pickled, and reading a pickle runs code: so each carries a seal that only the user's secret key can make,
and neither one with another seal nor one that others could have written to is read.

The key is in the user's own folder, never next to what it seals: a folder of entries may come from an
archive or a repository, and what it holds must not run.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.work.files import whole_file
from mechdesign.work.texts import cache_folder, is_private

SIZE = 32
"""Bytes of the key, and of a seal."""


def key_path() -> Path:
    """Return where the key is: a file of the user's state, ``~/.local/state/mechdesign/key``."""
    usual = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(usual) / "mechdesign" / "key"


def seal_of(*parts: bytes) -> bytes | None:
    """Return the seal of what the parts say, in this order; None where no key can be read or made.

    Examples
    --------
    >>> seal_of(b"a", b"bc") == seal_of(b"ab", b"c")
    False
    """
    key = _key(key_path())
    if key is None:
        return None
    text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    import hmac  # as hashlib, it loads OpenSSL, which a list of files that were randomized does not need

    return hmac.new(key, text, "sha256").digest()


def is_seal(seal: bytes, *parts: bytes) -> bool:
    """Return whether this is the seal of the parts."""
    own = seal_of(*parts)
    import hmac

    return own is not None and hmac.compare_digest(own, seal)


@cache
def _key(path: Path) -> bytes | None:
    """Return the key in a file that is the user's own and private; it is made where there is none."""
    if not path.exists():
        with suppress(OSError):  # where nothing can be written there is none
            _make(path)
    try:
        status = path.stat()
        text = path.read_bytes()
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
    return text if is_own and len(text) == SIZE else None


def _make(path: Path) -> None:
    """Write a new key, unless another process has been faster: all have one key."""
    import secrets  # once a user

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(SIZE))
        _place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _place(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not path.exists():
            temporary.replace(path)


OWN = __name__.partition(".")[0]
MEASURED = ("numpy", "scipy", "cvxpy", "pulp", "clarabel", "scs", "highspy")
"""The libraries that the package computes with: their versions count, not their source."""


class _Pickler(pickle.Pickler):
    """Notes the top modules of all classes and functions that it meets."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.owners: set[str] = set()

    def reducer_override(self, value: Any) -> Any:
        """Note where a class or a function is from, and pickle it as always."""
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            self.owners.add((value.__module__ or "builtins").partition(".")[0])
        return NotImplemented


def pickled_with_owners(value: Any) -> tuple[bytes, list[str]]:
    """Return a value pickled, and the other packages whose classes and functions it holds, in order.

    Not counted are this package, the standard library and the libraries whose versions count anyway.

    Examples
    --------
    >>> from fractions import Fraction
    >>> pickled_with_owners([Fraction(1, 2), 0.5])[1]
    []
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(value)
    known = {OWN, *MEASURED, *sys.stdlib_module_names} - {"__main__"}
    return stream.getvalue(), sorted(pickler.owners - known)


@cache
def source_digest(owner: str) -> str | None:
    """Return a digest of the source of a package, or of a single file and those next to it.

    None where there is no file, as for what is defined in a notebook.

    Examples
    --------
    >>> len(source_digest("mechdesign") or "")
    16
    """
    name = getattr(sys.modules.get(owner), "__file__", None)
    if name is None:
        return None
    place = Path(name).resolve()
    is_package = place.name.startswith("__init__.")
    import hashlib

    digest = hashlib.sha256()
    try:
        for path in sorted(place.parent.rglob("*.py") if is_package else place.parent.glob("*.py")):
            digest.update(path.relative_to(place.parent).as_posix().encode())
            digest.update(path.read_bytes())
        digest.update(place.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()[:16]


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
    import hashlib
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
    import hashlib

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
        if not key or not (is_private(self.root) and is_private(self.folder) and is_private(path)):
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
        import shutil  # once a version

        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in self.root.iterdir():
            if _is_of_entries(other) and time.time() - other.stat().st_mtime > KEPT_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)


def _is_of_entries(path: Path) -> bool:
    """Whether this is the folder of a version: the root may also hold other things."""
    if path.is_symlink() or not path.is_dir() or not FOLDER.fullmatch(path.name):
        return False
    return all(ENTRY.fullmatch(file.name) for file in path.iterdir())


def default_cache() -> Cache | None:
    """Return the user's cache: the folder that ``MECHDESIGN_CACHE`` names, else the usual place.

    None where the variable is ``off``.
    """
    folder = cache_folder()
    return None if folder is None else Cache(folder)
