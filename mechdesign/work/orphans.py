"""Worker processes end when the process that started them has ended, however that came about.

A killed process cannot end its workers. They would go on, and hold its standard output, so that another
program waits for what it never gets. Nothing slow is imported here: a worker calls this before anything else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
"""The request to Linux for a signal when the thread that started this process has ended."""
INTERVAL = 0.5
"""Seconds after which a worker looks for its parent, where the system does not tell it."""


def watch_arguments() -> tuple[int, bool]:
    """Return what :func:`end_with_parent` takes, in the process that starts the workers.

    Examples
    --------
    >>> watch_arguments() == (os.getpid(), True)
    True
    """
    return os.getpid(), threading.current_thread() is threading.main_thread()


def end_with_parent(parent: int, is_main_thread: bool) -> None:
    """End this process as soon as its parent has ended.

    Parameters
    ----------
    parent : int
        Process number of the parent.
    is_main_thread : bool
        Whether the parent's main thread started this process; the system only knows of threads, and
        another thread may end before its process.
    """
    if not hasattr(os, "getppid") or sys.platform == "win32":
        return
    if hasattr(signal, "pthread_sigmask"):  # held by the parent while it started this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
    told = is_main_thread and _told_by_the_system()
    if os.getppid() != parent:
        os._exit(1)
    if not told:
        threading.Thread(target=_look, args=(parent,), daemon=True).start()


def _told_by_the_system() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(INTERVAL)
    os._exit(1)
