"""The page of several waves: what changed, in words, tables and pictures; then the results of each wave."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.student import Change, Row, change_between
from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import decimals_of, margin_text, percent_with_margin, printable
from mechdesign.data.tidy import OF_ANSWERED
from mechdesign.report.page.mechanism import (
    certificate_rows,
    figure_values,
    limits_in_words,
    privacy_in_words,
)
from mechdesign.report.page.render import rendered
from mechdesign.report.page.results import (
    ENDS,
    Estimation,
    reporting_users,
    section_values,
    sentence_values,
    text_table,
)
from mechdesign.report.phrases import ENGLISH, Phrases, name_text
from mechdesign.report.sections import ResultTable, Section, rounded, sections_of
from mechdesign.show.figure import Figure
from mechdesign.show.panels import interval_figures, table_figures

if TYPE_CHECKING:
    from mechdesign.survey.waves import WaveEstimates

MOST_PHRASES = 3
"""Changes of a question that a sentence names."""

MOST_PICTURED = 8
"""Questions with more answers have no picture of their waves."""

CUMULATIVE = "up to each answer"
"""Sums of other rows, whose changes are sums as well."""


@dataclass(frozen=True)
class WaveTable:
    """A table of one question in all waves.

    Attributes
    ----------
    caption : str
        Empty for the table that the question is about.
    is_share : bool
    answers : tuple of str
        Of any wave, those of the last one first.
    estimates : tuple of dict of str to Row
        Of each wave by answer, where it has them.
    changes : tuple of (from, to, list of Change)
    """

    caption: str
    is_share: bool
    answers: tuple[str, ...]
    estimates: tuple[Mapping[str, Row], ...]
    changes: tuple[tuple[str, str, list[Change]], ...]


def waves_page(
    mechanisms: Sequence[Mechanism],
    estimations: Sequence[Estimation],
    estimates: WaveEstimates,
    version: str,
) -> str:
    """Return the page as HTML text: the changes first, then the results of each wave.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        Of the waves, the first one first, as ``estimates`` has them; audited again for the page.
    estimations : sequence of Estimation
        Of each wave, with its files.
    estimates : WaveEstimates
    version : str
        Of the toolkit.
    """
    last = mechanisms[-1]
    about = last.about
    questions = compared_questions(mechanisms, estimates)
    words = ["mechdesign", "estimate"]
    for each in estimations:
        words += [each.mechanism, *each.reports]
    words += estimations[-1].options
    return rendered(
        "waves.html",
        language=about.language,
        heading=printable(about.heading) or "Results of several waves",
        title=printable(about.title) if about.title != about.heading else "",
        said=[
            {"heading": printable(section.heading), "text": change_sentence(tables)}
            for section, tables in questions
        ],
        comparisons=[
            {
                **question_values(section, tables, estimates.names),
                "figures": figure_values(wave_figures(section.heading, tables, estimates.names), narrow=True),
            }
            for section, tables in questions
        ],
        total=printable(estimates.privacy),
        waves=[
            _wave_values(name, mechanism, estimation)
            for name, mechanism, estimation in zip(estimates.names, mechanisms, estimations, strict=True)
        ],
        notes=[printable(note) for note in estimates.notes],
        population=estimates.population,
        explained=[printable(text) for text in last.explained()],
        promises=privacy_in_words(last, last.certificates()),
        limits=limits_in_words(last),
        command_line=shlex.join(words),
        version=version,
    )


def _wave_values(name: str, mechanism: Mechanism, estimation: Estimation) -> dict[str, Any]:
    """Return what the page has of one wave."""
    sections = sections_of(estimation.result, mechanism)
    users = reporting_users(estimation.result)
    certificates = mechanism.certificates()
    return {
        "name": printable(name),
        "users": "" if users is None else f"{users:,}",
        "certified": all(item.holds for item in certificates),
        "said": [sentence_values(section, len(sections) > 1) for section in sections if section.sentence],
        "sections": [section_values(section, users, len(sections) > 1) for section in sections],
        "certificates": certificate_rows(certificates),
        "audit": f"mechdesign audit {shlex.quote(estimation.mechanism)}",
        "fingerprint": mechanism.fingerprint,
        "identity": mechanism.about.id,
    }


# Questions in all waves


def compared_questions(
    mechanisms: Sequence[Mechanism], estimates: WaveEstimates
) -> list[tuple[Section, list[WaveTable]]]:
    """Return the questions that at least two waves have, in the order of the last wave, with their tables."""
    waves = [
        {section.name: section for section in sections_of(result, mechanism)}
        for result, mechanism in zip(estimates.results, mechanisms, strict=True)
    ]
    names = dict.fromkeys(name for wave in reversed(waves) for name in wave)
    pairs = [(first, second) for first, second, _ in estimates.changes()]
    questions = []
    for name in names:
        sections = [wave.get(name) for wave in waves]
        last = next(section for section in reversed(sections) if section is not None)
        tables = list(_wave_tables(sections, estimates.names, pairs))
        if any(table.changes for table in tables):
            questions.append((last, tables))
    return questions


def _wave_tables(
    sections: Sequence[Section | None], names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Iterator[WaveTable]:
    """Yield the tables of a question in all waves."""
    tables = [
        {table.caption: table for table in section.tables}
        if section is not None and section.was_asked
        else {}
        for section in sections
    ]
    for caption in dict.fromkeys(caption for wave in reversed(tables) for caption in wave):
        if caption == CUMULATIVE:
            continue
        own = [wave.get(caption) for wave in tables]
        rows = [{} if table is None else _rows(table) for table in own]
        by_name = dict(zip(names, rows, strict=True))
        changes = [
            (
                first,
                second,
                [
                    change_between(caption, answer, by_name[first][answer], row)
                    for answer, row in by_name[second].items()
                    if answer in by_name[first]
                ],
            )
            for first, second in pairs
        ]
        yield WaveTable(
            caption,
            any(table.is_share for table in own if table is not None),
            tuple(dict.fromkeys(answer for wave in reversed(rows) for answer in wave)),
            tuple(rows),
            tuple(change for change in changes if change[2]),
        )


def _rows(table: ResultTable) -> dict[str, Row]:
    """Return the rows of a table that have an interval, by their answers."""
    columns = (table.numbers[key] for key in ("estimate", "standard_error", "low", "high"))
    return {
        answer: (float(row[0]), float(row[1]), float(row[2]), float(row[3]))
        for answer, *row in zip(table.answers, *columns, strict=True)
        if all(isinstance(entry, (int, float)) and math.isfinite(entry) for entry in row)
    }


# In words


def change_sentence(tables: Sequence[WaveTable], phrases: Phrases = ENGLISH) -> str:
    """Return the clear changes of a question in words: of its mean, else of its answers, first to last wave.

    Examples
    --------
    >>> change = Change("", "yes", 0.21, 0.03, 0.15, 0.27)
    >>> change_sentence([WaveTable("", True, ("yes",), (), (("2026", "2027", [change]),))])
    'From 2026 to 2027: “yes” up by 21 ±6 points.'
    """
    usable = [table for table in tables if table.changes]
    table = min(usable, key=lambda table: (table.is_share, table.caption != OF_ANSWERED))
    first, second, changes = table.changes[-1]
    clear = sorted((one for one in changes if one.is_clear), key=lambda one: -_size(one))
    if not clear:
        sentence = phrases.no_change if table.is_share else phrases.no_change_of_mean
        return sentence.format(first=name_text(first), second=name_text(second))
    left = len(clear) - MOST_PHRASES
    return phrases.clear_changes.format(
        first=name_text(first),
        second=name_text(second),
        among=phrases.among if table.caption == OF_ANSWERED else "",
        changes="; ".join(_change_phrase(one, table.is_share, phrases) for one in clear[:MOST_PHRASES]),
        more=phrases.more_changes.format(count=left) if left > 0 else "",
    )


def _size(change: Change) -> float:
    return abs(change.value) / change.standard_error if change.standard_error else math.inf


def _change_phrase(change: Change, is_share: bool, phrases: Phrases) -> str:
    scale, unit = (100.0, phrases.points) if is_share else (1.0, "")
    margin = scale * (change.high - change.low) / 2.0
    digits = max(0, (decimals_of(margin) or 0) - is_share)
    subject = phrases.answer.format(answer=name_text(change.category)) if is_share else phrases.of_mean
    size = phrases.number(f"{scale * abs(change.value):.{digits}f} ±{margin:.{digits}f}")
    template = phrases.up if change.value > 0.0 else phrases.down
    return template.format(subject=subject, size=f"{size}{unit}")


# As texts of the page


def question_values(
    section: Section, tables: Sequence[WaveTable], names: Sequence[str], phrases: Phrases = ENGLISH
) -> dict[str, Any]:
    """Return a question in all waves as texts: its estimates and its changes."""
    return {
        "heading": printable(section.heading),
        "reports": "",
        "asked": True,
        "tables": [text for table in tables for text in _texts(table, names, phrases)],
        "figures": [],
        "notes": [],
    }


def _texts(table: WaveTable, names: Sequence[str], phrases: Phrases) -> Iterator[dict[str, Any]]:
    """Yield the estimates of all waves, then the changes between two each."""
    rows = [
        [answer, *(_estimate_text(wave.get(answer), table.is_share) for wave in table.estimates)]
        for answer in table.answers
    ]
    yield text_table(table.caption or "all waves", ["answer", *names], rows)
    among = phrases.among if table.caption == OF_ANSWERED else f", {table.caption}" * bool(table.caption)
    header = ["answer", f"change{' (points)' * table.is_share}", *ENDS, "clear"]
    for first, second, changes in table.changes:
        rows = [_change_cells(one, table.is_share) for one in changes]
        caption = phrases.table_of_changes.format(first=first, second=second)
        yield text_table(f"{caption}{among}", header, rows)


def _estimate_text(row: Row | None, is_share: bool) -> str:
    if row is None:
        return "-"
    value, _, low, high = row
    margin = (high - low) / 2.0
    if is_share:
        return percent_with_margin(value, margin)
    return f"{rounded(value, margin, False)} {margin_text(margin, False)}"


def _change_cells(change: Change, is_share: bool) -> list[str]:
    scale = 100.0 if is_share else 1.0
    digits = max(0, decimals_of(scale * change.standard_error) or 0)
    numbers = (f"{scale * number:+.{digits}f}" for number in (change.value, change.low, change.high))
    return [change.category, *numbers, "yes" if change.is_clear else "no"]


def wave_figures(heading: str, tables: Sequence[WaveTable], names: Sequence[str]) -> list[Figure]:
    """Return the pictures of a question: bars of shares of the waves side by side, means with intervals."""
    shares = [table for table in tables if table.is_share and len(table.answers) <= MOST_PICTURED]
    figures: list[Figure] = []
    if shares:
        table = next((table for table in shares if table.caption == OF_ANSWERED), shares[0])
        value, _, low, high = _arrays(table)
        of = f", {table.caption}" if table.caption else ""
        pictures = table_figures(
            f"{heading}{of}", ["wave", "answer"], [names, table.answers], value, (low, high)
        )
        figures += pictures
    for table in tables:
        if not table.is_share and len(table.answers) == 1:
            value, _, low, high = _arrays(table)[:, :, 0]
            name = table.caption or table.answers[0]
            figures += interval_figures(heading, names, value, (low, high), "wave", name, bars=False)
    return figures


def _arrays(table: WaveTable) -> NDArray[np.float64]:
    """Return estimates, errors and both ends, with a row for a wave and NaN where there is nothing."""
    missing = (np.nan,) * 4
    return np.array(
        [[wave.get(answer, missing) for answer in table.answers] for wave in table.estimates]
    ).transpose(2, 0, 1)
