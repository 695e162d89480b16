"""The command line.

The whole in seconds: ``mechdesign demo``.
On models: ``mechdesign list | show | solve | compare | check | sweep | tradeoff``.
On mechanisms: ``mechdesign choose | build | audit | randomize | count | merge | estimate | run | ledger``.

Exit codes: 0 fine, 1 mismatch, failed certificate or infeasible, 2 bad input (one line, no traceback); 130
interrupted, 143 terminated, 129 hung up (one line, no traceback; processes that the command started end).

What ends a command early arrives at any time: an interrupt from a terminal, SIGTERM from schedulers,
``timeout`` and ``docker stop``, SIGHUP from a terminal that is closed. All are handled in the same way. Here
nothing is imported that Python has not imported already, or that takes time: until the handler is set, an
interrupt is a traceback of Python's own.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time

try:  # what the module signal is made of, without the enumerations that take it 6 ms to make
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:  # another Python than CPython
    import signal

TYPE_CHECKING = False  # typing takes time in which an interrupt would be a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

GARBAGE = 100_000
"""New objects after which garbage is looked for: importing modules makes many objects, and no garbage."""

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""How many threads OpenBLAS has: the first that is set.

By itself it has one for each core. They wait for each other in small steps, and where another process has one
of the cores, a check takes ten times as much of the processor. Where nobody has said how many, there is one.
"""

IDLE = ("OPENBLAS_THREAD_TIMEOUT", "20")
"""Threads of OpenBLAS without work look for some during 2^20 cycles, then sleep.

By itself it lets them look during 2^26: most of a core, for nothing, where small matrices follow one another.
"""


def run() -> NoReturn:
    """Run the command line of this process, and end it.

    What is registered for the end is done, and the outputs are complete. Python would then take apart all
    that it has made, which takes as long as reading half a million rows; the operating system takes the
    memory back at once. Where other threads, a profiler or a debugger wait for the end, it comes as always.
    """
    code = main()
    if _is_awaited():
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # Python says so, with its own exit code
        sys.exit(code)
    os._exit(code)


def _is_awaited() -> bool:
    """Whether something else of this process goes on when the command has ended."""
    threading = sys.modules.get("threading")  # where nothing has imported it, there is one thread
    threads = threading is not None and threading.active_count() > 1
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = [] if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return threads or any((sys.getprofile(), sys.gettrace(), sys.flags.inspect, *tools))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Examples
    --------
    >>> main(["solve", "response/zhou2019_survey", "--set", "epsilon=-1"])
    2
    """
    interrupts, usual = interrupts_of(arguments), gc.get_threshold()
    if arguments is None:  # in another program, its threads are its own affair
        if not any(os.environ.get(name) for name in THREADS):
            os.environ[THREADS[0]] = "1"
        os.environ.setdefault(*IDLE)
    try:
        gc.set_threshold(GARBAGE, *usual[1:])
        return _main(arguments, interrupts)
    except BaseException as error:
        # What an interrupt has torn apart can raise anything.
        if not isinstance(error, KeyboardInterrupt) and not interrupts.received:
            raise
        interrupts.end()
        try:  # noqa: SIM105 (contextlib takes time to import)
            print("; ".join([interrupts.line, *getattr(error, "__notes__", ())]), file=sys.stderr, flush=True)
        except OSError:  # the terminal is gone
            pass
        return interrupts.code
    finally:
        interrupts.end()
        if arguments is None:  # the process ends, and need not look for garbage among all it has made
            gc.freeze()
        gc.set_threshold(*usual)


def _main(arguments: Sequence[str] | None, interrupts: Interrupts) -> int:
    # Imported here, so that an interrupt while they are imported is not a traceback either.
    from mechdesign.cli.parser import BAD_INPUT, FINE, parser
    from mechdesign.core.errors import MechDesignError, missing_from_light, printable

    _prepare_output()
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = parser(words[0] if words else "").parse_args(words)
    interrupts.begin()
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except Exception as error:
        if interrupts.received:
            raise
        if isinstance(error, MechDesignError):
            print(f"mechdesign: {error.for_shell()}", file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, ImportError) and (missing := missing_from_light(error)):
            print(f"mechdesign: {missing}", file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, BrokenPipeError):  # the reader of our output went away, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FINE
        if isinstance(error, MemoryError):
            reason = f" ({printable(error)})" if str(error) else ""
            remedy = "give it more, make the problem smaller, or use fewer --jobs"
            print(f"mechdesign: not enough memory{reason}; {remedy}", file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, (OSError, RecursionError)):
            print(f"mechdesign: {type(error).__name__}: {printable(error)}", file=sys.stderr)
            return BAD_INPUT
        raise


def _prepare_output() -> None:
    """See to it that printing cannot fail: no output at all, or characters the terminal does not know."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


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
    are not written in Python may not survive one. A second interrupt does not disturb the end of the work;
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
