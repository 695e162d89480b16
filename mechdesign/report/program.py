"""Run a foreign program that maps answers to reports: a line with an answer in, a line with a report out."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from mechdesign.core.errors import DataError

SECONDS = 600
MOST_RUNS = 10_000_000


def run_program(command: str, answers: Sequence[str], runs: int) -> dict[str, list[str]]:
    """Return the reports of a program for each answer, of ``runs`` runs.

    The program is started once for each answer. It reads that answer ``runs`` times, a line each, and writes
    a line for each. The command is split as a shell would, but no shell runs it.

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
    try:
        done = subprocess.run(
            list(words), input=f"{answer}\n" * runs, capture_output=True, text=True, encoding="utf-8",
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        raise DataError("--program", f"{words[0]}: {error.strerror}", "give a command that runs") from None
    except subprocess.TimeoutExpired:
        raise DataError("--program", f"took more than {SECONDS} seconds", "set fewer --runs") from None
    except UnicodeDecodeError:
        raise DataError("--program", "wrote bytes that are not UTF-8", "write each report as text") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        last = f": {said[-1]}" if said else ""
        raise DataError(
            "--program", f"ended with exit code {done.returncode}{last}", "run it on one answer to see why"
        )
    lines = done.stdout.splitlines()
    if len(lines) != runs:
        raise DataError(
            "--program", f"wrote {len(lines)} lines for {runs} answers", "write one line for each answer"
        )
    return lines
