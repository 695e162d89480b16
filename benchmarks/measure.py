"""Clock, memory and number formats for the tables."""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmarks.rivals import isolated

Result = TypeVar("Result")

MIB = 1 << 20
NONE: Mapping[str, str] = {}


def best_of(function: Callable[[], Result], repeats: int = 5, enough: float = 2.0) -> tuple[Result, float]:
    """Return the last result and the least seconds of at most ``repeats`` calls, fewer after ``enough``."""
    best, spent = float("inf"), 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
        if spent >= enough:
            break
    return result, best


def peak_memory() -> int:
    """Return the most bytes of memory this process has held so far (its resident set).

    The kernel's record of this very program is preferred: ``getrusage`` counts what the parent process held
    when it started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True)
class _Weighed(Generic[Result]):
    """A function that also returns the peak memory of the process it ran in."""

    function: Callable[..., Result]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *arguments: Any, **options: Any) -> tuple[Result, int]:
        result = self.function(*arguments, **options)
        return result, peak_memory()


def weighed(
    limit: float, function: Callable[..., Result], *arguments: Any, **options: Any
) -> tuple[Result, int]:
    """Call a module's function in a process of its own; return its result and the process's peak bytes.

    Raises
    ------
    RivalUnavailable
        When it raises, dies or takes longer than ``limit`` seconds.
    """
    return isolated(limit, _Weighed(function), *arguments, **options)


def shown_seconds(seconds: float) -> str:
    """Return seconds with three significant digits."""
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:.0f}"


def shown_ratio(ratio: float) -> str:
    """Return a ratio with two or three significant digits."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def shown_mib(size: int) -> str:
    """Return bytes in MiB."""
    return f"{size / MIB:.0f}"


def nothing() -> None:
    """Do nothing but import numpy: what a process holds by itself."""
    importlib.import_module("numpy")


def interleaved(functions: Sequence[Callable[[], Any] | None], repeats: int) -> list[float | None]:
    """Return the least seconds of processor time of each function, run in turn; None for None."""
    best: list[float | None] = [None] * len(functions)
    for turn in range(repeats + 1):
        for place, function in enumerate(functions):
            if function is None:
                continue
            start = time.process_time()
            function()
            seconds, known = time.process_time() - start, best[place]
            if turn:  # the first run warms up
                best[place] = seconds if known is None else min(known, seconds)
    return best


def with_loops(call: Callable[[], Result], choice: str) -> Callable[[], Result]:
    """Return the same call with loops over reports compiled (``on``) or not (``off``)."""

    def run() -> Result:
        before = os.environ.get("MECHDESIGN_KERNELS")
        os.environ["MECHDESIGN_KERNELS"] = choice
        try:
            return call()
        finally:
            os.environ.pop("MECHDESIGN_KERNELS")
            if before is not None:
                os.environ["MECHDESIGN_KERNELS"] = before

    return run


def processor_seconds(
    commands: Sequence[Sequence[str]], repeats: int, warm: bool = True, variables: Mapping[str, str] = NONE
) -> list[float]:
    """Return the least seconds of processor time of each command; see :func:`least_seconds`."""
    return [processor for processor, _ in least_seconds(commands, repeats, warm, variables)]


def least_seconds(
    commands: Sequence[Sequence[str]], repeats: int, warm: bool = True, variables: Mapping[str, str] = NONE
) -> list[tuple[float, float]]:
    """Return the least seconds of the processor and of the clock of each command, run in turn.

    All have to succeed. The first run of each is not counted where they are ``warm``: what it compiles is
    kept, as in an installed package. ``variables`` are added to the environment.
    """
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings |= variables
    best = [(float("inf"), float("inf"))] * len(commands)
    for turn in range(0 if warm else 1, repeats + 1):
        for place, command in enumerate(commands):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(command, capture_output=True, env=settings)
            clock = time.perf_counter() - start
            if done.returncode:
                last = (done.stderr.decode(errors="replace").strip() or "no message").splitlines()[-1]
                raise RuntimeError(f"{' '.join(command[:4])}: exit code {done.returncode}: {last}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                best[place] = min(best[place][0], seconds), min(best[place][1], clock)
    return best
