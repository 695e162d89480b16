"""Errors of a method or of a solver that end one run, and not the program: which they are, and their text."""

from __future__ import annotations

import traceback
from pathlib import Path

from mechdesign.core.printable import printable

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of the package, above which places in its code are not named."""

CALLERS = tuple(str(PACKAGE / "core" / name) for name in ("solve.py", "compare.py"))
"""Files that only call methods: errors do not come from there."""

LONGEST = 400
"""Letters of an error's own text; some solvers print whole matrices."""


def is_failure(error: BaseException) -> bool:
    """Whether an error is a failure of the code that was run, and not the wish to end the program.

    Solvers written in Rust raise ``PanicException``, which does not derive from ``Exception``.

    Examples
    --------
    >>> is_failure(TypeError("x")), is_failure(KeyboardInterrupt())
    (True, False)
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def failure_text(error: BaseException) -> str:
    """Return an error as one line: its class, its text, and where in the package it came from.

    Examples
    --------
    >>> failure_text(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    text = printable(" ".join(str(error).split()))
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if len(line) > LONGEST:
        line = f"{line[:LONGEST]}..."
    place = _place(error)
    return f"{line} (in {place})" if place else line


def _place(error: BaseException) -> str:
    """Return the innermost line of the package that led to the error, or the first of a user's method."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in CALLERS]
    for frame in reversed(frames):
        path = Path(frame.filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.relative_to(PACKAGE.parent).as_posix()}, line {frame.lineno}"
    return f"{Path(frames[0].filename).name}, line {frames[0].lineno}" if frames else ""
