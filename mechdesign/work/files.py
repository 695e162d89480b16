"""Files that appear whole or not at all, are changed by one process after the other, and read within limits.

Everything that this package writes goes through :func:`whole_file`, and whatever reads a file in order to
replace it holds :func:`one_at_a_time` meanwhile. Neither follows a link in the place of a temporary file or
of a lock, truncates what it finds there, or removes a file that it cannot know to be its own.

The package ``filelock`` was considered for the locks. On POSIX it leaves its lock file behind, takes a file
of somebody's own in that place for its lock, and has no part in temporary files, which need the same lock; so
this module calls ``flock`` itself.

TOML and JSON may come from anybody. A line of TOML such as ``a.a.a = 1`` makes a table for every dot, and the
parser keeps all beginnings of the name; brackets in brackets are a call in a call. So depth and number of
tables are counted before parsing.
"""

from __future__ import annotations

import errno
import importlib
import json
import math
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
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
SHOWN = 60
"""Bytes of a file's name that the names of its temporary files and of its lock begin with."""
WAIT = 0.02
"""Seconds between two looks at a lock that is a mere file."""
BORN = 5.0
"""Seconds after which a lock without the number of its process is one that a killed process has left."""

# Never through a link, never to a child process, and never waiting for the other end of a pipe.
SAFELY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOINHERIT", 0)
    | getattr(os, "O_BINARY", 0)
)
ANEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
"""What ``flock`` says on a file system that has no locks."""


def read_text(path: str | os.PathLike[str], most: int, error_class: type[MechDesignError]) -> str:
    """Return the text of a file in UTF-8; no more than ``most`` bytes and a piece are ever read.

    A pipe that nobody writes to is an empty file: it is not waited for.

    Raises
    ------
    MechDesignError
        Of the given class, when the file is larger, or its name cannot be one.
    OSError, UnicodeDecodeError
        When it cannot be read, or is not a string in UTF-8.

    Examples
    --------
    >>> read_text(os.devnull, 100, MechDesignError)
    ''
    """
    require_name(path, error_class)
    pieces, size = [], 0
    with open(path, "rb", opener=_open_to_read) as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise error_class(f"{path}: is larger than {most >> 20} MiB; name another file")
    return b"".join(pieces).decode("utf-8")


def _open_to_read(path: str, flags: int) -> int:
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return handle


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of a few bytes by Python's own code: to load OpenSSL's takes longer than they take.

    Examples
    --------
    >>> sha256_of(b"a")[:8]
    'ca978112'
    """
    for name in ("_sha2", "_sha256"):
        with suppress(ImportError, AttributeError):
            return str(importlib.import_module(name).sha256(data).hexdigest())
    return str(importlib.import_module("hashlib").sha256(data).hexdigest())


def require_name(path: str | os.PathLike[str], error_class: type[MechDesignError]) -> None:
    r"""Raise an error of this class for what can be the name of no file.

    Examples
    --------
    >>> require_name("a\0b", MechDesignError)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.MechDesignError: a\x00b: cannot be the name of a file; name another one
    """
    try:
        usable = "\0" not in os.fspath(path) and bool(os.fsencode(path))
    except UnicodeEncodeError:  # half a character
        usable = False
    if not usable:
        if not os.fspath(path):
            raise error_class("the name of a file is empty; name another one")
        raise error_class(f"{path}: cannot be the name of a file; name another one")


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    error_class: type[MechDesignError],
    durable: bool = False,
    private: bool = False,
) -> Iterator[Path]:
    """Give a temporary path to write to, and move it to its place only when all was written.

    With ``durable``, it is on the disk before this returns: a loss of power takes nothing of it back. With
    ``private``, nobody but its owner may read or write it, at any moment. A link is followed. Anything that
    exists and is not a regular file (a folder, a pipe, a device, a link to itself) is refused, not replaced.

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
        raise error_class("the name of the output file is empty; give a path")
    require_name(path, error_class)
    place = Path(os.path.realpath(path))
    try:
        there = _found(place)
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise error_class(f"{path}: is not a regular file; choose another path")
        _remove_abandoned(place)
        name, handle = _temporary(place, private or there is not None)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); choose another path") from None
    try:
        status = os.fstat(handle)
        if fcntl is None:  # Windows moves no file that is open
            os.close(handle)
        yield name
        if not os.path.samestat(status, os.lstat(name)):
            raise error_class(f"{path}: not written: its temporary file was replaced; try again")
        if there is not None and not private:
            os.chmod(name, stat.S_IMODE(there.st_mode))
        if durable:
            _flush(name)
        os.replace(name, place)
        if durable:
            _flush(place.parent)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); choose another path") from None
    finally:
        if fcntl is not None:
            os.close(handle)
        with suppress(OSError):
            if os.path.samestat(status, os.lstat(name)):
                os.unlink(name)


def _found(place: Path) -> os.stat_result | None:
    """Return the entry at a path itself, not the one that it links to; None where there is none."""
    try:
        return os.lstat(place)
    except FileNotFoundError:
        return None


def _shown(place: Path) -> str:
    """Return the beginning of a file's name: the names made of it must not become too long."""
    return os.fsdecode(os.fsencode(place.name)[:SHOWN])


def part_prefix(place: Path) -> str:
    """Return how the names of the temporary files of this one place begin; those of no other begin so."""
    return f".{_shown(place)}.{sha256_of(os.fsencode(place.name))[:12]}."


def _temporary(place: Path, private: bool) -> tuple[Path, int]:
    """Make a temporary file and lock it; return its name and its handle.

    Between making and locking it, another process may take it for abandoned and remove it. That shows when
    the lock is held, and another one is made.
    """
    while True:
        name = place.with_name(f"{part_prefix(place)}{os.urandom(8).hex()}{PART}")
        handle = os.open(name, ANEW, 0o600 if private else 0o666)
        if fcntl is None:
            return name, handle
        try:
            _flock(handle)
            there = _found(name)
            if there is not None and os.path.samestat(os.fstat(handle), there):
                return name, handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _remove_abandoned(place: Path) -> None:
    """Remove what a killed process left of the same file: a live one holds a lock on its own.

    Only files with exactly such a name, of the same owner and of no other name are removed, and only while
    their lock is held.
    """
    if fcntl is None:
        return
    pattern = re.compile(re.escape(part_prefix(place)) + "[0-9a-f]{16}" + re.escape(PART))
    names: list[str] = []
    with suppress(OSError), os.scandir(place.parent) as entries:
        names = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
    for leftover in names:
        with suppress(OSError):
            handle = os.open(leftover, os.O_RDWR | SAFELY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(handle)
                is_ours = stat.S_ISREG(own.st_mode) and own.st_nlink == 1 and own.st_uid == os.geteuid()
                if is_ours and os.path.samestat(own, os.lstat(leftover)):
                    os.unlink(leftover)
            finally:
                os.close(handle)


def _flush(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    is_folder = os.path.isdir(path)
    if is_folder and not hasattr(os, "O_DIRECTORY"):
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR | SAFELY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def one_at_a_time(path: str | os.PathLike[str], error_class: type[MechDesignError]) -> Iterator[None]:
    """Let one process after the other work on a file; a killed one holds up nobody.

    The lock is an empty file next to it, which is gone when the work is done or refused. Whatever else stands
    in its place (a link, a pipe, a file that holds something) is refused and left as it is. Where there is no
    ``flock``, the lock is that such a file exists; only there, and not on Windows, one that a killed
    process has left has to be removed by hand, which the error says.

    Raises
    ------
    MechDesignError
        Of the given class, when the lock cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> with one_at_a_time(Path(tempfile.mkdtemp()) / "state.json", MechDesignError):
    ...     pass
    """
    require_name(path, error_class)
    place = Path(os.path.realpath(path))
    text = place.name if len(os.fsencode(place.name)) <= 200 else part_prefix(place)[1:-1]
    lock = place.with_name(f".{text}.lock")
    try:
        handle = _locked(lock, path, error_class)
    except OSError as error:
        raise error_class(f"{path}: cannot be written ({error.strerror}); choose another path") from None
    if handle is None:
        lock = place.with_name(f".{text}.locked")
        handle = _marked(lock, path, error_class)
    try:
        yield
    finally:
        _release(lock, handle)


def _release(lock: Path, handle: int) -> None:
    """Remove a lock while it is held: who waits for it sees that, and makes a new one."""
    own = os.fstat(handle)
    if os.name == "nt":  # it removes no file that is open
        os.close(handle)
    with suppress(OSError):
        if os.path.samestat(own, os.lstat(lock)):
            os.unlink(lock)
    if os.name != "nt":
        os.close(handle)


def _locked(lock: Path, path: str | os.PathLike[str], error_class: type[MechDesignError]) -> int | None:
    """Lock the file that all processes share and return its handle; None where there are no locks.

    A lock that was removed meanwhile does not count.
    """
    if fcntl is None:
        return None
    while True:
        there = _found(lock)
        if there is not None and (not stat.S_ISREG(there.st_mode) or there.st_size or there.st_nlink > 1):
            raise error_class(
                f"{path}: cannot be locked: {lock.name} next to it is not a lock file; move it away"
            )
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | SAFELY, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP:
                continue  # a link since the look: the next look refuses it
            raise
        try:
            if not _flock(handle):
                _release(lock, handle)
                return None
            there, own = _found(lock), os.fstat(handle)
            if there is not None and os.path.samestat(own, there) and stat.S_ISREG(own.st_mode):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _flock(handle: int) -> bool:
    """Wait for the lock of an open file; return whether its file system has locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


def _marked(lock: Path, path: str | os.PathLike[str], error_class: type[MechDesignError]) -> int:
    """Return the handle of a file that this process alone has made: the lock where there is no other.

    Windows removes no file that is open, so one that can be removed was left by a process that ended.
    """
    while True:
        try:
            handle = os.open(lock, ANEW, 0o600)
            os.write(handle, f"{os.getpid()}\n".encode())
            return handle
        except FileExistsError:
            pass
        except PermissionError:  # Windows, where another process is just removing it
            if os.name != "nt" or not lock.exists():
                raise error_class(f"{path}: cannot be locked ({lock.name}); choose another path") from None
        except OSError as error:
            raise error_class(f"{path}: cannot be written ({error.strerror}); choose another path") from None
        if os.name == "nt":
            with suppress(OSError):
                os.unlink(lock)
        elif _is_left(lock):
            raise error_class(f"{path}: {lock.name} next to it was left by a killed process; remove it")
        time.sleep(WAIT)


def _is_left(lock: Path) -> bool:
    """Whether the process that has made a lock no longer runs on this machine."""
    try:
        handle = os.open(lock, os.O_RDONLY | SAFELY)
    except FileNotFoundError:
        return False
    except OSError:  # a link, or what cannot be read, is not a lock of this package
        return True
    try:
        own = os.fstat(handle)
        if not stat.S_ISREG(own.st_mode):
            return True
        text = os.read(handle, 32).decode("ascii", "replace").strip()
        if not text:  # just being written, or left at that moment
            return own.st_nlink > 0 and time.time() - own.st_mtime > BORN
        os.kill(int(text), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return os.fstat(handle).st_nlink > 0
    except PermissionError:
        return False
    finally:
        os.close(handle)
    return False


MOST_DEPTH = 100
"""Tables and lists in each other; no document of this package has more than ten."""
MOST_ITEMS = 200_000
"""Keys, tables and lists of a TOML document; its numbers are limited by the size of the file only."""
MOST_LISTS = 2_000_000
"""Objects and lists of a JSON document."""

TOKEN = re.compile(
    r"""\"{3}|'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|["']|\#[^\n]*|[0-9eE+\-_.,\ \t\r\n]{2,}|[\[\]{}=,.\n]"""
)
LONG_TEXT = re.compile(r'(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL)
JSON_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{}]', re.DOTALL)
DEEP_NUMBERS = re.compile(rf"(?:\.[^.,\n]*){{{MOST_DEPTH}}}")


def date_in(value: Any, place: str = "") -> tuple[str, str] | None:
    """Return the place and the text of a date or a time in a document; None without any.

    TOML has them without quotes, and nothing here takes one.

    Examples
    --------
    >>> date_in(parse_toml("model.source = {at = [1979-05-27]}"))
    ('[model] source at 1', '1979-05-27')
    """
    if isinstance(value, dict):
        items: Any = ((f"{place} {key}" if place else f"[{key}]", item) for key, item in value.items())
    elif isinstance(value, list):
        items = ((f"{place} {number}", item) for number, item in enumerate(value, start=1))
    else:  # of the module datetime, which takes time to import
        is_date = hasattr(value, "isoformat") and not isinstance(value, str)
        return (place, str(value)) if is_date else None
    return next((date for key, item in items if (date := date_in(item, key)) is not None), None)


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    r"""Return the content of a TOML document; its decimals are what ``parse_float`` makes of their text.

    Raises
    ------
    ValueError
        When it is not valid, or too deep or too large to be parsed in bounded memory.

    Examples
    --------
    >>> parse_toml("a.b = [1, 2]")
    {'a': {'b': [1, 2]}}
    >>> parse_toml("a." * 200 + "a = 1")
    Traceback (most recent call last):
        ...
    ValueError: tables and lists are nested more than 100 deep
    """
    import tomllib  # a mechanism file is JSON

    if sum(map(text.count, "[{=")) > MOST_ITEMS:
        raise ValueError(f"it has more than {MOST_ITEMS} keys, tables and lists")
    _require_shallow_toml(text)
    try:
        with _digits_bounded():
            return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError("tables and lists are nested too deep") from None


def _require_shallow_toml(text: str) -> None:
    """Raise ValueError for a document that nests too deep.

    Where the tokens cannot go on, the parser cannot either: it raises an error there, and what comes after
    that place does not matter. Every level takes a bracket or a dot, so that most documents have too few of
    them, wherever they stand, to nest too deep.
    """
    if sum(map(text.count, "[{.")) < MOST_DEPTH:
        return
    place = dots = key = deep = items = 0
    waiting: list[int] = []  # how deep the key of each open bracket is
    while match := TOKEN.search(text, place):
        token, place = match.group(), match.end()
        if token in ('"', "'"):
            return  # a text that is not closed
        if token in ('"""', "'''"):
            place = _end_of_long_text(text, place, token)
            if place < 0:
                return
        elif token == ".":
            dots += 1
            items += 1
        elif token == "=":
            key, dots = dots + 1, 0
        elif token in ("[", "{"):
            waiting.append(max(1, key))
            deep, key, dots = deep + waiting[-1], 0, 0
        elif token in ("]", "}"):
            deep -= waiting.pop() if waiting else 0
            key = dots = 0
        elif token in (",", "\n"):
            key = dots = 0
        elif token[0] not in "\"'#":  # numbers, or bare keys of digits
            if "," in token or "\n" in token:
                if DEEP_NUMBERS.search(token) or dots + token.count(".") > MOST_DEPTH > len(token):
                    dots = MOST_DEPTH
                else:
                    dots, key = re.split("[,\n]", token)[-1].count("."), 0
            else:
                dots += token.count(".")
        if deep + dots >= MOST_DEPTH:
            raise ValueError(f"tables and lists are nested more than {MOST_DEPTH} deep")
        if items > MOST_ITEMS:
            raise ValueError(f"it has more than {MOST_ITEMS} keys, tables and lists")


def _end_of_long_text(text: str, place: int, quotes: str) -> int:
    if quotes == "'''":
        end = text.find(quotes, place)
        more = text[end + 3 : end + 5]  # up to two quotes at the end are part of the text
        return end if end < 0 else end + 3 + len(more) - len(more.lstrip("'"))
    match = LONG_TEXT.match(text, place)
    return match.end() if match else -1


def parse_json(text: str) -> Any:
    """Return the content of a JSON document; its numbers are finite.

    Raises
    ------
    ValueError
        When it is not valid, or too deep or too large to be parsed in bounded memory.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json("[" * 200 + "]" * 200)
    Traceback (most recent call last):
        ...
    ValueError: objects and lists are nested more than 100 deep
    >>> parse_json("1e999")
    Traceback (most recent call last):
        ...
    ValueError: 1e999 is too large for a number
    """
    if text.count("[") + text.count("{") > MOST_LISTS:
        raise ValueError(f"it has more than {MOST_LISTS} objects and lists")
    depth = 0
    for match in JSON_TOKEN.finditer(text):
        letter = text[match.start()]
        if letter in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise ValueError(f"objects and lists are nested more than {MOST_DEPTH} deep")
        elif letter in "]}":
            depth -= 1
    with _digits_bounded():
        return json.loads(text, parse_constant=_refused, parse_float=_finite)


@contextmanager
def _digits_bounded() -> Iterator[None]:
    """Say in plain words that an integer has more digits than Python reads."""
    try:
        yield
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):
            raise ValueError("a number has too many digits") from None
        raise


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number
