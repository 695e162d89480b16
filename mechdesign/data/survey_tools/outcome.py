"""An export becomes a survey file and a file of answers; what was done with each column is said."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mechdesign.core.errors import DataError, ParameterError, UnknownNameError, counted, printable, suggestion
from mechdesign.data.data_set import file_rows
from mechdesign.data.decimals import DecimalSigns
from mechdesign.data.identifiers import is_person_column
from mechdesign.data.survey_tools import (
    google_forms,
    limesurvey,
    qualtrics,
    redcap,
    statistics_files,
    surveymonkey,
)
from mechdesign.data.survey_tools.export import (
    IDENTIFYING,
    Export,
    ExportColumn,
    RowRule,
    identifying_reason,
    selected_rows,
    unique_name,
)
from mechdesign.data.survey_tools.questions import ImportedQuestion, NoQuestionError, draft_item, draft_ticks
from mechdesign.data.text_files import PLAIN, RECOGNIZED, FileForm

TOOLS = (qualtrics, surveymonkey, limesurvey, redcap, google_forms)
"""The tools whose exports are tables, in the order in which their marks are looked for."""

MOST_COLUMNS = 10_000
"""Columns of an export; a survey has far fewer questions."""

LEAST_USERS = 1000
"""Respondents for whom a survey is designed at least, unless stated: with fewer, hardly anything is told."""

NAMES = "Qualtrics, LimeSurvey, SurveyMonkey, Google Forms, REDCap, SPSS or Stata"


@dataclass(frozen=True)
class ImportChoices:
    """What a user states about an import.

    Attributes
    ----------
    columns : tuple of str
        The columns or questions that are asked; all by default.
    left_out : tuple of str
        Columns that are not asked.
    codes : tuple of str
        Further codes for no answer.
    single : tuple of str
        Columns whose cells have one answer each, also where they look like several.
    rows : RowRule
    dictionary : str
        The data dictionary of a REDCap project.
    """

    columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    rows: RowRule = field(default_factory=RowRule)
    dictionary: str = ""


def export_of_file(path: str, dictionary: str = "", form: FileForm = PLAIN) -> Export:
    """Return the export in a file, of whatever tool.

    Raises
    ------
    DataError
        When the file cannot be read, or is no export.
    """
    if dictionary and Path(path).suffix.lower() in statistics_files.SUFFIXES:
        raise ParameterError("--dictionary", "is for exports of REDCap", "omit it")
    if Path(path).suffix.lower() in statistics_files.SUFFIXES:
        if form.sheet or form.delimiter or form.encoding:
            raise DataError(path, "has neither sheets nor text", "omit --sheet, --delimiter and --encoding")
        return statistics_files.read_export(path, path)
    rows = _rows(path, form)
    if not rows:
        raise DataError(path, "is empty", "give the export of a survey tool")
    fields = redcap.read_dictionary(file_rows(dictionary, dictionary, form), dictionary) if dictionary else {}
    tool = next((tool for tool in TOOLS if tool.is_export(rows)), redcap if fields else None)
    if tool is None:
        remedy = "for another table use mechdesign init"
        raise DataError(path, f"is not an export of {NAMES}", remedy)
    if fields and tool is not redcap:
        raise ParameterError(
            "--dictionary", f"is for exports of REDCap, and {path} is one of {tool.TOOL}", "omit it"
        )
    export = redcap.read_export(rows, fields) if tool is redcap else tool.read_export(rows)
    if not export.rows:
        raise DataError(path, f"is an export of {export.tool} without rows", "export the responses")
    return export


def _rows(path: str, form: FileForm) -> list[list[str]]:
    """Return the rows of a table that are not blank, each with the cells of the header; refuse others."""
    rows = file_rows(path, path, form)
    width = len(rows[0]) if rows else 0
    if width > MOST_COLUMNS:
        raise DataError(path, f"has {width} columns", f"export at most {MOST_COLUMNS}")
    result = []
    for number, row in enumerate(rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < width or any(cell.strip() for cell in row[width:]):
            what = f"{counted(len(row), 'field')}, the header has {width}"
            raise DataError(f"{path}: row {number}", what, "correct it, or export the responses again")
        result.append(row)
    return result


@dataclass
class ImportedSurvey:
    """A survey and its answers.

    Attributes
    ----------
    tool : str
    drafts : list of ImportedQuestion
    dropped : dict
        Names of columns that are no questions, by the reason.
    rows : int
        Of the export.
    reasons : dict
        Numbers of rows that do not count, by the reason.
    people : int
        Rows that count.
    person : str
        The column by which people were told apart; empty without one.
    advice : str
        What would make the import better.
    """

    tool: str
    drafts: list[ImportedQuestion]
    dropped: dict[str, list[str]]
    rows: int
    reasons: dict[str, int]
    people: int
    person: str
    advice: str = ""

    def columns(self) -> dict[str, list[str]]:
        """Return the answers, by the names of their columns."""
        return {name: cells for draft in self.drafts for name, cells in draft.columns.items()}

    def lines(self) -> list[str]:
        """Return what was done with rows and columns."""
        gone = _reasons(self.reasons)
        lines = [f"rows: {self.rows} in the file" + (f"; left out: {gone}" if gone else "")]
        if self.person:
            lines.append(f"one row per person, by '{printable(self.person)}'")
        for draft in self.drafts:
            lines.append(f"kept     {_described(draft)}")
        for draft in self.drafts:
            lines += [f"recoded  {printable(draft.table['name'])}: {printable(done)}" for done in draft.done]
        for reason, names in self.dropped.items():
            lines.append(f"dropped  {_listed(names)}: {reason}")
        checks: dict[str, list[str]] = {}
        for draft in self.drafts:
            for remark in draft.remarks:
                checks.setdefault(remark, []).append(draft.table["name"])
        lines += [f"check    {_listed(names)}: {remark}" for remark, names in checks.items()]
        if self.advice:
            lines.append(f"check    {self.advice}")
        return lines

    @property
    def looked(self) -> list[str]:
        """The questions whose answers or range were read from people's answers."""
        return [draft.table["name"] for draft in self.drafts if draft.looked]


def _reasons(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{counted(count, 'row')} {reason}" for reason, count in reasons.items())


def _described(draft: ImportedQuestion) -> str:
    table = draft.table
    name, text = printable(table["name"]), printable(table.get("text", ""))
    words = f' "{text if len(text) <= 60 else text[:57] + "..."}"' if text else ""
    if "labels" in table:
        noun = "tick" if table.get("kind") == "several" else "answer"
        what = counted(len(table["labels"]), noun)
        what += ", ordered" if table.get("kind") == "ordered" else ""
    else:
        what = f"a number in [{table['range'][0]:g}, {table['range'][1]:g}]"
    source = f", from {draft.source}" if table.get("kind") == "several" else ""
    return f"{name}{words}: {what}{source}" + (", may be skipped" if table.get("skip") else "")


def _listed(names: Sequence[str], most: int = 8) -> str:
    text = ", ".join(printable(name) for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def import_export(
    export: Export, choices: ImportChoices, path: str, form: FileForm = PLAIN
) -> ImportedSurvey:
    """Return the survey of an export.

    Raises
    ------
    DataError
        When no column or no row is left.
    UnknownNameError
        For a column that the export does not have.
    """
    _require_names(export, choices, path)
    person = _person(export, choices.rows.person)
    for item in export.items:
        item.dropped = item.dropped or identifying_reason(item)
        if item is person:
            item.dropped = item.dropped or IDENTIFYING
        if item.name in choices.left_out or (item.group and item.group in choices.left_out):
            item.dropped = item.dropped or "as requested"
    nothing = DataError(
        path, f"no column of this export of {export.tool} is a question", "see mechdesign init"
    )
    if all(item.dropped for item in export.items):
        raise nothing
    rows, reasons = selected_rows(export, choices.rows, person)
    if not rows:
        gone = _reasons(reasons)
        raise DataError(path, f"no row is left ({gone})", "see --partial and --person")
    stated = "" if form.decimal == RECOGNIZED else form.decimal
    drafts, dropped = _drafts(
        export, choices, rows, lambda: DecimalSigns(path, stated, frozenset(), points=True)
    )
    if not drafts:
        own = {item.name for item in export.items if not item.dropped}
        reasons_of = [
            f"{name}: {reason}" for reason, names in dropped.items() for name in names if name in own
        ]
        raise nothing.changed(what=f"{nothing.what} ({'; '.join(reasons_of[:3])})")
    name = "" if person is None else person.name
    advice = ""
    if (
        export.tool == redcap.TOOL
        and not choices.dictionary
        and any(not draft.table.get("text") for draft in drafts)
    ):
        advice = (
            "codes without labels, questions without words: add --dictionary, the project's data dictionary"
        )
    elif export.tool == limesurvey.TOOL and (
        codes := [draft.table["name"] for draft in drafts if _has_codes(draft)]
    ):
        advice = f"{_listed(codes)}: codes of answers; export full answers, or write the answers for them"
    return ImportedSurvey(export.tool, drafts, dropped, export.rows, reasons, len(rows), name, advice)


def _has_codes(draft: ImportedQuestion) -> bool:
    """Whether the answers to a question look like the codes of LimeSurvey, A1 and A2."""
    return all(re.fullmatch(r"[A-Z]{1,2}[0-9]{1,3}", label) for label in draft.table.get("labels", ["-"]))


def _require_names(export: Export, choices: ImportChoices, path: str) -> None:
    names = [item.name for item in export.items]
    known = [*names, *dict.fromkeys(item.group for item in export.items if item.group)]
    for option, names_stated in (
        ("column", choices.columns),
        ("drop", choices.left_out),
        ("single", choices.single),
    ):
        for name in names_stated:
            if name not in known:
                raise UnknownNameError(
                    f"--{option}", f"no column '{name}' in {path}", suggestion(name, known)
                )
    if choices.rows.person not in ("", "-", *names):
        what = f"no column '{choices.rows.person}' in {path}"
        raise UnknownNameError("--person", what, suggestion(choices.rows.person, names))
    identifying = {
        item.name for item in export.items if item.dropped == IDENTIFYING or identifying_reason(item)
    }
    for name in choices.columns:
        if name in identifying:
            raise ParameterError(
                f"--column {name}", "identifies people or says when they answered", "omit it"
            )


def _person(export: Export, stated: str) -> ExportColumn | None:
    """Return the column that identifies people: the stated one, the tool's, or one with such a name."""
    if stated == "-":
        return None
    if stated:
        return next(item for item in export.items if item.name == stated)
    if export.person is not None:
        return export.person
    named = [item for item in export.items if is_person_column(item.name) and len(item.distinct) > 1]
    return named[0] if named else None


def _drafts(
    export: Export, choices: ImportChoices, rows: list[int], new_signs: Callable[[], DecimalSigns]
) -> tuple[list[ImportedQuestion], dict[str, list[str]]]:
    """Return the questions, and the columns that are none by the reason; each column has a decimal sign."""
    drafts: list[ImportedQuestion] = []
    dropped: dict[str, list[str]] = {}
    taken: list[str] = []
    done: set[str] = set()
    groups: dict[str, list[ExportColumn]] = {}
    for item in export.items:
        if item.kind == "tick" and not item.dropped:
            groups.setdefault(item.group, []).append(item)
    for item in export.items:
        is_asked = not choices.columns or item.name in choices.columns or item.group in choices.columns
        if item.dropped or not is_asked:
            dropped.setdefault(item.dropped or "not requested", []).append(item.name)
            continue
        if item.kind == "tick" and item.group in done:
            continue
        members = groups.get(item.group, []) if item.kind == "tick" else []
        name = unique_name(_question_name(item), taken)
        try:
            if item.kind == "tick":
                done.add(item.group)
                draft = draft_ticks(members, rows, name, choices.codes)
            else:
                draft = draft_item(item, rows, name, choices.codes, item.name in choices.single, new_signs())
        except NoQuestionError as reason:
            names = [other.name for other in members] if item.kind == "tick" else [item.name]
            dropped.setdefault(str(reason), []).extend(names)
            continue
        taken.append(name)
        drafts.append(draft)
    return drafts, dropped


def _question_name(item: ExportColumn) -> str:
    name = item.group if item.kind == "tick" else item.name
    return " ".join("".join(letter for letter in name if letter.isprintable()).split()) or "question"


ORDER = ("name", "text", "kind", "labels", "range", "bins", "skip")

LOOKING = (
    "PRIVACY: the answers of people were read for the labels and ranges of {}.",
    "These reveal something about people that epsilon does not cover: compare them with the questionnaire.",
)


def survey_text(
    outcome: ImportedSurvey, title: str, epsilon: float, users: int, path: str, answers: str
) -> str:
    """Return the survey file."""
    file, data = printable(os.path.basename(path)), printable(os.path.basename(answers))
    built = f"{file.removesuffix('.toml')}.json"
    lines = [
        f"# A survey from an export of {outcome.tool}. Check every question below, then:",
        f"#   mechdesign build {file} -o {built}",
        f"#   mechdesign randomize {built} {data} -o reports.csv",
        f"#   mechdesign estimate {built} reports.csv",
    ]
    if outcome.looked:
        lines += ["#", *(f"# {line}".format(_listed(outcome.looked)) for line in LOOKING)]
    lines += ["", "[survey]", f"title = {_toml(title)}"]
    lines.append(f"epsilon = {_toml(epsilon)}  # limits what each user reveals, over all questions together")
    own = "" if users == outcome.people else f"; the file has {outcome.people}"
    lines.append(f"users = {users}  # how many you expect to report{own}")
    for draft in outcome.drafts:
        lines += ["", *(f"# {remark}" for remark in draft.remarks), "[[questions]]"]
        lines += [f"{key} = {_toml(draft.table[key])}" for key in ORDER if key in draft.table]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
