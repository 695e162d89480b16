"""Pictures of a survey: who is asked what, and how good each result will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Heat, Line

if TYPE_CHECKING:
    from mechdesign.mechanisms.survey.survey import Survey

MOST_LINES = 10
"""Results whose errors are drawn; more lines cannot be told apart."""

MOST_DESIGNS = 40


def survey_figures(survey: Survey) -> list[Figure]:
    """Return who is asked what, and the expected errors over the number of users."""
    return [_asked(survey), _errors(survey)]


def _asked(survey: Survey) -> Figure:
    """Return a row for each design: the epsilon with which it asks each question."""
    order = sorted(range(survey.count), key=survey.share, reverse=True)[:MOST_DESIGNS]
    table = np.zeros((len(order), len(survey.questions)))
    for row, number in enumerate(order):
        for part in survey.designs[number].parts:
            table[row, list(part.places)] = part.epsilon
    names = tuple(f"{survey.share(number):.1%}" for number in order)
    panel = Panel(
        "question",
        "share of the users",
        [Heat(table, label="epsilon of the report")],
        x_names=survey.questions.names,
        y_names=names,
    )
    more = "" if survey.count <= MOST_DESIGNS else f" The {MOST_DESIGNS} most frequent of {survey.count}."
    caption = f"A row is a design: what its users report together. Dark questions are not asked.{more}"
    return Figure("Who is asked what", [panel], caption)


def _errors(survey: Survey) -> Figure:
    users = np.geomspace(100, 1_000_000, 13).round().astype(int)
    table = np.array([list(survey.errors(int(count)).values()) for count in users])
    told = [place for place in range(table.shape[1]) if np.isfinite(table[:, place]).all()][:MOST_LINES]
    lines = [Line(users, table[:, place], label=survey.names()[place]) for place in told]
    panel = Panel("users", "standard error", lines, x_scale="log", y_scale="log")
    caption = "Of shares the root mean square over the categories, of a mean in the units of the number."
    return Figure("Expected errors of the results", [panel], caption)
