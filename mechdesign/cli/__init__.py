"""The command line.

The whole in seconds: ``mechdesign demo``.
On models: ``mechdesign list | show | solve | compare | check | sweep | tradeoff``.
On mechanisms: ``mechdesign choose | build | audit | randomize | count | merge | estimate | run | ledger``.

Exit codes: 0 fine, 1 mismatch, failed certificate or infeasible, 2 bad input (one line, no traceback); 130
interrupted, 143 terminated, 129 hung up (one line, no traceback; processes that the command started end).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from mechdesign.cli.interrupts import Interrupts, interrupts_of

TYPE_CHECKING = False  # typing takes time in which an interrupt would be a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

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
