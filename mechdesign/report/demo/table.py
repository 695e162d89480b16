"""The six design problems of the demonstration, as data: models, the tables they run on, what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
        What is read from the estimate of the last step, beside the truth.
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


SEED = 1
"""The demonstration is repeatable, so its reports are not private; without a seed they would be."""

RANDOMIZED = DemoStep("randomize", "people", {"seed": SEED})
SURVEY = (RANDOMIZED, DemoStep("estimate", "randomize"))

DEMONSTRATIONS = (
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
