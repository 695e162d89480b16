"""Run a foreign program that maps answers to reports: a line with an answer in, a line with a report out.

A program that is run with all that it starts, to its end or to that of its time, its space, a signal.

On POSIX systems the program leads a session and a process group of its own. When it ends, or has to end, the
whole group is killed, and limits of the system stop files and computations that grow without end. On Linux
what has left the group, as with ``setsid``, becomes a child of this process when its parent ends, and is
killed as well. Elsewhere only the program itself is ended.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Any

from mechdesign.core.errors import DataError, counted, named_option

OFTEN = 0.05
"""Seconds between two looks at a program that runs."""

FIRST = 0.001
"""Seconds until the first look."""

LAUNCH = """
import os, resource, signal, sys
for kind, most in ((resource.RLIMIT_FSIZE, int(sys.argv[1])), (resource.RLIMIT_CPU, int(sys.argv[2]))):
    hard = resource.getrlimit(kind)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (least, least))
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    sys.exit(f"{sys.argv[3]}: {error.strerror}")
"""
"""Limits the size of files and the seconds of a processor, and becomes the program."""


def run_group(
    words: Sequence[str],
    streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    limits: tuple[int, float],
    is_modest: Callable[[], None],
) -> int:
    """Run a program to its end and return its exit code; nothing that it has started survives.

    Outside Linux, what has left the program's process group does.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    streams : tuple of files
        Standard input, output and error.
    limits : tuple
        Bytes of a file, and seconds of a processor, of each process.
    is_modest : callable
        Is called again and again while the program runs; what it raises ends the program.

    Raises
    ------
    DataError
        When the program cannot be started.
    """
    if shutil.which(words[0]) is None:
        raise DataError(
            named_option("program"),
            f"{words[0]}: no such program, or not executable",
            "give a command that runs",
        )
    with _deferred_signals() as received, _adopted():
        try:
            process = subprocess.Popen(
                _limited(words, limits),
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                start_new_session=True,
            )
        except OSError as error:
            raise DataError(
                named_option("program"), f"{words[0]}: {error.strerror}", "give a command that runs"
            ) from None
        pause = FIRST
        RUNNING.add(process.pid)
        try:
            while not _has_ended(process) and not received:
                is_modest()
                time.sleep(pause)
                pause = min(OFTEN, 2 * pause)
        finally:
            _end(process)
            RUNNING.discard(process.pid)
        return process.returncode


def _limited(words: Sequence[str], limits: tuple[int, float]) -> list[str]:
    """Return the command with the limits of the system, where it has them."""
    if os.name != "posix" or not sys.executable:
        return list(words)
    size, seconds = limits
    return [sys.executable, "-I", "-S", "-c", LAUNCH, str(size), str(max(1, math.ceil(seconds))), *words]


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended; where possible its number stays taken, so that it names the group."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and its group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # macOS forbids to kill a group that has ended
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.kill()
    process.wait()


RUNNING: set[int] = set()
"""Programs that run at the moment, perhaps for several threads."""

PATIENCE = 5.0
"""Seconds in which orphans have to end once they are killed."""

GET_REAPER, SET_REAPER = 37, 36
"""``prctl`` on Linux: whether orphans among the descendants become children of this process."""


@contextmanager
def _adopted() -> Iterator[None]:
    """Kill at the end what a program has started and left behind.

    Raises
    ------
    DataError
        For processes that do not end.
    """
    control = _process_control()
    if control is None:
        yield
        return
    before, was_reaper = set(_children()), control(GET_REAPER, 0)
    control(SET_REAPER, 1)
    try:
        yield
    finally:
        left = _end_orphans(before)
        if not RUNNING:
            control(SET_REAPER, was_reaper)
    if left:
        names = ", ".join(map(str, sorted(left)))
        raise DataError(named_option("program"), f"has left processes that do not end: {names}", "end them")


def _process_control() -> Callable[[int, int], int] | None:
    """Return the system's ``prctl`` of a question or a setting and its value; None outside Linux."""
    if not sys.platform.startswith("linux") or not os.path.isdir("/proc/self"):
        return None
    import ctypes

    library = ctypes.CDLL(None)

    def control(what: int, value: int) -> int:
        answer = ctypes.c_int(value)
        library.prctl(what, ctypes.byref(answer) if what == GET_REAPER else value, 0, 0, 0)
        return answer.value

    return control


def _children() -> dict[int, int]:
    """Return the children of this process, and the session of each."""
    result = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stream:
            _, parent, _, session = stream.read().rpartition(b")")[2].split()[:4]
            if int(parent) == os.getpid():
                result[int(name)] = int(session)
    return result


def _end_orphans(before: set[int]) -> set[int]:
    """Kill the children that a program has left: new ones of another session that no thread waits for."""
    end = time.monotonic() + PATIENCE
    while True:
        own = os.getsid(0)
        left = {
            number
            for number, session in _children().items()
            if number not in before and number not in RUNNING and session != own
        }
        if not left or time.monotonic() > end:
            return left
        for number in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        for number in left:
            with suppress(ChildProcessError):
                os.waitpid(number, os.WNOHANG)
        time.sleep(FIRST)


@contextmanager
def _deferred_signals() -> Iterator[list[int]]:
    """Collect interrupts, ``SIGTERM`` and ``SIGHUP`` while a program runs; they take effect after its end."""
    received: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                handlers[number] = signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


SECONDS = 600
MOST_RUNS = 10_000_000
MOST_BYTES = 1 << 28
"""Of the reports of one answer."""

MOST_SHOWN = 1 << 14
"""Bytes at the end of the standard error in which its last line is looked for."""


def run_program(command: str, answers: Sequence[str], runs: int) -> dict[str, list[str]]:
    """Return the reports of a program for each answer, of ``runs`` runs.

    The program is started once for each answer. It reads that answer ``runs`` times, a line each, and writes
    a line for each. The command is split as a shell would, but no shell runs it. What the program has
    started ends with it; outside Linux, what it has started in its process group.

    Raises
    ------
    DataError
        When it cannot be started, fails, takes too long, or writes another number of lines.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DataError(
            named_option("program"), f"{command!r} cannot be read ({error})", "correct its quotes"
        ) from None
    if not words:
        raise DataError(named_option("program"), "is empty", "give the command that runs the program")
    if not 1 <= runs <= MOST_RUNS:
        raise DataError(
            named_option("runs"),
            f"{runs} is outside [1, {MOST_RUNS}]",
            "give the number of runs of each answer",
        )
    return {answer: _reports(words, answer, runs) for answer in answers}


def _reports(words: Sequence[str], answer: str, runs: int) -> list[str]:
    if "\n" in answer or "\r" in answer:
        raise DataError(named_option("answer"), "holds a line break", "give answers of one line")
    line = f"{answer}\n".encode()
    if len(line) * runs > MOST_BYTES:
        raise DataError(
            named_option("answer"),
            f"takes more than {MOST_BYTES} bytes in {runs} runs",
            "set fewer " + named_option("runs"),
        )
    with TemporaryFile() as answers, TemporaryFile() as out, TemporaryFile() as complaints:
        answers.write(line * runs)
        answers.seek(0)
        code = _ended(words, answers, out, complaints)
        out.seek(0)
        if code != 0:
            what = f"ended with exit code {code}{_last_line(complaints)}"
            raise DataError(named_option("program"), what, "run it on one answer to see why")
        try:
            lines = out.read().decode("utf-8").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError:
            raise DataError(
                named_option("program"), "wrote bytes that are not UTF-8", "write each report as text"
            ) from None
    if not lines[-1]:
        lines.pop()
    if len(lines) != runs:
        raise DataError(
            named_option("program"),
            f"wrote {counted(len(lines), 'line')} for {runs} answers",
            "write one line for each answer",
        )
    return lines


def _ended(words: Sequence[str], value: IO[bytes], out: IO[bytes], complaints: IO[bytes]) -> int:
    """Return the exit code of a program that ends in time and does not write without end."""
    end = time.monotonic() + SECONDS

    def is_modest() -> None:
        _require_modest(time.monotonic() > end, out, complaints)

    code = run_group(words, (value, out, complaints), (MOST_BYTES + 1, SECONDS), is_modest)
    _require_modest(code == -getattr(signal, "SIGXCPU", 0) != 0, out, complaints)
    return code


def _require_modest(late: bool, out: IO[bytes], complaints: IO[bytes]) -> None:
    if late:
        raise DataError(
            named_option("program"), f"took more than {SECONDS} seconds", "set fewer " + named_option("runs")
        )
    if max(os.fstat(stream.fileno()).st_size for stream in (out, complaints)) > MOST_BYTES:
        raise DataError(
            named_option("program"),
            f"wrote more than {MOST_BYTES} bytes for one answer",
            "write one line for each answer",
        )


def _last_line(complaints: IO[bytes]) -> str:
    """Return the last line that a program has written to its standard error, if any, after a colon."""
    complaints.seek(max(0, os.fstat(complaints.fileno()).st_size - MOST_SHOWN))
    lines = complaints.read(MOST_SHOWN).decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""
