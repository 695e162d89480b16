"""The page of results: tables and pictures of estimates, how they were made, and what was promised."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import margin_text, printable
from mechdesign.data.tidy import OF_ANSWERED
from mechdesign.report.page.mechanism import (
    Draw,
    certificate_rows,
    figure_values,
    limits_in_words,
    privacy_in_words,
)
from mechdesign.report.page.render import rendered
from mechdesign.report.sections import ResultTable, Section, rounded, sections_of, tables_of
from mechdesign.show.draw import svg
from mechdesign.show.panels import cut_ends

MOST_ROWS = 300
"""Rows of a table on the page."""

HEADINGS = {
    "estimate": "estimate",
    "low": "95% low",
    "high": "95% high",
    "standard_error": "standard error",
    "predicted_error": "expected error",
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


def results_page(
    mechanism: Mechanism,
    estimation: Estimation,
    version: str,
    sections: Sequence[Section] | None = None,
    draw: Draw = svg,
) -> str:
    """Return the page as HTML text: the results in words, then a table with its picture for each question.

    Parameters
    ----------
    mechanism : Mechanism
        Audited again for the page.
    estimation : Estimation
    version : str
        Of the toolkit.
    sections : sequence of Section, optional
        Those of the result, where they were computed before.
    draw : function
        Returns a figure as SVG text.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> duchi = Duchi(1.0, 0, 100).described(question="How old are you?")
    >>> ages = duchi.estimate(duchi.randomize([30, 50] * 500, rng=1))
    >>> page = results_page(duchi, Estimation(ages, "estimate", "age.json", ["age.csv"]), "0.1.0")
    >>> "<h1>How old are you?</h1>" in page, "mechdesign estimate age.json age.csv" in page
    (True, True)
    """
    certificates, about = mechanism.certificates(), mechanism.about
    sections = sections_of(estimation.result, mechanism) if sections is None else sections
    heading = about.heading or f"Results from {printable(os.path.basename(estimation.mechanism))}"
    users = reporting_users(estimation.result)
    return rendered(
        "results.html",
        language=about.language,
        heading=printable(heading),
        title=printable(about.title) if about.title != heading else "",
        wave=printable(about.wave),
        introduction=[printable(text) for text in about.introduction.split("\n\n") if text],
        users="" if users is None else f"{users:,}",
        certified=all(item.holds for item in certificates),
        exact=all(item.exact for item in certificates if item.property == "privacy"),
        said=[sentence_values(section, len(sections) > 1) for section in sections if section.sentence],
        sections=[section_values(section, users, len(sections) > 1, draw) for section in sections],
        text="" if sections else printable_lines(estimation.result),
        notes=_notes(estimation.result),
        population=estimation.population,
        explained=[printable(text) for text in mechanism.explained()],
        shown=printable(repr(mechanism)),
        promises=privacy_in_words(mechanism, certificates),
        limits=limits_in_words(mechanism),
        certificates=certificate_rows(certificates),
        commands=[estimation.command, f"mechdesign audit {shlex.quote(estimation.mechanism)}"],
        fingerprint=mechanism.fingerprint,
        identity=about.id,
        version=version,
    )


def printable_lines(result: Any) -> str:
    """Return a result that has no table as it is printed."""
    return "\n".join(printable(line) for line in str(result).splitlines())


def sentence_values(section: Section, several: bool) -> dict[str, str]:
    """Return a question with its result in words."""
    return {"heading": printable(section.heading) if several else "", "text": section.sentence}


def section_values(section: Section, users: int | None, several: bool, draw: Draw = svg) -> dict[str, Any]:
    """Return a section as texts: its tables, quantiles and pictures."""
    quantiles = section.quantiles
    tables = [text_table(grid.caption, ["", *grid.columns], grid.texts()) for grid in section.grids]
    tables += [_table(table, users) for table in section.tables] if section.was_asked else []
    if quantiles is not None:
        of = f", {OF_ANSWERED}" if quantiles.answered else ""
        tables.append(text_table(f"quantiles{of}", ["quantile", "answer", *ENDS], quantiles.rows))
    return {
        "heading": printable(section.heading) if several else "",
        "reports": "" if section.reports is None else f"{section.reports:,}",
        "asked": section.was_asked,
        "tables": tables,
        "figures": figure_values(section.figures, True, draw) if section.was_asked else [],
        "notes": [printable(note) for note in section.notes],
    }


ENDS = ("95% low", "95% high")


def text_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a table of the page: at most so many rows, and how many more there are."""
    return {
        "caption": printable(caption),
        "header": [printable(name) for name in header],
        "rows": [[printable(cell) for cell in row] for row in rows[:MOST_ROWS]],
        "more": max(0, len(rows) - MOST_ROWS),
    }


def result_tables(result: Any, unit: str | None = None) -> list[dict[str, Any]]:
    """Return the tables of a result as texts: a caption, a header, rows, and how many more there are.

    Parameters
    ----------
    result : estimate
    unit : str, optional
        What the estimates are: ``share`` (shown in percent), ``users``, or anything else.

    Examples
    --------
    >>> class Shares:
    ...     def tidy(self):
    ...         return {"question": ["q"], "category": ["no"], "estimate": [0.2512],
    ...                 "standard_error": [0.0123], "low": [-0.01], "high": [0.2753]}
    >>> (table,) = result_tables(Shares(), "share")
    >>> table["header"]
    ['answer', 'estimate', 'margin of error (points)', '95% low', '95% high', 'standard error']
    >>> table["rows"]
    [['no', '25.1%', '±14', '0.0%', '27.5%', '1.2%']]
    """
    users = reporting_users(result)
    return [_table(table, users) for table in tables_of(result, unit=unit)]


def _table(table: ResultTable, users: int | None) -> dict[str, Any]:
    """Return a table as texts: numbers to two digits of their errors, intervals within the possible."""
    numbers = table.numbers
    names = [name for name in HEADINGS if any(value is not None for value in numbers.get(name, []))]
    rows, margins = [], table.margins
    for place, answer in enumerate(table.answers[:MOST_ROWS]):
        row = {name: numbers[name][place] for name in names}
        error = row.get("standard_error") or row.get("predicted_error")
        row |= _cut(row, table.possible(users))
        texts = {name: rounded(value, error, table.is_share) for name, value in row.items()}
        margin = margin_text(margins[place], table.is_share).removesuffix(" points")
        rows.append([answer, *_with_margin(texts, margin).values()])
    headings = HEADINGS | {"margin": f"margin of error{' (points)' * table.is_share}"}
    header = ["answer", *(headings[name] for name in _with_margin(dict.fromkeys(names, ""), ""))]
    more = max(0, len(table.answers) - MOST_ROWS)
    return {**text_table(table.caption, header, rows), "more": more}


def _with_margin(texts: Mapping[str, str], margin: str) -> dict[str, str]:
    """Return the cells of a row in their order, with the margin of error behind the estimate."""
    if "low" not in texts:
        return dict(texts)
    return {"estimate": texts["estimate"], "margin": margin} | dict(texts)


def _cut(row: Mapping[str, Any], possible: tuple[float, float]) -> dict[str, float]:
    """Return the ends of an interval within what is possible."""
    if not isinstance(row.get("low"), (int, float)) or not isinstance(row.get("high"), (int, float)):
        return {}
    low, high = cut_ends([row["estimate"]], ([row["low"]], [row["high"]]), possible)
    return {"low": float(low[0]), "high": float(high[0])}


def reporting_users(result: Any) -> int | None:
    """Return how many users an estimate rests on; of several tables the most."""
    counts = [getattr(each, "users", None) for each in (result, *getattr(result, "tables", ()))]
    counts += [getattr(getattr(result, "estimate", None), "users", None)]
    numbers = [int(users) for users in counts if isinstance(users, int)]
    return max(numbers, default=None)


def _notes(result: Any) -> list[str]:
    notes = [note for each in (result, *getattr(result, "tables", ())) for note in getattr(each, "notes", ())]
    return [printable(note) for note in dict.fromkeys(notes)]
