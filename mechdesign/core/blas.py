"""One thread for linear algebra while something is solved, and then as many as before.

OpenBLAS and MKL have one thread for each core. On the small matrices of design problems these wait for each
other in small steps, and where another process has one of the cores, a solve takes ten times as much of the
processor. The number belongs to the whole process: the first solve that begins sets it to one, and the last
one that ends sets it back. It is left alone where an environment variable says how many there are.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ctypes

VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Where one of these is set, the caller has said how many threads there are."""

INSTALLED = ("libopenblas.so.0", "libopenblas.0.dylib", "libmkl_rt.so.2", "libmkl_rt.2.dylib")
"""OpenBLAS and MKL where numpy has not brought its own: looked at where something has loaded them."""

CALLS = (
    *((f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
      for prefix in ("scipy_", "") for suffix in ("64_", "", "_64")),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)  # fmt: skip
"""What the functions are called that tell and set the number of threads."""


class Library(NamedTuple):
    """A library for linear algebra: what tells and what sets its number of threads."""

    name: str
    threads: Callable[[], int]
    set_threads: Callable[[int], object]


_lock = threading.Lock()
_solving: dict[int, int] = {}
"""Number of solves that have begun and not ended, by thread."""
_before: dict[str, tuple[Library, int]] = {}
"""Number of threads that each library had before."""


@contextmanager
def one_thread(loading: bool = False) -> Iterator[None]:
    """Have one thread for linear algebra meanwhile, unless an environment variable says how many.

    Parameters
    ----------
    loading : bool
        Whether scipy's library, which a numeric method is going to need, is loaded where it is not yet.
    """
    if any(os.environ.get(name) for name in VARIABLES):
        yield
        return
    thread = threading.get_ident()
    try:
        _begin(thread, loading)
        yield
    finally:
        _end(thread)


def _begin(thread: int, loading: bool) -> None:
    with _lock:
        _solving[thread] = _solving.get(thread, 0) + 1
        for library in libraries(loading):
            count = library.threads()
            if library.name not in _before and count > 1:
                _before[library.name] = (library, count)
                library.set_threads(1)


def _end(thread: int) -> None:
    with _lock:
        left = _solving.pop(thread, 0) - 1
        if left > 0:
            _solving[thread] = left
        _set_back()


def _set_back() -> None:
    """Set the numbers back where nothing is being solved; a number that was changed meanwhile stays."""
    if _solving:
        return
    for library, count in _before.values():
        if library.threads() == 1:
            library.set_threads(count)
    _before.clear()


def _after_fork() -> None:
    """Forget what other threads were solving: in the new process there is only the one that has forked."""
    global _lock
    _lock = threading.Lock()
    thread = threading.get_ident()
    for other in [other for other in _solving if other != thread]:
        del _solving[other]
    _set_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def libraries(loading: bool = False) -> list[Library]:
    """Return the libraries for linear algebra of this process; with ``loading`` also scipy's before its use.

    Examples
    --------
    >>> all(library.threads() >= 1 for library in libraries())
    True
    """
    ready = loading or "scipy.linalg" in sys.modules
    opened = [_opened(path) for path in _bundled("numpy") + (_bundled("scipy") if ready else ())]
    return [library for library in opened or map(_loaded, INSTALLED) if library is not None]


@cache
def _bundled(package: str) -> tuple[str, ...]:
    """Return the paths of the libraries that the wheel of numpy or scipy has brought with it."""
    import numpy

    home = Path(numpy.__file__).parents[1]
    folders = [home / f"{package}.libs", home / package / ".dylibs"]
    return tuple(str(path) for folder in folders for path in sorted(folder.glob("*openblas*")))


@cache
def _opened(path: str) -> Library | None:
    """Return a library by its path; one that the process has loaded already is the same."""
    import ctypes

    try:
        return _library(path, ctypes.CDLL(path))
    except OSError:
        return None


def _loaded(name: str) -> Library | None:
    """Return a library by its name where the process has loaded it."""
    import ctypes

    if not hasattr(os, "RTLD_NOLOAD"):
        return None
    try:
        return _library(name, ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW))
    except OSError:
        return None


def _library(name: str, handle: ctypes.CDLL) -> Library | None:
    for count, set_count in CALLS:
        if hasattr(handle, count) and hasattr(handle, set_count):
            return Library(name, getattr(handle, count), getattr(handle, set_count))
    return None
