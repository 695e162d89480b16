"""Run a demonstration: every method on its model, then the mechanism of the optimum on shipped data.

The data of the demonstration: made up by the generator below, and shipped as CSV files next to it.

Nobody was asked. The shares are of the order that surveys find; the answers depend on each other, because two
groups of people give them with different probabilities. ``python -m mechdesign.report.demo.running`` writes
the files again; a test compares them with what the generator gives.

An auction and six design problems, as data: models, the tables they run on, what is asked.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from mechdesign.catalog.load import Model, load_model
from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import operation_of
from mechdesign.core.solution import Solution
from mechdesign.data.about import About
from mechdesign.data.data_set import open_table
from mechdesign.data.data_settings import DataSettings
from mechdesign.data.intake import Intake, length
from mechdesign.data.writing import write_blocks
from mechdesign.report.compare import Comparison, compare
from mechdesign.show.figure import Figure, design_figures
from mechdesign.solvers.solve import methods_of

FOLDER = Path(__file__).resolve().parent / "data"
SEED = 1
PEOPLE, SELLERS, BIDDERS, ROUNDS = 6000, 300, 40, 100

DRINKING = ("never", "yearly", "monthly", "weekly", "daily")
GROUPS = (
    # share of the people, shares of DRINKING, mean age, and shares of yes to each question of HABITS
    (0.7, (0.60, 0.20, 0.10, 0.07, 0.03), 52.0, (0.12, 0.90, 0.80, 0.55, 0.60)),
    (0.3, (0.35, 0.25, 0.20, 0.14, 0.06), 34.0, (0.40, 0.60, 0.55, 0.35, 0.25)),
)
HABITS = ("smokes", "insured", "drives", "exercises", "parent")
AGES = (18, 90)

Rows = list[list[Any]]


def _people(random: Random) -> Rows:
    """Return the header and a row a person: how often it drinks alone, its age, five habits."""
    rows: Rows = [["drinks_alone", "age", *HABITS]]
    for _ in range(PEOPLE):
        _, drinking, mean_age, habits = GROUPS[_random_place(random, [group[0] for group in GROUPS])]
        age = min(max(round(random.gauss(mean_age, 14.0)), AGES[0]), AGES[1])
        answers = ["yes" if random.random() < share else "no" for share in habits]
        rows.append([DRINKING[_random_place(random, drinking)], age, *answers])
    return rows


def sellers(random: Random) -> Rows:
    """Return the header and a row a seller of data: the price of one unit of epsilon, a third of each."""
    prices = [1.0 + number % 3 for number in range(SELLERS)]
    random.shuffle(prices)
    return [["price"], *([price] for price in prices)]


def bids(random: Random) -> Rows:
    """Return the header and a row a bidder: what taking part costs it, and what a unit of epsilon does."""
    rows: Rows = [["user", "sensing", "privacy", "tasks"]]
    for number in range(BIDDERS):
        costs = [round(random.uniform(1.0, 2.0), 3) for _ in range(2)]
        rows.append([f"user{number}", *costs, "0"])
    return rows


def queries(_: Random) -> Rows:
    """Return the header and the queries of the two users of the model ``spectrum/occupied_overlap``."""
    return [
        ["user", "channel", "x", "y", "radius", "privacy", "epsilon"],
        ["user0", "channel", -7.0, -8.0, 4.0, 0.5, 0.4],
        ["user1", "channel", 0.0, -9.0, 3.0, 0.5, 0.4],
    ]


def rounds(random: Random) -> Rows:
    """Return the header and the bids of two bidders in rounds, drawn as the model states their values."""
    values = [1] * 2 + [2] * 4 + [3, 6]
    return [["bidder1", "bidder2"], *([random.choice(values) for _ in range(2)] for _ in range(ROUNDS))]


GENERATORS = {"people": _people, "sellers": sellers, "bids": bids, "queries": queries, "rounds": rounds}


def data_file(name: str) -> Path:
    """Return the path of a shipped table.

    Examples
    --------
    >>> data_file("people").is_file()
    True
    """
    return FOLDER / f"{name}.csv"


def write_all(folder: Path = FOLDER) -> None:
    """Write every table that the generator makes into a folder."""
    for name, generator in GENERATORS.items():
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(generator(Random(SEED)))


def _random_place(random: Random, shares: Sequence[float]) -> int:
    """Return a number from 0, drawn with these probabilities."""
    point, total = random.random(), 0.0
    for number, share in enumerate(shares):
        total += share
        if point < total:
            return number
    return len(shares) - 1


if __name__ == "__main__":
    write_all()


@dataclass(frozen=True)
class DemoQuestion:
    """Question of the demonstration, with its true value: a share of the rows, or a mean.

    Attributes
    ----------
    text : str
    columns : tuple of str
    answers : tuple of str
        One for each column: the share of the rows that have all of them. Empty: the mean of the column.
    """

    text: str
    columns: tuple[str, ...]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class DemoStep:
    """One operation of the mechanism: what it is called, what it reads, the options.

    Attributes
    ----------
    operation : str
    table : str
        A shipped table, or the operation of an earlier step whose output this one reads.
    options : mapping
        A ``state`` is the name of a file in the folder of the demonstration.
    """

    operation: str
    table: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Demonstration:
    """One design problem: the shipped model that states it, and how its mechanism is tried.

    Attributes
    ----------
    name : str
    model : str
    steps : tuple of DemoStep
    questions : tuple of DemoQuestion
        What is read from the estimate of the last step, next to the truth.
    columns : tuple of str
        The columns of people's data, where the mechanism has to know them.
    range : tuple of (low, high), optional
        Of their numbers.
    """

    name: str
    model: str
    steps: tuple[DemoStep, ...]
    questions: tuple[DemoQuestion, ...] = ()
    columns: tuple[str, ...] = ()
    range: tuple[tuple[float, float], ...] = ()


RANDOMIZED = DemoStep("randomize", "people", {"seed": SEED})
SURVEY = (RANDOMIZED, DemoStep("estimate", "randomize"))

DEMONSTRATIONS = (
    Demonstration(
        "item auction",
        "incentives/auction_irregular",
        (DemoStep("run", "rounds", {"seed": SEED}),),
    ),
    Demonstration(
        "response",
        "response/survey_skewed",
        SURVEY,
        (
            DemoQuestion("never drinks alone", ("drinks_alone",), ("never",)),
            DemoQuestion("drinks alone weekly", ("drinks_alone",), ("weekly",)),
        ),
        ("drinks_alone",),
    ),
    Demonstration(
        "mean",
        "mean/rcp2023_single",
        SURVEY,
        (DemoQuestion("mean age", ("age",)),),
        ("age",),
        ((18.0, 90.0),),
    ),
    Demonstration("contract", "contract/three_types", (DemoStep("choose", "sellers"),)),
    Demonstration(
        "auction",
        "auction/accuracy",
        (DemoStep("step", "bids", {"state": "auction_season.json", "slot": 1}),),
    ),
    Demonstration(
        "spectrum",
        "spectrum/occupied_overlap",
        (DemoStep("answer", "queries", {"state": "spectrum_state.json"}),),
    ),
    Demonstration(
        "marginal views",
        "marginals/five_habits",
        (
            RANDOMIZED,
            DemoStep("estimate", "randomize", {"marginal": ["smokes,insured", "drives,parent"], "raw": True}),
        ),
        (
            DemoQuestion("smokes and insured", ("smokes", "insured"), ("yes", "yes")),
            DemoQuestion("drives, no parent", ("drives", "parent"), ("yes", "no")),
        ),
        ("smokes", "insured", "drives", "exercises", "parent"),
    ),
)


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
    model : Model
        The one that states the problem.
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
    model: Model
    mechanism: Mechanism | None
    file: str
    written: tuple[Written, ...]
    answers: tuple[Answered, ...]
    figures: tuple[Figure, ...]

    @cached_property
    def comparison(self) -> Comparison:
        """Every method on the model; computed when first asked for, while pictures are drawn."""
        return compare(self.model.problem, self.model.methods or None)

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


def best_solution(model: Model) -> Solution | None:
    """Return the optimum of the first analytic method that proves one, else of a solver; None without any."""
    for method in methods_of(type(model.problem)):
        if method.kind == "analytic" and method.name in (model.methods or (method.name,)):
            solution = optimum(compare(model.problem, [method.name]), "analytic")
            if solution is not None:
                return solution
    return optimum(compare(model.problem, model.methods or None), "numeric")


def demonstrate(demonstration: Demonstration, folder: Path) -> Demonstrated:
    """Solve the model, save the mechanism of the optimum, and run it on shipped data."""
    model = load_model(demonstration.model)
    solution = best_solution(model)
    if solution is None:
        return Demonstrated(demonstration, model, None, "", (), (), ())
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
        model,
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
    tables = getattr(result, "tables", (result,))
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
    tables = getattr(result, "tables", (result,))
    estimate = next(
        table for table in tables if getattr(table, "attributes", question.columns) == question.columns
    )
    if not question.answers:
        return float(estimate.value), float(estimate.standard_error)
    place = list(estimate.as_json()["categories"]).index(", ".join(question.answers))
    return float(np.ravel(estimate.value)[place]), float(np.ravel(estimate.standard_error)[place])
