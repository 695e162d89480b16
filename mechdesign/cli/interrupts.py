"""What ends the command line early: one line and exit code 130, 143 or 129, whenever it arrives.

An interrupt comes from a terminal; schedulers, ``timeout`` and ``docker stop`` send SIGTERM; a terminal that
is closed sends SIGHUP. All are handled in the same way.

Nothing is imported here that Python has not imported already, or that takes time: until the handler is set,
an interrupt is a traceback of Python's own.
"""

from __future__ import annotations

import os
import sys
import time

try:  # what the module signal is made of, without the enumerations that take it 6 ms to make
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:  # another Python than CPython
    import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

OBEYING = 5.0
"""Seconds after an interrupt in which further ones change nothing: processes are being ended."""
AGAIN = 0.02
"""Seconds after which an interrupt is tried again that came while a module was imported."""
IMPORTING = "<frozen importlib"
"""How the file names of Python's own frames begin that import a module."""


WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""The signals that end a command, and what it says then; Windows has no SIGHUP."""
SIGNALS = {int(getattr(signal, name)): word for name, word in WORDS.items() if hasattr(signal, name)}


class Interrupts:
    """Handles the interrupts of this process, and the other signals that are to end it.

    Until the command begins, nothing has to be undone, and an interrupt ends the process. After that the
    first one is a ``KeyboardInterrupt``, once, at a moment when no module is being imported: modules that
    are not written in Python may not survive one. Whoever is impatient does not disturb the end of the work;
    after ``OBEYING`` seconds another interrupt ends the process as it is. What was being written then is
    not there, as after a kill.
    """

    def __init__(self) -> None:
        self.received = False
        self.number = int(signal.SIGINT)
        self._taken: list[int] = []
        self._begun = self._ended = self._installed = False
        self._when = 0.0

    def install(self) -> None:
        """Take the interrupts of this process, and other signals where nobody has said what they do."""
        self._installed = True
        self._taken = [number for number in SIGNALS if _is_usual(signal.getsignal(number))]
        for number in self._taken:
            signal.signal(number, self)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, self._retry)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable

    def begin(self) -> None:
        """Start the command: from here on an interrupt is an exception."""
        self._begun = True

    def end(self) -> None:
        """End the work, done or given up: from here on an interrupt changes nothing."""
        self._ended = True
        if self._installed:  # Python forgets a handler of its own before its own end
            for number in self._taken:
                signal.signal(number, signal.SIG_IGN)
            if hasattr(signal, "setitimer"):  # one that is still to be tried again would end the process
                signal.signal(signal.SIGALRM, signal.SIG_IGN)
                signal.setitimer(signal.ITIMER_REAL, 0.0)

    def __call__(self, number: int, frame: Any) -> None:
        """Handle an interrupt."""
        if self._ended:
            return
        if not self._begun:
            _leave(number)
        if self.received:
            if time.monotonic() - self._when >= OBEYING:
                _end_workers()
                _leave(number)
            return
        self.received, self.number, self._when = True, number, time.monotonic()
        self._raise(frame)

    @property
    def line(self) -> str:
        """The line that the command ends with."""
        return f"mechdesign: {SIGNALS[self.number]}"

    @property
    def code(self) -> int:
        """The exit code, as shells count it: 128 and the number of the signal."""
        return 128 + self.number

    def _raise(self, frame: Any) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith(IMPORTING) and hasattr(signal, "setitimer"):
                self._later()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def _later(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)

    def _retry(self, number: int, frame: Any) -> None:
        if not self._ended:
            self._raise(frame)

    def _unraisable(self, value: Any) -> None:
        """Raise an interrupt again that came where Python could only have printed it.

        A file or a folder that the interrupt left open is closed now; where Python warns of that, and
        warnings are errors, the end of a command is no place for it.
        """
        if self.received and issubclass(value.exc_type, KeyboardInterrupt):
            if not self._ended and hasattr(signal, "setitimer"):
                self._later()
            return
        if not (self.received and issubclass(value.exc_type, ResourceWarning)):
            self._hook(value)


def _leave(number: int) -> None:
    try:  # noqa: SIM105 (contextlib takes time to import)
        os.write(2, f"mechdesign: {SIGNALS[number]}\n".encode())
    except OSError:  # no standard error
        pass
    os._exit(128 + number)


def _end_workers() -> None:
    """End the processes that joblib has started, where it has."""
    home = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(home, "_executor", None)
    for process in list(getattr(executor, "_processes", None) or ()):
        try:  # noqa: SIM105
            os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        except OSError:
            pass


def interrupts_of(arguments: Sequence[str] | None) -> Interrupts:
    """Return the handler of a command line's interrupts; the one of this process takes them.

    A caller who gives arguments, or has a handler of its own, keeps it; so does a shell that has said that
    interrupts are to be ignored.
    """
    result = Interrupts()
    if arguments is None and _is_usual(signal.getsignal(signal.SIGINT)):
        result.install()
    return result


def _is_usual(handler: Any) -> bool:
    """Whether it is Python's own handler, the system's, or what the package's first lines have set."""
    if handler in (signal.default_int_handler, signal.SIG_DFL):
        return True
    return getattr(handler, "__name__", "") == "_leave_at_once"
