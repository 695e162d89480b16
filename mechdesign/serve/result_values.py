"""Results as texts and pictures of the owner's pages, in the owner's language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import probability_text
from mechdesign.core.values import changed
from mechdesign.report.page.results import reporting_users, section_values, sentence_values
from mechdesign.report.page.waves import change_sentence, compared_questions, question_values, wave_figures
from mechdesign.report.phrases import ENGLISH, LANGUAGES, Phrases
from mechdesign.report.sections import sections_of
from mechdesign.serve.pages import for_page
from mechdesign.serve.snapshots import Snapshot, estimates_of_waves
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure
from mechdesign.survey.waves import short_epsilon

NUMBER = re.compile(r"[-+±]?\d[\d,]*(?:\.\d+)?%?(?: ±\d+(?:\.\d+)?)?")
"""A cell that is a number as English writes it, with its unit."""


GROUPED = ("wave", "answer")
"""What stands before the names of groups of bars."""


class Language:
    """A language of result pages: terms of tables and pictures, phrases, and how numbers are written.

    Examples
    --------
    >>> german = Language("de")
    >>> german.term("95% low"), german.cell("25.1%"), german.cell("ward 2.1")
    ('95 % von', '25,1 %', 'ward 2.1')
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.phrases: Phrases = LANGUAGES[code]
        tables = _tables().get(code, {})
        self.terms: dict[str, str] = tables.get("terms", {})
        self.cells: dict[str, str] = tables.get("cells", {})
        self.sentences: dict[str, str] = tables.get("sentences", {})

    def term(self, text: str) -> str:
        """Return a fixed word in the language; a text that is not one stays."""
        return self.terms.get(text, text)

    def label(self, text: str) -> str:
        """Return an entry of a legend: a fixed word, or one before the name of a wave or an answer."""
        head, colon, name = text.partition(": ")
        return f"{self.term(head)}: {name}" if colon and head in GROUPED else self.term(text)

    def title(self, text: str) -> str:
        """Return the title of a picture or of a table, where only the end may be a fixed phrase."""
        own = self.terms.get(text)
        if own is None and text.endswith(ENGLISH.among):
            own = text.removesuffix(ENGLISH.among) + self.phrases.among
        return text if own is None else own

    def caption(self, text: str) -> str:
        """Return what explains a picture, which is made of fixed sentences."""
        for english, own in self.sentences.items():
            text = text.replace(english, own)
        return text

    def cell(self, text: str) -> str:
        """Return the cell of a table: a number as the language writes it."""
        if NUMBER.fullmatch(text):
            return self.phrases.number(text.replace(",", "\u202f") if self.code == "de" else text)
        return self.cells.get(text, text)

    def count(self, number: int) -> str:
        """Return a number of reports with its digits in groups."""
        return f"{number:,}".replace(",", "\u202f" if self.code == "de" else ",")


@cache
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    text = files("mechdesign.serve").joinpath("texts/terms.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def result_values(snapshot: Snapshot, language: Language) -> dict[str, Any]:
    """Return what the page has of a snapshot: sentences, and a section for each question."""
    sections = sections_of(snapshot.result, snapshot.mechanism, language.phrases)
    users, several = reporting_users(snapshot.result), len(sections) > 1
    return {
        "said": [sentence_values(section, several) for section in sections if section.sentence],
        "sections": [
            _section(section_values(replace(section, figures=()), users, several), section.figures, language)
            for section in sections
        ],
        "notes": list(getattr(snapshot.result, "notes", ())),
    }


def wave_values(chain: Sequence[Snapshot], language: Language) -> dict[str, Any]:
    """Return what the page has of the changes between waves."""
    estimates = estimates_of_waves(chain)
    mechanisms = [wave.mechanism for wave in chain]
    questions, total = compared_questions(mechanisms, estimates), estimates.total
    return {
        "names": list(estimates.names),
        "said": [
            {"heading": section.heading, "text": change_sentence(tables, language.phrases)}
            for section, tables in questions
        ],
        "sections": [
            _section(
                question_values(section, tables, estimates.names, language.phrases),
                wave_figures(section.heading, tables, estimates.names),
                language,
            )
            for section, tables in questions
        ],
        "total": "" if total is None else _total(total),
        "notes": list(estimates.notes),
    }


def _total(total: Guarantee) -> str:
    delta = f", delta = {probability_text(total.delta)}" if total.delta else ""
    return f"{short_epsilon(total.epsilon)}{delta}"


def _section(values: dict[str, Any], figures: Sequence[Figure], language: Language) -> dict[str, Any]:
    """Return the values of a section in a language, with its pictures."""
    tables = [_table(table, language) for table in values["tables"]]
    pictures = [picture_values(figure, language) for figure in figures] if values["asked"] else []
    return {**values, "reports": language.cell(values["reports"]), "tables": tables, "figures": pictures}


def _table(table: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return a table in a language: its fixed words and its numbers, never the names of answers."""
    header, rows = table["header"], table["rows"]
    is_mean = [row[0] for row in rows] == ["mean"]
    is_cross = header[0] not in ("answer", "quantile")
    return {
        **table,
        "caption": language.title(table["caption"]),
        "header": header if is_cross else [language.term(name) for name in header],
        "wide": [name == "standard error" for name in header],
        "rows": [
            [
                language.term(row[0]) if is_mean or row[0] == "no answer" else row[0],
                *(language.cell(cell) for cell in row[1:]),
            ]
            for row in rows
        ],
    }


def picture_values(figure: Figure, language: Language) -> dict[str, Any]:
    """Return a picture as SVG that a strict policy allows, and its caption."""
    own = in_language(figure, language)
    caption = own.caption or own.title
    return {"picture": Markup(for_page(svg(own, True))), "caption": caption}


def in_language(figure: Figure, language: Language) -> Figure:
    """Return a figure whose fixed words are in a language."""
    panels = []
    for panel in figure.panels:
        marks = [changed(mark, label=language.label(mark.label)) for mark in panel.marks]
        x_label, y_label = language.term(panel.x_label), language.term(panel.y_label)
        panels.append(changed(panel, x_label=x_label, y_label=y_label, marks=marks))
    title, caption = language.title(figure.title), language.caption(figure.caption)
    return changed(figure, title=title, caption=caption, panels=panels)
