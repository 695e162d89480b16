"""The command line.

On models: ``mechdesign list | show | solve | compare | check | sweep | tradeoff``.
On mechanisms: ``mechdesign choose | build | audit | randomize | estimate | run``.

Exit codes: 0 fine, 1 mismatch, failed certificate or infeasible, 2 bad input (one line, no traceback).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

OBEYING = 3.0
"""Seconds after an interrupt in which further ones change nothing: processes are being ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Examples
    --------
    >>> main(["solve", "response/zhou2019_survey", "--set", "epsilon=-1"])
    2
    """
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Interrupt())
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        if isinstance(signal.getsignal(signal.SIGINT), _Interrupt):  # Python forgets it before its own end
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("mechdesign: interrupted", file=sys.stderr)
        return 130


class _Interrupt:
    """Handles the interrupts of this process: who is impatient does not disturb the end of the work."""

    def __init__(self) -> None:
        self.last = -OBEYING

    def __call__(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if now - self.last >= OBEYING:
            self.last = now
            raise KeyboardInterrupt


def _main(arguments: Sequence[str] | None) -> int:
    # Imported here, so that an interrupt while they are imported is no traceback either.
    from mechdesign.cli.options import BAD_INPUT, FINE
    from mechdesign.cli.parser import parser
    from mechdesign.core.errors import MechDesignError
    from mechdesign.core.printable import printable

    _prepare_output()
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except MechDesignError as error:
        print(f"mechdesign: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output went away, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except (OSError, MemoryError, RecursionError) as error:
        print(f"mechdesign: {type(error).__name__}: {printable(error)}", file=sys.stderr)
        return BAD_INPUT


def _prepare_output() -> None:
    """See to it that printing cannot fail: no output at all, or characters the terminal does not know."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
