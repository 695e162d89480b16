"""The page of results: tables and pictures of estimates, how they were made, and what was promised."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import decimals_of, printable
from mechdesign.report.page.mechanism import (
    certificate_rows,
    figure_values,
    limits_in_words,
    privacy_in_words,
)
from mechdesign.report.page.render import rendered
from mechdesign.show.figure import Figure
from mechdesign.show.panels import ANYTHING, SHARE, cut_ends

MOST_ROWS = 300
"""Rows of a table on the page."""

HEADINGS = {
    "category": "answer",
    "estimate": "estimate",
    "standard_error": "standard error",
    "predicted_error": "expected error",
    "low": "95% low",
    "high": "95% high",
}
"""The columns of a tidy result that the page shows, and what they are called there."""


@dataclass(frozen=True)
class Estimation:
    """Estimates on a page, with their files and their command.

    Attributes
    ----------
    result : estimate
        With ``figures`` and ``tidy``; one that has no ``tidy`` is shown as it is printed.
    operation : str
        The operation of the mechanism that gave it.
    mechanism : str
        The mechanism's file.
    reports : sequence of str
        The files of reports.
    options : sequence of str
        Further words of the command.
    population : bool
        Whether the estimates are of a population that the users were drawn from.
    """

    result: Any
    operation: str
    mechanism: str
    reports: Sequence[str]
    options: Sequence[str] = ()
    population: bool = False

    @property
    def command(self) -> str:
        """The command line that prints the same numbers."""
        start = ["mechdesign", "estimate", self.mechanism]
        if self.operation != "estimate":
            start = ["mechdesign", "run", self.mechanism, self.operation]
        return shlex.join([*start, *self.reports, *self.options])


def results_page(mechanism: Mechanism, estimation: Estimation, version: str) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    mechanism : Mechanism
        Audited again for the page.
    estimation : Estimation
    version : str
        Of the toolkit.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> duchi = Duchi(1.0, 0, 100).described(question="How old are you?")
    >>> ages = duchi.estimate(duchi.randomize([30, 50] * 500, rng=1))
    >>> page = results_page(duchi, Estimation(ages, "estimate", "age.json", ["age.csv"]), "0.1.0")
    >>> "<h1>How old are you?</h1>" in page, "mechdesign estimate age.json age.csv" in page
    (True, True)
    """
    certificates = mechanism.certificates()
    figures = _figures(estimation.result)
    title = mechanism.about.title
    heading = mechanism.about.heading or f"Results from {printable(os.path.basename(estimation.mechanism))}"
    users = _users(estimation.result)
    return rendered(
        "results.html",
        heading=printable(heading),
        title=printable(title) if title != heading else "",
        users="" if users is None else f"{users:,}",
        certified=all(item.holds for item in certificates),
        exact=all(item.exact for item in certificates if item.property == "privacy"),
        tables=result_tables(estimation.result, _unit(figures), _units(estimation.result)),
        figures=figure_values(figures),
        notes=_notes(estimation.result),
        population=estimation.population,
        explained=[printable(text) for text in mechanism.explained()],
        shown=printable(repr(mechanism)),
        promises=privacy_in_words(mechanism, certificates),
        limits=limits_in_words(mechanism),
        certificates=certificate_rows(certificates),
        commands=[estimation.command, f"mechdesign audit {shlex.quote(estimation.mechanism)}"],
        fingerprint=mechanism.fingerprint,
        identity=mechanism.about.id,
        version=version,
    )


def result_tables(result: Any, unit: str, units: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the tables of a result: a caption, a header and rows of text; or the text that is printed.

    Parameters
    ----------
    result : estimate
    unit : str
        What the estimates are: ``share`` (shown in percent), ``users``, or anything else.
    units : mapping, optional
        The same for questions that differ in it.

    Examples
    --------
    >>> class Shares:
    ...     def tidy(self):
    ...         return {"question": ["q"], "category": ["no"], "estimate": [0.2512],
    ...                 "standard_error": [0.0123], "low": [-0.01], "high": [0.2753]}
    >>> (table,) = result_tables(Shares(), "share")
    >>> table["header"]
    ['answer', 'estimate', 'standard error', '95% low', '95% high']
    >>> table["rows"]
    [['no', '25.1%', '1.2%', '0.0%', '27.5%']]
    """
    if not hasattr(result, "tidy"):
        return [{"caption": "", "header": [], "rows": [], "more": 0, "text": str(result)}]
    columns: Mapping[str, list[Any]] = result.tidy()
    text = [name for name in HEADINGS if any(value not in (None, "") for value in columns.get(name, []))]
    tables: dict[str, list[list[str]]] = {}
    users = _users(result)
    ends = {"share": SHARE, "users": (0.0, float(users or math.inf))}
    for place, question in enumerate(columns["question"]):
        row = {name: columns[name][place] for name in text}
        own = (units or {}).get(str(question), unit)
        tables.setdefault(str(question), []).append(_row(row, own == "share", ends.get(own, ANYTHING)))
    return [
        {
            "caption": printable(question) if len(tables) > 1 else "",
            "header": [HEADINGS[name] for name in text],
            "rows": rows[:MOST_ROWS],
            "more": max(0, len(rows) - MOST_ROWS),
            "text": "",
        }
        for question, rows in tables.items()
    ]


def _row(row: Mapping[str, Any], is_share: bool, possible: tuple[float, float]) -> list[str]:
    """Return a row as texts: numbers to two digits of their standard error, intervals within the possible."""
    numbers = dict(row)
    if isinstance(row.get("low"), (int, float)) and isinstance(row.get("high"), (int, float)):
        low, high = cut_ends([row["estimate"]], ([row["low"]], [row["high"]]), possible)
        numbers |= {"low": float(low[0]), "high": float(high[0])}
    error = numbers.get("standard_error") or numbers.get("predicted_error")
    return [
        printable(value) if name == "category" else rounded(value, error, is_share)
        for name, value in numbers.items()
    ]


def rounded(value: Any, error: Any, is_share: bool) -> str:
    """Return a number to two significant digits of its standard error, shares in percent.

    Examples
    --------
    >>> rounded(0.25123, 0.0123, True), rounded(75.4321, 0.72, False), rounded(1234.5, 160.0, False)
    ('25.1%', '75.43', '1230')
    >>> rounded(0.5, None, True), rounded(None, 0.1, False)
    ('50.0%', '-')
    """
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return "-"
    scale, unit = (100.0, "%") if is_share else (1.0, "")
    number = scale * value
    digits = decimals_of(scale * error) if isinstance(error, (int, float)) else None
    if digits is None:
        return f"{number:.1f}{unit}" if is_share else f"{number:.6g}"
    return f"{round(number, digits) + 0.0:.{max(0, digits)}f}{unit}"


def _figures(result: Any) -> list[Figure]:
    figures: list[Figure] = list(result.figures()) if hasattr(result, "figures") else []
    return figures


def _unit(figures: Sequence[Figure]) -> str:
    """Return the name that the pictures have for the estimates; empty where they differ."""
    labels = {panel.y_label for figure in figures for panel in figure.panels}
    return labels.pop() if len(labels) == 1 else ""


def _units(result: Any) -> dict[str, str]:
    """Return the units of the estimates of each part of a survey, by the names of the parts."""
    return {part.name: _unit(part.estimate.figures()) for part in getattr(result, "results", ())}


def _users(result: Any) -> int | None:
    """Return how many users an estimate rests on; of several tables the most."""
    counts = [getattr(each, "users", None) for each in (result, *getattr(result, "tables", ()))]
    counts += [getattr(getattr(result, "estimate", None), "users", None)]
    numbers = [int(users) for users in counts if isinstance(users, int)]
    return max(numbers, default=None)


def _notes(result: Any) -> list[str]:
    notes = [note for each in (result, *getattr(result, "tables", ())) for note in getattr(each, "notes", ())]
    return [printable(note) for note in dict.fromkeys(notes)]
