"""Run a foreign program that maps answers to reports: a line with an answer in, a line with a report out."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import IO

from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.report.process_group import run_group

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
        raise DataError("--program", f"{command!r} cannot be read ({error})", "correct its quotes") from None
    if not words:
        raise DataError("--program", "is empty", "give the command that runs the program")
    if not 1 <= runs <= MOST_RUNS:
        raise DataError(
            "--runs", f"{runs} is outside [1, {MOST_RUNS}]", "give the number of runs of each answer"
        )
    return {answer: _reports(words, answer, runs) for answer in answers}


def _reports(words: Sequence[str], answer: str, runs: int) -> list[str]:
    if "\n" in answer or "\r" in answer:
        raise DataError("--answer", "holds a line break", "give answers of one line")
    line = f"{answer}\n".encode()
    if len(line) * runs > MOST_BYTES:
        raise DataError("--answer", f"takes more than {MOST_BYTES} bytes in {runs} runs", "set fewer --runs")
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as complaints:
        given.write(line * runs)
        given.seek(0)
        code = _ended(words, given, out, complaints)
        out.seek(0)
        if code != 0:
            what = f"ended with exit code {code}{_last_line(complaints)}"
            raise DataError("--program", what, "run it on one answer to see why")
        try:
            lines = out.read().decode("utf-8").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError:
            raise DataError(
                "--program", "wrote bytes that are not UTF-8", "write each report as text"
            ) from None
    if not lines[-1]:
        lines.pop()
    if len(lines) != runs:
        raise DataError(
            "--program",
            f"wrote {counted(len(lines), 'line')} for {runs} answers",
            "write one line for each answer",
        )
    return lines


def _ended(words: Sequence[str], given: IO[bytes], out: IO[bytes], complaints: IO[bytes]) -> int:
    """Return the exit code of a program that ends in time and does not write without end."""
    end = time.monotonic() + SECONDS

    def is_modest() -> None:
        _require_modest(time.monotonic() > end, out, complaints)

    code = run_group(words, (given, out, complaints), (MOST_BYTES + 1, SECONDS), is_modest)
    _require_modest(code == -getattr(signal, "SIGXCPU", 0) != 0, out, complaints)
    return code


def _require_modest(late: bool, out: IO[bytes], complaints: IO[bytes]) -> None:
    if late:
        raise DataError("--program", f"took more than {SECONDS} seconds", "set fewer --runs")
    if max(os.fstat(stream.fileno()).st_size for stream in (out, complaints)) > MOST_BYTES:
        raise DataError(
            "--program",
            f"wrote more than {MOST_BYTES} bytes for one answer",
            "write one line for each answer",
        )


def _last_line(complaints: IO[bytes]) -> str:
    """Return the last line that a program has written to its standard error, if any, after a colon."""
    complaints.seek(max(0, os.fstat(complaints.fileno()).st_size - MOST_SHOWN))
    lines = complaints.read(MOST_SHOWN).decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""
