"""The owner's results room: a page, downloads, and nothing below the least number of reports.

Everything here is made of a snapshot (:mod:`mechdesign.serve.snapshots`); below the least number there is
none, so that no address has anything to answer with.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, UnknownNameError
from mechdesign.core.extensions import installed_version
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import probability_text
from mechdesign.core.values import changed, encode
from mechdesign.data.tidy import Columns, Tidy, with_question
from mechdesign.export import ExportSettings
from mechdesign.export.disclosure import limit_for_respondents
from mechdesign.export.form import page_texts
from mechdesign.export.texts import Texts, texts_of
from mechdesign.report.page import Estimation, results_page, waves_page
from mechdesign.report.page.results import reporting_users, section_values, sentence_values
from mechdesign.report.page.waves import change_sentence, compared_questions, question_values, wave_figures
from mechdesign.report.phrases import ENGLISH, LANGUAGES, Phrases
from mechdesign.report.sections import Section, sections_of
from mechdesign.report.tables import write_results
from mechdesign.report.wording import in_words
from mechdesign.report.workbook import write_result, write_tidy
from mechdesign.serve.pages import Words, for_page, known_line, owner_page, room_tables, words_of
from mechdesign.serve.place import Place
from mechdesign.serve.snapshots import Snapshot, Snapshots, estimates_of_waves
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


Chain = Sequence[Snapshot]
Writer = Callable[[str, Snapshot], None]

MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "html": "text/html; charset=utf-8",
}
"""Types of downloads by the endings of their names."""

REFUSED = 409
"""The status of a download below the least number of reports."""

MECHANISM, REPORTS = "survey.json", "reports.jsonl"
"""Names of the files that ``mechdesign estimate`` reads."""


class ResultsRoom:
    """The results of the surveys of a place.

    Attributes
    ----------
    place : Place
    snapshots : Snapshots
    """

    def __init__(self, place: Place) -> None:
        self.place, self.snapshots = place, Snapshots(place)
        self._values: dict[str, dict[str, Any]] = {}

    def show(self, request: Request) -> Response:
        """Answer with the page: results, or how many reports are missing for some."""
        survey = self.place.survey(request.path_params["slug"])
        language = Language(words_of(request).language)
        snapshot = self.snapshots.of(survey)
        chain = self.snapshots.waves(survey) if snapshot is not None else []
        values: dict[str, Any] = {"results": None, "waves": None, "limit": "", "downloads": []}
        if snapshot is not None:
            values = self._of_snapshot(survey.slug, snapshot, chain, language)
        return owner_page(
            request,
            "results.html",
            survey=survey,
            snapshot=snapshot,
            number=language.count,
            day_text=language.day,
            least=survey.settings.least,
            count=survey.count,
            missing=self.snapshots.missing(survey),
            days=days_of(survey.count_by_day()),
            **values,
        )

    def _of_snapshot(self, slug: str, snapshot: Snapshot, chain: Chain, language: Language) -> dict[str, Any]:
        """Return what is shown of a snapshot, which is drawn once for each language."""
        key = (snapshot, *chain, language.code)
        if slug not in self._values or self._values[slug].get("key") != key:
            self._values[slug] = {
                "key": key,
                "results": result_values(snapshot, language),
                "waves": wave_values(chain, language) if chain else None,
                "limit": limit_for_respondents(snapshot.mechanism, texts_of(language.code)),
                "downloads": [*downloads_of(snapshot), *(WAVES if chain else ()), MECHANISM],
            }
        return {name: value for name, value in self._values[slug].items() if name != "key"}

    def download(self, request: Request) -> Response:
        """Answer with a file of the results; refused below the least number of reports."""
        survey = self.place.survey(request.path_params["slug"])
        name = request.path_params["name"]
        snapshot = self.snapshots.of(survey)
        if snapshot is None:
            words = words_of(request)
            error = words.say("results.too_few", least=survey.settings.least)
            return owner_page(request, "refused.html", REFUSED, survey=survey, error=error)
        chain = self.snapshots.waves(survey)
        possible = [*downloads_of(snapshot), *(WAVES if chain else ())]
        if name not in possible:
            raise UnknownNameError("results", f"unknown file '{name:.60}'")
        write = partial(WAVE_WRITERS[name], chain=chain) if name in WAVES else WRITERS[name]
        with tempfile.TemporaryDirectory(prefix="mechdesign-") as folder:
            path = Path(folder, name)
            write(str(path), snapshot)
            return _file(survey.slug, name, path.read_bytes())


def routes(place: Place) -> list[Route]:
    """Return the routes of the room, below ``/owner``."""
    room = ResultsRoom(place)
    return [
        Route("/s/{slug}/results", room.show),
        Route(f"/s/{{slug}}/results/{MECHANISM}", _mechanism),
        Route("/s/{slug}/results/{name}", room.download),
    ]


def _mechanism(request: Request) -> Response:
    """Answer with the built survey, which holds no report: the file of ``mechdesign estimate``."""
    survey = request.app.state.place.survey(request.path_params["slug"])
    if survey.mechanism is None:
        raise DataError(survey.slug, "is not built", "build it first")
    return _file(survey.slug, MECHANISM, survey.mechanism_path.read_bytes())


def _file(slug: str, name: str, content: bytes) -> Response:
    """Return a download."""
    headers = {"Content-Disposition": f'attachment; filename="{slug}-{name}"', "Cache-Control": "no-store"}
    return Response(content, headers=headers, media_type=MEDIA[name.rpartition(".")[2]])


def days_of(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return how many reports came on each day, with the length of a bar out of 100.

    Examples
    --------
    >>> days_of({"2026-11-27": 10, "2026-11-28": 40})[0]
    {'day': datetime.date(2026, 11, 27), 'count': 10, 'length': 25.0}
    """
    most = max(counts.values(), default=1)
    return [
        {"day": date.fromisoformat(day), "count": count, "length": round(100.0 * count / most, 1)}
        for day, count in counts.items()
    ]


# Downloads


def downloads_of(snapshot: Snapshot) -> list[str]:
    """Return the names of the files of a snapshot: tables where its result is one."""
    tables = ("results.xlsx", "results.csv") if isinstance(snapshot.result, Tidy) else ()
    return [*tables, "results.json", "results.html", REPORTS]


def _columns(snapshot: Snapshot) -> Columns:
    names = snapshot.mechanism.data_columns
    return with_question(snapshot.result.tidy(), names[0] if len(names) == 1 else "")


def _write_workbook(path: str, snapshot: Snapshot) -> None:
    write_result(path, snapshot.result, snapshot.mechanism, _columns(snapshot))


def _write_csv(path: str, snapshot: Snapshot) -> None:
    write_results(path, {"estimates": _columns(snapshot)})


def _write_json(path: str, snapshot: Snapshot) -> None:
    _write_text(path, json.dumps(encode(snapshot.result), indent=2, allow_nan=False) + "\n")


def _write_reports(path: str, snapshot: Snapshot) -> None:
    lines = (json.dumps(row) for rows in snapshot.messages for row in rows)
    _write_text(path, "".join(f"{line}\n" for line in lines))


def _write_page(path: str, snapshot: Snapshot) -> None:
    slug = snapshot.slug
    estimation = Estimation(snapshot.result, "estimate", f"{slug}-{MECHANISM}", [f"{slug}-{REPORTS}"])
    _write_text(path, results_page(snapshot.mechanism, estimation, installed_version()))


def _write_text(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


WRITERS: dict[str, Writer] = {
    "results.xlsx": _write_workbook,
    "results.csv": _write_csv,
    "results.json": _write_json,
    "results.html": _write_page,
    REPORTS: _write_reports,
}


def _write_wave_workbook(path: str, snapshot: Snapshot, chain: Chain) -> None:
    write_tidy(path, {"waves": estimates_of_waves(chain)}, snapshot.mechanism)


def _write_wave_csv(path: str, snapshot: Snapshot, chain: Chain) -> None:
    write_results(path, {"estimates": estimates_of_waves(chain).tidy()})


def _write_wave_page(path: str, snapshot: Snapshot, chain: Chain) -> None:
    mechanisms = [wave.mechanism for wave in chain]
    estimations = [
        Estimation(wave.result, "estimate", f"{wave.slug}-{MECHANISM}", [f"{wave.slug}-{REPORTS}"])
        for wave in chain
    ]
    text = waves_page(mechanisms, estimations, estimates_of_waves(chain), installed_version())
    _write_text(path, text)


WAVE_WRITERS: dict[str, Callable[..., None]] = {
    "waves.xlsx": _write_wave_workbook,
    "waves.csv": _write_wave_csv,
    "waves.html": _write_wave_page,
}
WAVES = tuple(WAVE_WRITERS)
