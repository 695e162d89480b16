"""Results as texts and pictures of the owner's pages, in the owner's language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from markupsafe import Markup

from mechdesign.collect.base import Mechanism
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import probability_text
from mechdesign.core.values import changed
from mechdesign.export import ExportSettings
from mechdesign.export.form import page_texts
from mechdesign.export.texts import Texts, texts_of
from mechdesign.report.page.results import reporting_users, section_values, sentence_values
from mechdesign.report.page.waves import change_sentence, compared_questions, question_values, wave_figures
from mechdesign.report.phrases import ENGLISH, LANGUAGES, Phrases
from mechdesign.report.sections import Section, sections_of
from mechdesign.report.wording import in_words
from mechdesign.serve.pages import Words, for_page, known_line, room_tables
from mechdesign.serve.snapshots import Snapshot, estimates_of_waves
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure
from mechdesign.survey.waves import short_epsilon

NUMBER = re.compile(r"[-+±]?\d[\d,]*(?:\.\d+)?%?(?: ±\d+(?:\.\d+)?)?")
"""A cell that is a number as English writes it, with its unit."""


GROUPED = ("wave", "answer")
"""What stands before the names of groups of bars."""

MEAN = "mean"
"""The row of a mean, which the toolkit calls so."""

PERCENT_OF = " in percent of each row"
"""What follows the name of a question in the caption of its percentages."""

OF_MEANS = (f", {MEAN}{ENGLISH.among}", f", {MEAN}")
"""How captions of changes of means end."""

CHANGE = "change"
"""How the heading of a column of changes begins."""


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
        self.texts: Texts = texts_of(code)
        self.say = Words(code).say
        tables: Any = room_tables("terms").get(code, {})
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

    def caption_of(self, text: str, is_change: bool) -> str:
        """Return the caption of a table, of which the end may be a fixed phrase."""
        for ending in OF_MEANS if is_change else ():
            if text.endswith(ending):
                return f"{text.removesuffix(ending)}, {self.term(ending[2:])}"
        return self.title(self.caption(text))

    def caption(self, text: str) -> str:
        """Return what explains a picture, which is made of fixed sentences."""
        for english, own in self.sentences.items():
            text = text.replace(english, own)
        return text

    def note(self, text: str) -> dict[str, str]:
        """Return a note of the toolkit, and the language that it is in: English where it is not known."""
        return known_line(text, self.code, "terms", "notes")

    def day(self, day: date) -> str:
        """Return a day as the language writes it."""
        return f"{day.day}.{day.month}.{day.year}" if self.code == "de" else day.isoformat()

    def decimals(self, picture: str, axes: str) -> str:
        """Return an SVG picture whose numbers at some axes (``x``, ``y``) are as the language writes them."""
        if not axes:
            return picture
        tick = rf'(-[{axes}]tick_\d+">(?:(?!tick_).)*?>)([-\u2212]?\d[\d ]*)\.(\d+)(?=</text>)'
        return re.sub(tick, rf"\g<1>\g<2>{self.phrases.decimal}\g<3>", picture, flags=re.DOTALL)

    def cell(self, text: str) -> str:
        """Return the cell of a table: a number as the language writes it."""
        if NUMBER.fullmatch(text):
            return self.phrases.number(text.replace(",", "\u202f") if self.code == "de" else text)
        return self.cells.get(text, text)

    def count(self, number: int) -> str:
        """Return a number of reports with its digits in groups."""
        return f"{number:,}".replace(",", "\u202f" if self.code == "de" else ",")


def result_values(snapshot: Snapshot, language: Language) -> dict[str, Any]:
    """Return what the page has of a snapshot: sentences, a section for each question, and for groups."""
    mechanism, result = _worded(snapshot.mechanism, snapshot.result, language)
    sections = [
        _with_questions(section, result, mechanism, language)
        for section in sections_of(result, mechanism, language.phrases)
    ]
    users, several = reporting_users(result), len(sections) > 1
    joint = set(_joint_names(result, mechanism))
    values = {
        section.name: _section(
            section_values(replace(section, figures=()), users, several), section.figures, language
        )
        for section in sections
    }
    return {
        "said": [sentence_values(section, several) for section in sections if section.sentence],
        "sections": [values[section.name] for section in sections if section.name not in joint],
        "groups": [values[section.name] for section in sections if section.name in joint],
        "notes": [language.note(note) for note in getattr(result, "notes", ())],
    }


def wave_values(chain: Sequence[Snapshot], language: Language) -> dict[str, Any]:
    """Return what the page has of the changes between waves."""
    estimates = estimates_of_waves(chain)
    pairs = [_worded(wave.mechanism, wave.result, language) for wave in chain]
    mechanisms, last = [mechanism for mechanism, _ in pairs], pairs[-1]
    worded = replace(estimates, results=tuple(result for _, result in pairs))
    questions, total = compared_questions(mechanisms, worded), estimates.total
    questions = [
        (_with_questions(section, last[1], last[0], language), tables) for section, tables in questions
    ]
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
        "notes": [language.note(note) for note in estimates.notes],
    }


def _worded(mechanism: Mechanism, result: Any, language: Language) -> tuple[Mechanism, Any]:
    """Return a mechanism with the texts of its survey in a language, and its result in the same words."""
    texts = page_texts(mechanism, ExportSettings(language=language.code))
    return mechanism.with_about(texts.about), in_words(result, mechanism, texts)


def _joint_names(result: Any, mechanism: Mechanism) -> dict[str, list[str]]:
    """Return the names of results of several questions, with the texts of these questions."""
    parts = [part for part in getattr(result, "results", ()) if len(part.request.places) > 1]
    questions = getattr(mechanism, "questions", ())
    texts = {}
    for part in parts:
        subject, number = part.request.places, part.request.number
        order = subject if number is None else (number, part.request.group)
        names = [questions[place].name for place in order]
        texts[part.name] = [mechanism.about.question_text(name).text or name for name in names]
    return texts


def _with_questions(section: Section, result: Any, mechanism: Mechanism, language: Language) -> Section:
    """Return the section of several questions under their texts, in the place of their names."""
    joint = _joint_names(result, mechanism)
    if section.name not in joint:
        return section
    quoted = [language.texts.quote(text) for text in joint[section.name]]
    is_means = any(part.name == section.name and part.request.number is not None for part in result.results)
    key = "results.means_by" if is_means else "results.crossed"
    heading = language.say(key, first=quoted[0], second=language.texts.listed(quoted[1:]))
    texts = {name: mechanism.about.question_text(name).text for name in mechanism.data_columns}
    grids = tuple(replace(grid, caption=_captioned(grid.caption, texts, language)) for grid in section.grids)
    captions = {old.caption: new.caption for old, new in zip(section.grids, grids, strict=True)}
    figures = []
    for figure in section.figures:
        caption = figure.caption
        for old, new in captions.items():
            caption = caption.replace(old, new)
        figures.append(changed(figure, title=heading, caption=caption))
    return replace(section, heading=heading, grids=grids, figures=tuple(figures))


def _captioned(caption: str, texts: Mapping[str, str], language: Language) -> str:
    """Return the caption of percentages with the text of its question."""
    name, percent, rest = caption.partition(PERCENT_OF)
    text = texts.get(name, "")
    return f"{language.texts.quote(text)}{percent}{rest}" if percent and text else caption


def _total(total: Guarantee) -> str:
    delta = f", delta = {probability_text(total.delta)}" if total.delta else ""
    return f"{short_epsilon(total.epsilon)}{delta}"


def _section(values: dict[str, Any], figures: Sequence[Figure], language: Language) -> dict[str, Any]:
    """Return the values of a section in a language, with its pictures."""
    tables = [_table(table, language) for table in values["tables"]]
    pictures = [picture_values(figure, language) for figure in figures] if values["asked"] else []
    notes = [language.note(note) for note in values["notes"]]
    reports = language.cell(values["reports"])
    return {**values, "reports": reports, "tables": tables, "figures": pictures, "notes": notes}


def _table(table: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return a table in a language: its fixed words and its numbers, never the names of answers."""
    header, rows = table["header"], table["rows"]
    is_mean = [row[0] for row in rows] == [MEAN]
    is_cross, is_quantile = header[0] not in ("answer", "quantile"), header[0] == "quantile"
    is_change = not is_cross and len(header) > 1 and header[1].startswith(CHANGE)

    def first(text: str) -> str:
        if is_quantile:
            return language.term(text)
        return language.term(text) if is_mean else text

    return {
        **table,
        "caption": language.caption_of(table["caption"], is_change),
        "header": header if is_cross else [language.term(name) for name in header],
        "wide": [name == "standard error" for name in header],
        "rows": [[first(row[0]), *(language.cell(cell) for cell in row[1:])] for row in rows],
    }


def picture_values(figure: Figure, language: Language) -> dict[str, Any]:
    """Return a picture as SVG that a strict policy allows, and its caption."""
    own = in_language(figure, language)
    caption = own.caption or own.title
    names = {"x": [panel.x_names for panel in own.panels], "y": [panel.y_names for panel in own.panels]}
    numeric = "".join(axis for axis, listed in names.items() if not any(listed))
    picture = language.decimals(svg(own, True), numeric if language.phrases.decimal != "." else "")
    return {"picture": Markup(for_page(picture)), "caption": caption}


def in_language(figure: Figure, language: Language) -> Figure:
    """Return a figure whose fixed words are in a language."""
    panels = []
    for panel in figure.panels:
        marks = [changed(mark, label=language.label(mark.label)) for mark in panel.marks]
        x_label, y_label = language.term(panel.x_label), language.term(panel.y_label)
        x_names = [language.term(MEAN)] if list(panel.x_names) == [MEAN] else panel.x_names
        panels.append(changed(panel, x_label=x_label, y_label=y_label, x_names=x_names, marks=marks))
    title, caption = language.title(figure.title), language.caption(figure.caption)
    return changed(figure, title=title, caption=caption, panels=panels)
