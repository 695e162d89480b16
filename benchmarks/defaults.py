"""Defaults by result: no default method may lose to another one that takes less than ten seconds."""

from __future__ import annotations

import csv
import os
import sys
import time
import math
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.defaults_grid import catalog_problems, problems
from mechdesign.core.compare import compare
from mechdesign.core.method import Method
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.solve import choose_method, methods_of, solve
from mechdesign.core.text import table

TITLE = "Defaults: the default method next to the best of the others"

RESULT = Path(__file__).parent / "results" / "defaults.csv"

ALLOWED = 1e-3
"""The part of its value that a default may lose."""

OTHERS_SECONDS = 10
"""Seconds of processor time that another method may take."""

DEFAULT_SECONDS = 120
WALL = 8
"""The same of a default."""


@dataclass(frozen=True)
class Line:
    """A problem, its default, and the best other method: ``loss`` is the part of the value that is lost."""

    problem: str
    default: str
    status: str
    value: float
    seconds: float
    other: str
    other_value: float
    other_seconds: float
    loss: float


def is_candidate(run: Solution[Any]) -> bool:
    """Whether a run is an answer that could be the default's: all constraints hold, of the same class."""
    sound = all(item.holds for item in run.certificates if item.property != "optimality")
    return run.found and run.kind != "published" and not run.scope and sound


def loss(problem: Problem[Any], value: float, other: float) -> float:
    """Return the part of the value by which one falls short of another; 0 where it does not."""
    short = (other - value) if problem.sense == "max" else (value - other)
    largest = max(abs(value), abs(other))
    return max(0.0, short) / largest if largest > 0.0 else 0.0


def judged(name: str, problem: Problem[Any]) -> Line | None:
    """Return the default and the best other method; None where no other method gives an answer."""
    methods = [method for method in methods_of(problem) if method.kind != "published"]
    applicable = [method for method in methods if method.why_not(problem) is None]
    if len(applicable) < 2:
        return None
    default = answer(problem, applicable[0], DEFAULT_SECONDS)
    others = [answer(problem, method, OTHERS_SECONDS) for method in applicable[1:]]
    rivals = [other for other in others if other.sound]
    if not rivals:
        return None
    best = (max if problem.sense == "max" else min)(rivals, key=lambda other: other.value)
    lost = loss(problem, default.value, best.value) if default.sound else math.inf
    return Line(name, default.method, default.status, default.value, default.seconds,
                best.method, best.value, best.seconds, lost)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What a method answered within its time; ``sound`` where it could be the default's answer."""

    method: str
    status: str
    value: float
    seconds: float
    sound: bool


def answer(problem: Problem[Any], method: Method, limit: int) -> Answer:
    """Run a method in a forked process that may take ``limit`` seconds of processor time."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, problem, method, limit), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(WALL * limit):
            return Answer(method.name, "too slow", math.nan, math.inf, False)
        outcome: Answer = receiver.recv()
    except EOFError:  # killed at the limit
        return Answer(method.name, "too slow", math.nan, math.inf, False)
    finally:
        process.kill()
        process.join()
        receiver.close()
    return outcome


def _answer(sender: Connection, problem: Problem[Any], method: Method, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")
    start = time.process_time()
    try:
        run = solve(problem, method)
        seconds = time.process_time() - start
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        sender.send(Answer(method.name, run.status, run.value, seconds, is_candidate(run)))
    except Exception as error:  # the method failed: that is an answer, too
        sender.send(Answer(method.name, f"{type(error).__name__}: {error}", math.nan, math.inf, False))


def lines(cases: Iterable[tuple[str, Problem[Any]]]) -> Iterator[Line]:
    """Yield the judgement of every problem that has several methods."""
    for name, problem in cases:
        line = judged(name, problem)
        if line is not None:
            yield line


def run(quick: bool) -> None:
    """Print the losses, and write all lines to the results."""
    cases = [*problems(quick), *(() if quick else catalog_problems())]
    every = []
    for number, line in enumerate(lines(cases)):
        every.append(line)
        if line.loss > ALLOWED:
            print(f"{line.loss:9.4f} {line.problem}: {line.default} {line.value:.6g} [{line.status}] {line.seconds:.2f} s, "
                  f"{line.other} {line.other_value:.6g} {line.other_seconds:.2f} s", flush=True)
    print(f"{len(every)} problems with several methods")
