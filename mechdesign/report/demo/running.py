"""Run a demonstration: every method on its model, then the mechanism of the optimum on shipped data."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.catalog.data import DataSettings
from mechdesign.catalog.load import load_model
from mechdesign.collect.about import About
from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import operation_of
from mechdesign.core.compare import Comparison, compare
from mechdesign.core.solution import Solution
from mechdesign.core.tables import length
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import Intake
from mechdesign.data.writing import write_blocks
from mechdesign.report.demo.data import data_file
from mechdesign.report.demo.table import Demonstration, DemoQuestion, DemoStep
from mechdesign.show.figure import Figure, design_figures

TOO_FAR = 5.0
"""Standard errors; a correct estimate is off by more about once in two million."""


@dataclass(frozen=True)
class Answered:
    """A question with the truth of the data and the estimate from the reports."""

    question: DemoQuestion
    truth: float
    estimate: float
    standard_error: float

    @property
    def errors_off(self) -> float:
        """By how many standard errors the estimate misses the truth."""
        return abs(self.estimate - self.truth) / self.standard_error


@dataclass(frozen=True)
class Written:
    """A table that an operation wrote: its name in the folder, what it was made from, rows in and out."""

    file: str
    operation: str
    rows: int
    rows_read: int
    source: str


@dataclass(frozen=True, eq=False)
class Demonstrated:
    """Result of a demonstration.

    Attributes
    ----------
    demonstration : Demonstration
    title : str
        Of the model.
    comparison : Comparison
        Every method on the model.
    mechanism : Mechanism or None
        Built from the optimum, the analytic one if there is one, and loaded from its file; None where no
        method found an optimum.
    file : str
        The mechanism file, in the folder; empty without a mechanism.
    written : tuple of Written
        The tables that its operations wrote.
    answers : tuple of Answered
    figures : tuple of Figure
        Of the estimates, then of the design.
    """

    demonstration: Demonstration
    title: str
    comparison: Comparison
    mechanism: Mechanism | None
    file: str
    written: tuple[Written, ...]
    answers: tuple[Answered, ...]
    figures: tuple[Figure, ...]

    @property
    def analytic(self) -> Solution | None:
        """The first run of a closed form or an exact algorithm that proves its optimum."""
        return optimum(self.comparison, "analytic")

    @property
    def numeric(self) -> Solution | None:
        """The first run of a solver that proves its optimum."""
        return optimum(self.comparison, "numeric")

    @property
    def failures(self) -> tuple[str, ...]:
        """Methods that failed, and each kind of method that found no optimum, as a line each."""
        pairs = (("analytic", self.analytic), ("numeric", self.numeric))
        missing = [f"no {kind} method has found an optimum" for kind, run in pairs if run is None]
        return (*self.comparison.failures, *missing)

    @property
    def bound(self) -> float:
        """The tightest bound that any method has proven; the methods shown have one each."""
        best = self.comparison.best_bound
        return math.nan if best is None else best

    @property
    def passed(self) -> bool:
        """Whether methods agree, none failed, certificates hold, and estimates are within five errors."""
        return (
            self.comparison.agree
            and not self.failures
            and self.mechanism is not None
            and all(item.holds for item in self.mechanism.certificates())
            and all(answer.errors_off < TOO_FAR for answer in self.answers)
        )


def optimum(comparison: Comparison, kind: str) -> Solution | None:
    """Return the first run of a kind that claims an optimum, or None."""
    return next((run for run in comparison.judged if run.kind == kind and run.claims_optimality), None)


def demonstrate(demonstration: Demonstration, folder: Path) -> Demonstrated:
    """Solve the model by every method, save the mechanism of the optimum, and run it on shipped data."""
    model = load_model(demonstration.model)
    comparison = compare(model.problem, model.methods or None)
    solution = optimum(comparison, "analytic") or optimum(comparison, "numeric")
    if solution is None:
        return Demonstrated(demonstration, model.title, comparison, None, "", (), (), ())
    settings = DataSettings(Intake(demonstration.columns), demonstration.range)
    file = f"{demonstration.name.replace(' ', '_')}.json"
    about = About(model.title, id=f"demo-{Path(file).stem}")
    settings.applied(solution.mechanism()).with_about(about).save(folder / file)
    mechanism = _loaded(folder / file)
    outputs: dict[str, Written] = {}
    result: Any = None
    for step in demonstration.steps:
        result = _ran(mechanism, step, folder, file, outputs)
    people = _columns(data_file("people")) if demonstration.questions else {}
    return Demonstrated(
        demonstration,
        model.title,
        comparison,
        mechanism,
        file,
        tuple(outputs.values()),
        tuple(_answered(question, people, result) for question in demonstration.questions),
        tuple([*_figures(result), *design_figures(model.problem, solution)]),
    )


def _loaded(path: Path) -> Mechanism:
    from mechdesign.collect import load_mechanism

    return load_mechanism(path)


def _ran(mechanism: Mechanism, step: DemoStep, folder: Path, file: str, outputs: dict[str, Written]) -> Any:
    """Run an operation on a shipped table or an earlier output; return its result unless it is a table."""
    operation = operation_of(mechanism.operations(), step.operation, file)
    options = dict(step.options)
    if "state" in options:
        options["state"] = str(folder / options["state"])
    earlier = outputs.get(step.table)
    path = data_file(step.table) if earlier is None else folder / earlier.file
    result = operation.run([open_table(path)], operation.settings(options))
    if not operation.gives:
        return result
    name = f"{Path(file).stem}_{step.operation}.csv"
    rows = write_blocks(folder / name, result, operation.private)
    outputs[step.operation] = Written(name, step.operation, rows, _rows(path), path.name)
    return None


def _rows(path: Path) -> int:
    table = open_table(path)
    return sum(length(block) for block in table.blocks(list(table.columns)))


def _columns(path: Path) -> dict[str, list[str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _figures(result: Any) -> list[Figure]:
    tables = getattr(result, "found", (result,))
    return [figure for table in tables if hasattr(table, "figures") for figure in table.figures()]


def _answered(question: DemoQuestion, people: dict[str, list[str]], result: Any) -> Answered:
    value, error = _estimated(question, result)
    return Answered(question, truth(question, people), value, error)


def truth(question: DemoQuestion, people: dict[str, list[str]]) -> float:
    """Return the true value: the mean of a column, or the share of the rows with these answers."""
    columns = [people[name] for name in question.columns]
    if not question.answers:
        return float(np.mean([float(value) for value in columns[0]]))
    rows = list(zip(*columns, strict=True))
    return rows.count(question.answers) / len(rows)


def _estimated(question: DemoQuestion, result: Any) -> tuple[float, float]:
    """Return the estimate of a question and its standard error, from a result or from one of its tables."""
    tables = getattr(result, "found", (result,))
    found = next(
        table for table in tables if getattr(table, "attributes", question.columns) == question.columns
    )
    if not question.answers:
        return float(found.value), float(found.standard_error)
    place = list(found.as_json()["categories"]).index(", ".join(question.answers))
    return float(np.ravel(found.value)[place]), float(np.ravel(found.standard_error)[place])
