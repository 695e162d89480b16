"""Defaults by result: no default method may lose to another one that takes less than ten seconds."""

from __future__ import annotations

import contextlib
import csv
import math
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.defaults_grid import GRID, catalog_problems, problems
from mechdesign.core.certificate import OPTIMALITY
from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.core.problem import Method, Problem
from mechdesign.families import problem_classes
from mechdesign.show.tables import table
from mechdesign.solvers.solve import applicable_methods, solve

TITLE = "Defaults: the default method next to the best of the others"

RESULT = Path(__file__).parent / "results" / "defaults.csv"

ALLOWED = 1e-3
"""The part of its value that a default may lose; `frequency-oracle` has its own, ``max_excess``."""

OTHERS_SECONDS = 10
"""Seconds of processor time that another method may take."""

DEFAULT_SECONDS = 600
"""The same of a default."""

PROOF = "(its bound)"
"""What stands for the other methods where a bound leaves the default no more than is allowed."""

WALL = 8
"""How many times as long each may take by the clock: other programs may run."""

NOTES = """\
loss    the part of its value by which the default falls short of the best other method; inf without an answer
other   the best one, or the proven bound of the default where that leaves no more than is allowed;
        methods of the same class of mechanisms that take less than 10 s of processor time, whose constraints
        hold and whose privacy is as exact as that of the default; published formulas are not asked"""


@dataclass(frozen=True)
class Answer:
    """What a method answers within its time; a value of NaN is none.

    ``sound`` where all certificates that were asked for hold, ``exact`` where all are in exact arithmetic.
    """

    method: str
    status: str
    value: float
    seconds: float
    sound: bool
    exact: bool
    bound: float | None = None


Ask: TypeAlias = Callable[[Problem[Any], Method, int, bool], Answer]
"""``answer(problem, method, seconds, judging)``: with the last one certificates are asked for, which can take
longer than the method."""


@dataclass(frozen=True)
class Line:
    """A problem, its default, and the best other method."""

    problem: str
    default: str
    status: str
    value: float
    seconds: float
    other: str
    other_value: float
    other_seconds: float
    loss: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the default loses no more than is allowed."""
        return self.loss <= self.allowed


def run(quick: bool, only: Sequence[str] = ()) -> None:
    """Print the default and the best other method of each problem, losses first; keep all in the results.

    With ``only`` those of some classes of problems; their rows of the results are replaced.
    """
    for name in only:
        if name not in GRID:
            raise UnknownNameError("--only", f"no problem '{name}'", suggestion(name, GRID))
    print(NOTES)
    _import_solvers()
    cases = [*problems(quick, only), *(() if quick else catalog_problems(only))]
    lines = list(judged(cases, answer_within))
    lost = [line for line in lines if not line.holds]
    print(table([field.name for field in fields(Line)], [_cells(line) for line in [*lost, *worst(lines)]]))
    print(
        f"{len(cases)} problems, {len(lines)} with several answers, {len(lost)} losses beyond what is allowed"
    )
    if not quick:
        _keep(lines, only)


def _keep(lines: list[Line], only: Sequence[str]) -> None:
    """Write the results; rows of other classes of problems than ``only`` stay as they are."""
    rows = [{name: _shown(value) for name, value in asdict(line).items()} for line in lines]
    if only:
        models = {name for name, _ in catalog_problems(only)}
        with RESULT.open(encoding="utf-8", newline="") as stream:
            rows = merged(list(csv.DictReader(stream)), rows, only, models)
    with RESULT.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Line)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


Row: TypeAlias = dict[str, str]


def merged(before: list[Row], rows: list[Row], only: Sequence[str], models: Collection[str]) -> list[Row]:
    """Return the rows of a table with those of some classes of problems and models replaced.

    Examples
    --------
    >>> merged([{"problem": "a: 1"}, {"problem": "b: 1"}], [{"problem": "b: 2"}], ["b"], [])
    [{'problem': 'a: 1'}, {'problem': 'b: 2'}]
    """
    others = [
        row for row in before if row["problem"].split(":")[0] not in only and row["problem"] not in models
    ]
    return others + rows


def judged(cases: Iterable[tuple[str, Problem[Any]]], answer: Ask) -> Iterator[Line]:
    """Yield the judgement of every problem for which another method than the default has an answer."""
    for name, problem in cases:
        line = judgement(name, problem, answer, trusting=True)
        if line is not None:
            yield line


def judgement(name: str, problem: Problem[Any], answer: Ask, trusting: bool = False) -> Line | None:
    """Return the default and the best other method; None where no other method has an answer.

    With ``trusting``, where a proven bound leaves the default no more than is allowed, the bound stands for
    the other methods, and none of them is run.
    """
    first, *rest = applicable_methods(problem)
    rest = [method for method in rest if not method.scope]
    if not rest:
        return None
    default = answer(problem, first, DEFAULT_SECONDS, False)
    allowed = max(ALLOWED, getattr(problem, "max_excess", 0.0))
    sign = 1.0 if problem.sense == "min" else -1.0
    if trusting and default.bound is not None:
        lost = loss(sign * default.value, sign * default.bound)
        if lost <= allowed:
            proof = Answer(PROOF, "", default.bound, 0.0, True, True)
            return _line(name, default, proof, lost, allowed)
    others = [answer(problem, method, OTHERS_SECONDS, False) for method in rest]
    others = [other for other in others if math.isfinite(other.value)]
    others.sort(key=lambda other: sign * other.value)
    methods = {method.name: method for method in rest}
    for other in others:
        lost = loss(sign * default.value, sign * other.value)
        if lost > allowed and not could_be_default(problem, methods[other.method], first, answer):
            continue
        return _line(name, default, other, lost, allowed)
    return None


def _line(name: str, default: Answer, other: Answer, lost: float, allowed: float) -> Line:
    return Line(
        name,
        default.method,
        default.status,
        default.value,
        default.seconds,
        other.method,
        other.value,
        other.seconds,
        lost,
        allowed,
    )


def loss(value: float, other: float) -> float:
    """Return by which part of the larger one a value to be minimized is above another one; inf for NaN.

    Examples
    --------
    >>> loss(2.0, 1.0), loss(1.0, 2.0), loss(0.0, 0.0), loss(float("nan"), 1.0)
    (0.5, 0.0, 0.0, inf)
    """
    if math.isnan(value):
        return math.inf
    return max(0.0, value - other) / (max(abs(value), abs(other)) or 1.0)


def could_be_default(problem: Problem[Any], method: Method, first: Method, answer: Ask) -> bool:
    """Whether all that a method promises holds, as exactly as for the default."""
    judged = answer(problem, method, DEFAULT_SECONDS, True)
    return judged.sound and (judged.exact or not answer(problem, first, DEFAULT_SECONDS, True).exact)


def worst(lines: list[Line]) -> list[Line]:
    """Return of each class of problems the line with the largest loss that is allowed."""
    largest: dict[str, Line] = {}
    for line in lines:
        kind = line.problem.split(":")[0].split("/")[0]
        if line.holds and (kind not in largest or line.loss > largest[kind].loss):
            largest[kind] = line
    return list(largest.values())


def answer(problem: Problem[Any], method: Method, seconds: int, judging: bool) -> Answer:
    """Run a method here, however long it takes."""
    start = time.process_time()
    try:
        run = solve(problem, method)
        spent = time.process_time() - start
        asked = [item for item in run.certificates if item.property != OPTIMALITY] if judging else []
    except Exception as error:  # what a method raises is its answer
        return Answer(method.name, f"{type(error).__name__}: {error}", math.nan, 0.0, False, False)
    sound, exact = all(item.holds for item in asked), all(item.exact for item in asked)
    return Answer(method.name, run.status, run.value, spent, sound and run.found, exact, run.bound)


def answer_within(problem: Problem[Any], method: Method, seconds: int, judging: bool) -> Answer:
    """Run a method in a forked process that ends after so much of processor time."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    arguments = (sender, problem, method, seconds, judging)
    process = context.Process(target=_send, args=arguments, daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # idle threads of a library are no obstacle
        process.start()
    sender.close()
    slow = Answer(method.name, "too slow", math.nan, math.inf, False, False)
    try:
        received: Answer = receiver.recv() if receiver.poll(WALL * seconds) else slow
    except EOFError:  # ended at its limit
        return slow
    finally:
        process.kill()
        process.join()
        receiver.close()
    return received


def _send(sender: Connection, problem: Problem[Any], method: Method, seconds: int, judging: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        sender.send(answer(problem, method, seconds, judging))


def _import_solvers() -> None:
    """Import what every method would import in a process of its own."""
    for name in ("scipy.optimize", "scipy.sparse", "scipy.special", "cvxpy", "pulp"):
        __import__(name)
    problem_classes()


def _cells(line: Line) -> list[str]:
    return [_shown(value) for value in asdict(line).values()]


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
