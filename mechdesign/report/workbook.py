"""Workbooks of results: all estimates, the survey, and a sheet with a chart for each question.

Texts stay texts, whatever a spreadsheet would take them for.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, MissingPackageError, decimals_of, printable
from mechdesign.core.extensions import installed_version
from mechdesign.core.guarantee import Guarantee
from mechdesign.data.tidy import OF_ANSWERED, Columns, Quantiles
from mechdesign.report.sections import (
    UNKNOWN,
    Grid,
    ResultTable,
    Section,
    is_share_row,
    sections_of,
    units_of,
)
from mechdesign.show.panels import SHARE, cut_ends
from mechdesign.work.files import whole_file

MOST_ROWS, LONGEST = 1_048_576, 32_767
"""Rows of a worksheet, and characters of one of its cells: what spreadsheets open."""

SHEET = re.compile(r"^[\s=]+|[\[\]:*?/\\']")
"""What the name of a worksheet must not have, nor begin with where a chart refers to it."""

MOST_SHEETS = 60
"""Questions with a sheet of their own; all are among the estimates."""

MOST_BARS = 60
"""Rows of a table that has a chart."""

WIDEST = 60
"""Characters of a column's width."""

ESTIMATES, ABOUT = "estimates", "About"

SHARES = ("estimate", "standard_error", "predicted_error", "low", "high")
"""The numbers of a tidy table that are shares where its estimates are."""

EXPLAINED = (
    "Each answer was randomized before it was sent, so every number is an estimate.",
    "The margin of error is half the width of the range from low to high, of percentages in percentage "
    "points; about 95 of 100 such ranges contain the true number.",
    "An estimate can be impossible by chance, such as a share below 0. Cells keep it; charts begin at 0.",
)


def _package(path: str | os.PathLike[str]) -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingPackageError(
            path, "a workbook needs xlsxwriter", "install mechdesign[xlsx], or use .csv"
        ) from None
    return xlsxwriter


class ResultBook:
    """A workbook while it is written, with its formats."""

    def __init__(self, book: Any) -> None:
        self._book, self._taken = book, set[str]()
        self._formats: dict[tuple[tuple[str, Any], ...], Any] = {}

    def sheet(self, title: str, landscape: bool = False) -> ResultSheet:
        """Return a new sheet, with a name that is possible and not yet taken."""
        name = _sheet_name(title, self._taken)
        worksheet = self._book.add_worksheet(name)
        worksheet.set_paper(9)
        worksheet.fit_to_pages(1, 0)
        if landscape:
            worksheet.set_landscape()
        return ResultSheet(self, worksheet, name)

    def style(self, **properties: Any) -> Any:
        """Return a format with these properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._book.add_format(dict(properties))
        return self._formats[key]

    def chart(self, **options: Any) -> Any:
        """Return a new chart."""
        return self._book.add_chart(options)


@dataclass
class ResultSheet:
    """A sheet while it is written: the widths of its columns grow with what they hold."""

    book: ResultBook
    worksheet: Any
    name: str

    def __post_init__(self) -> None:
        self.widths: dict[int, int] = {}

    def write(self, row: int, column: int, value: Any, fits: bool = True, **properties: Any) -> None:
        """Write a cell; a text that need not fit into its column runs on into the next ones."""
        style = self.book.style(**properties) if properties else None
        _write_cell(self.worksheet, row, column, value, style)
        if fits:
            width = len(value) if isinstance(value, str) else 8
            self.widths[column] = min(WIDEST, max(self.widths.get(column, 8), width + 2))

    def head(self, row: int, names: Sequence[str], first: int = 0) -> None:
        """Write the head of a table."""
        for place, name in enumerate(names):
            side = "left" if place == 0 else "right"
            self.write(row, first + place, name, bold=True, bottom=1, align=side)

    def finish(self) -> None:
        """Set the widths of the columns."""
        for column, width in self.widths.items():
            self.worksheet.set_column(column, column, width)


@contextmanager
def written_book(path: str) -> Iterator[ResultBook]:
    """Give a workbook that is written when all of it was made; the file appears whole or not at all."""
    package = _package(path)
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with whole_file(path, DataError) as temporary:
        stream = io.BytesIO()  # a full disk would break the archive where nothing can be caught
        book = package.Workbook(stream, {**plain, "in_memory": True})
        yield ResultBook(book)
        book.close()
        temporary.write_bytes(stream.getvalue())


def _require_rows(path: str, rows: int) -> None:
    if rows >= MOST_ROWS:
        raise DataError(path, f"{rows} rows are more than a worksheet has", "use .csv or .parquet")


def write_tables(path: str, tables: Mapping[str, Columns]) -> int:
    """Write a sheet for each table by its title, and return the number of rows."""
    sizes = [len(next(iter(columns.values()), [])) for columns in tables.values()]
    _require_rows(path, max(sizes, default=0))
    with written_book(path) as book:
        for title, columns in tables.items():
            sheet = book.sheet(title)
            sheet.worksheet.freeze_panes(1, 0)
            for place, (name, values) in enumerate(columns.items()):
                sheet.write(0, place, name, bold=True)
                for row, value in enumerate(values, 1):
                    sheet.write(row, place, value)
            sheet.finish()
    return sum(sizes)


def write_result(path: str, result: Any, mechanism: Mechanism, columns: Columns) -> int:
    """Write a workbook of the results of a survey, and return the number of estimates.

    Parameters
    ----------
    path : str
    result : estimate
        With ``tidy``.
    mechanism : Mechanism
    columns : mapping
        The tidy table, whose names are the head of the sheet of all estimates.
    """
    count = len(columns["estimate"])
    _require_rows(path, count)
    sections = sections_of(result, mechanism)
    with written_book(path) as book:
        _write_estimates(book.sheet(ESTIMATES, landscape=True), columns, units_of(result))
        about = book.sheet(ABOUT)
        sheets = []
        for section in sections[:MOST_SHEETS]:
            if section.was_asked:
                sheet = book.sheet(section.name or "results")
                _write_section(sheet, section)
                sheets.append(sheet)
        _write_about(about, result, mechanism, sections)
        about.worksheet.activate()
    return count


def write_tidy(path: str, results: Mapping[str, Any], mechanism: Mechanism) -> int:
    """Write a sheet for each result by its title, and one about the survey; return the number of rows.

    Parameters
    ----------
    path : str
    results : mapping
        Results with ``tidy``, such as groups and their differences, or the waves of a survey.
    mechanism : Mechanism
        That of the survey, or of its last wave.
    """
    tables = {title: result.tidy() for title, result in results.items()}
    sizes = [len(columns["estimate"]) for columns in tables.values()]
    _require_rows(path, max(sizes, default=0))
    with written_book(path) as book:
        for title, columns in tables.items():
            _write_estimates(book.sheet(title, landscape=True), columns, units_of(results[title]))
        notes = [note for result in results.values() for note in getattr(result, "notes", ())]
        first = next(iter(results.values()))
        _write_about(book.sheet(ABOUT), first, mechanism, (), notes)
    return sum(sizes)


# All estimates


def _write_estimates(sheet: ResultSheet, columns: Columns, units: Mapping[str, str]) -> None:
    """Write the tidy table, with percentages where its rows are shares, and a column of margins of error."""
    names = list(columns)
    if any(value is not None for value in columns.get("low", ())):
        names.insert(names.index("high") + 1, "margin")
    for place, name in enumerate(names):
        side = "left" if name in ("question", "category", "wave") else "right"
        sheet.write(0, place, name, bold=True, bottom=1, align=side)
    rows = len(columns["estimate"])
    for row in range(rows):
        values = {name: column[row] for name, column in columns.items()}
        if "margin" in names:
            values["margin"] = _half(values["low"], values["high"])
        is_share = is_share_row(units, str(values.get("question") or ""), str(values.get("category") or ""))
        for place, name in enumerate(names):
            sheet.write(row + 1, place, values[name], **_number_format(name, values, is_share))
    sheet.worksheet.freeze_panes(1, 0)
    sheet.worksheet.repeat_rows(0)
    sheet.worksheet.autofilter(0, 0, max(rows, 1), len(names) - 1)
    sheet.finish()


def _half(low: Any, high: Any) -> Any:
    numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
    return (high - low) / 2.0 if numbers else None


def _number_format(name: str, values: Mapping[str, Any], is_share: bool) -> dict[str, Any]:
    """Return the format of a number: a percentage, or with digits down to its standard error."""
    if name not in (*SHARES, "margin") or not isinstance(values.get(name), (int, float)):
        return {}
    sign = '"±"' if name == "margin" else ""
    if is_share:
        return {"num_format": f"{sign}0.0%"}
    decimals = decimals_of(values.get("standard_error") or values.get("predicted_error"))
    if decimals is None:
        return {}
    return {"num_format": f"{sign}0.{'0' * decimals}" if decimals > 0 else f"{sign}0"}


# About


def _write_about(
    sheet: ResultSheet,
    result: Any,
    mechanism: Mechanism,
    sections: Sequence[Section],
    notes: Sequence[str] = (),
) -> None:
    about = mechanism.about
    title = about.title or about.question or "Results"
    sheet.write(0, 0, printable(title), fits=False, bold=True, font_size=16)
    row = 2
    for name, value in _facts(result, mechanism):
        sheet.write(row, 0, name, bold=True, valign="top")
        sheet.write(row, 1, value, fits=False, align="left")
        row += 1
    row += 1
    if sections:
        sheet.head(row, ["question", "reports", "result in words"])
        sheet.write(row, 2, "result in words", bold=True, bottom=1)
    for section in sections:
        row += 1
        words = section.sentence if section.was_asked else "no respondent was asked"
        sheet.write(row, 0, printable(section.heading), valign="top", text_wrap=True)
        sheet.write(row, 1, section.reports, valign="top", num_format="#,##0")
        sheet.write(row, 2, words, valign="top", text_wrap=True)
    row += 2
    more = [f"Note: {printable(note)}" for note in dict.fromkeys(notes)]
    for text in [*EXPLAINED, *(more or _all_notes(result, sections))]:
        sheet.write(row, 0, text, fits=False)
        row += 1
    sheet.finish()


def _facts(result: Any, mechanism: Mechanism) -> Iterator[tuple[str, Any]]:
    """Yield what is known of the survey, with its names."""
    about = mechanism.about
    if about.question and about.title:
        yield "question", printable(about.question)
    if about.wave:
        yield "wave", printable(about.wave)
    users = getattr(result, "users", None)
    if isinstance(users, int):
        yield "reports", users
    if about.users:
        yield "planned users", about.users
    guarantee = getattr(mechanism, "guarantee", None)
    if isinstance(guarantee, Guarantee):
        yield "privacy of each report", guarantee.in_short
    of = "the population" if getattr(result, "population", False) else "the respondents"
    yield "estimates are of", of
    if about.contact:
        yield "contact", printable(about.contact)
    yield "date", datetime.now(UTC).date().isoformat()
    yield "identity of the survey", about.id or "none"
    yield "fingerprint of the mechanism", mechanism.fingerprint
    yield "made by", f"mechdesign {installed_version()}"


def _all_notes(result: Any, sections: Sequence[Section]) -> list[str]:
    notes = [*getattr(result, "notes", ()), *(note for section in sections for note in section.notes)]
    return [f"Note: {printable(note)}" for note in dict.fromkeys(notes)]


# One question, or a cross table


def _write_section(sheet: ResultSheet, section: Section) -> None:
    sheet.write(0, 0, printable(section.heading), fits=False, bold=True, font_size=14)
    sheet.write(1, 0, section.sentence, fits=False)
    if section.reports is not None:
        sheet.write(2, 0, f"{section.reports} report{'s' * (section.reports != 1)}", fits=False)
    sheet.worksheet.freeze_panes(3, 1)
    row, charts = 4, 4
    for grid in section.grids:
        row = _write_grid(sheet, row, grid)
    for table in section.tables:
        row = _write_table(sheet, row, table)
    if section.quantiles is not None:
        row = _write_quantiles(sheet, row, section.quantiles)
    for note in section.notes:
        sheet.write(row, 0, f"Note: {printable(note)}", fits=False)
        row += 1
    sheet.finish()
    columns = max(sheet.widths, default=0) + 2
    _insert_charts(sheet, section, charts, columns)


def _write_table(sheet: ResultSheet, row: int, table: ResultTable) -> int:
    """Write a table with its caption at a row, and return the row after it."""
    if table.caption:
        sheet.write(row, 0, printable(table.caption), fits=False, italic=True)
        row += 1
    numbers = {name: list(values) for name, values in table.numbers.items()}
    known = [name for name, values in numbers.items() if any(value is not None for value in values)]
    columns = {"estimate": numbers["estimate"], "margin": table.margins}
    columns |= {name: numbers[name] for name in known if name not in columns}
    if "low" not in known:
        columns.pop("margin")
    heads = {
        "margin": "margin of error",
        "standard_error": "standard error",
        "predicted_error": "expected error",
    }
    sheet.head(row, ["answer", *(heads.get(name, name) for name in columns)])
    for place, answer in enumerate(table.answers):
        values = {name: column[place] for name, column in columns.items()}
        sheet.write(row + 1 + place, 0, printable(answer))
        for column, name in enumerate(columns, 1):
            style = _number_format(name, values, table.is_share)
            sheet.write(row + 1 + place, column, values[name], **style)
    return row + 2 + len(table.answers)


def _write_grid(sheet: ResultSheet, row: int, grid: Grid) -> int:
    """Write percentages of rows, then their margins of error, and return the row after them."""
    for caption, values, style in (
        (grid.caption, grid.values, "0%"),
        ("margins of error (percentage points)", grid.margins, '"±"0%'),
    ):
        sheet.write(row, 0, printable(caption), fits=False, italic=True)
        sheet.head(row + 1, ["", *map(printable, grid.columns)])
        for place, name in enumerate(grid.rows):
            sheet.write(row + 2 + place, 0, printable(name))
            for column, value in enumerate(values[place].tolist(), 1):
                few = grid.margins[place, column - 1] >= UNKNOWN
                sheet.write(
                    row + 2 + place, column, "too few" if few else value, num_format=style, align="right"
                )
        if values is grid.values:
            last = row + 1 + len(grid.rows), len(grid.columns)
            scale = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#7DB9F5"}
            sheet.worksheet.conditional_format(row + 2, 1, *last, scale)
        row += 3 + len(grid.rows)
    return row


def _write_quantiles(sheet: ResultSheet, row: int, quantiles: Quantiles) -> int:
    of = f", {OF_ANSWERED}" if quantiles.answered else ""
    sheet.write(row, 0, f"quantiles{of}", fits=False, italic=True)
    sheet.head(row + 1, ["quantile", "answer", "95% low", "95% high"])
    triples = zip(quantiles.category, quantiles.low, quantiles.high, strict=True)
    for place, (text, values) in enumerate(zip(quantiles.rows, triples, strict=True)):
        sheet.write(row + 2 + place, 0, text[0])
        for column, value in enumerate(values, 1):
            cell = printable(value) if isinstance(value, str) else value
            sheet.write(row + 2 + place, column, cell, align="right")
    return row + 3 + len(quantiles.rows)


# Charts


def _insert_charts(sheet: ResultSheet, section: Section, row: int, column: int) -> None:
    """Insert a chart next to the first table of shares; of a cross table next to its percentages."""
    if section.grids:
        chart = _grid_chart(sheet, section.grids[0], 5)
    else:
        place, first = 4, next(iter(section.tables), None)
        chosen = next((table for table in section.tables if table.caption == OF_ANSWERED), first)
        for table in section.tables:
            place += bool(table.caption)
            if table is chosen:
                break
            place += 2 + len(table.answers)
        usable = chosen is not None and chosen.is_share and len(chosen.answers) <= MOST_BARS
        chart = _bar_chart(sheet, chosen, place, section) if usable and chosen is not None else None
    if chart is not None:
        sheet.worksheet.insert_chart(row, column, chart)


def _bar_chart(sheet: ResultSheet, table: ResultTable, head: int, section: Section) -> Any:
    """Return a chart of the shares with their intervals, from the table whose head is in a row."""
    last = head + len(table.answers)
    chart = sheet.book.chart(type="bar")
    chart.add_series(
        {
            "name": "share",
            "categories": [sheet.name, head + 1, 0, last, 0],
            "values": [sheet.name, head + 1, 1, last, 1],
            "fill": {"color": "#0072B2"},
            "gap": 50,
            **_error_bars(table),
        }
    )
    of = f", {table.caption}" if table.caption else ""
    chart.set_title({"name": f"{printable(section.heading)[:200]}{of}", "name_font": {"size": 11}})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "num_font": {"size": 9}})
    chart.set_x_axis({"min": 0, "num_format": "0%", "label_position": "low"})
    chart.set_size({"width": 520, "height": 120 + 32 * min(len(table.answers), 20)})
    return chart


def _error_bars(table: ResultTable) -> dict[str, Any]:
    """Return the intervals of a chart, within what is possible; nothing where they are not known."""
    value, low, high = (table.numbers[name] for name in ("estimate", "low", "high"))
    if any(not isinstance(number, (int, float)) for column in (value, low, high) for number in column):
        return {}
    first, last = cut_ends(value, (low, high), SHARE)
    inside = np.clip(value, 0.0, 1.0)
    plus, minus = np.maximum(last - inside, 0.0), np.maximum(inside - first, 0.0)
    bars = {"type": "custom", "plus_values": plus.tolist(), "minus_values": minus.tolist()}
    return {"y_error_bars": bars}


def _grid_chart(sheet: ResultSheet, grid: Grid, head: int) -> Any:
    """Return a chart of the percentages of each row, from the grid whose head is in a row."""
    chart = sheet.book.chart(type="bar", subtype="percent_stacked")
    last = head + len(grid.rows)
    for place in range(1, len(grid.columns) + 1):
        chart.add_series(
            {
                "name": [sheet.name, head, place],
                "categories": [sheet.name, head + 1, 0, last, 0],
                "values": [sheet.name, head + 1, place, last, place],
                "gap": 50,
            }
        )
    chart.set_title({"name": printable(grid.caption), "name_font": {"size": 11}})
    chart.set_legend({"position": "bottom"})
    chart.set_y_axis({"reverse": True})
    chart.set_x_axis({"min": 0, "num_format": "0%"})
    chart.set_size({"width": 560, "height": 160 + 40 * min(len(grid.rows), 20)})
    return chart


def _write_cell(sheet: Any, row: int, column: int, value: Any, style: Any = None) -> None:
    if value is None or value == "":
        if style is not None:
            sheet.write_blank(row, column, None, style)
    elif isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
    elif isinstance(value, (int, float, np.number)) and math.isfinite(value):
        sheet.write_number(row, column, value, style)
    else:
        sheet.write_string(row, column, str(value)[:LONGEST], style)


def _sheet_name(title: str, taken: set[str]) -> str:
    """Return the name of a sheet: at most 31 characters, none of them forbidden, and not yet taken."""
    name = SHEET.sub(" ", title).strip()[:31] or "results"
    number = 1
    while name.casefold() in taken:
        number += 1
        end = f" {number}"
        name = f"{SHEET.sub(' ', title).strip()[: 31 - len(end)]}{end}"
    taken.add(name.casefold())
    return name
