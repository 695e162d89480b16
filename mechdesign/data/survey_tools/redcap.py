"""Exports of REDCap, raw or with labels, and the data dictionary of a project.

A project has a row for each record; with events or repeated instruments several, each with the columns that
belong to it. The rows of a record are joined: of each column the first cell that is not empty counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mechdesign.core.errors import DataError
from mechdesign.data.identifiers import plain_name
from mechdesign.data.survey_tools.export import (
    FREE_TEXT,
    IDENTIFYING,
    TECHNICAL,
    TIMES,
    Export,
    ExportColumn,
    cells_by_column,
    plain_text,
    short_name,
)

TOOL = "REDCap"

OWN = {
    **dict.fromkeys(
        [
            "redcapeventname",
            "redcaprepeatinstrument",
            "redcaprepeatinstance",
            "redcapdataaccessgroup",
            "eventname",
            "repeatinstrument",
            "repeatinstance",
            "dataaccessgroup",
            "complete",
        ],
        TECHNICAL,
    ),
    "redcapsurveyidentifier": IDENTIFYING,
    "surveyidentifier": IDENTIFYING,
}
MARKS = ("redcapeventname", "redcaprepeatinstrument", "redcapsurveyidentifier", "repeatinstrument")
CHECKBOX = re.compile(r"(.+)___(.+)")
CHOICE = re.compile(r"(.*\S)\s*\(choice=(.*)\)", re.DOTALL)
STATUS = frozenset(["", "0", "1", "2", "incomplete", "unverified", "complete"])
INCOMPLETE = ("", "0", "incomplete")
TICKS = ("1", "checked")

FIELD = ("Variable / Field Name", "field_name")
FIELDS = {
    "type": ("Field Type", "field_type"),
    "label": ("Field Label", "field_label"),
    "choices": ("Choices, Calculations, OR Slider Labels", "select_choices_or_calculations"),
    "validation": (
        "Text Validation Type OR Show Slider Number",
        "text_validation_type_or_show_slider_number",
    ),
    "low": ("Text Validation Min", "text_validation_min"),
    "high": ("Text Validation Max", "text_validation_max"),
    "identifier": ("Identifier?", "identifier"),
}
"""Columns of a data dictionary, as the web pages and the programming interface write them."""


@dataclass
class DictionaryField:
    """A field of a data dictionary."""

    name: str
    type: str = ""
    label: str = ""
    choices: dict[str, str] = field(default_factory=dict)
    validation: str = ""
    low: float | None = None
    high: float | None = None
    identifier: bool = False


def is_export(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is that of an export of REDCap."""
    names = [cell.strip("\ufeff ") for cell in rows[0]]
    plain = [plain_name(name) for name in names]
    if any(mark in plain for mark in MARKS):
        return True
    checkboxes = [name for name in names if CHECKBOX.fullmatch(name) or CHOICE.fullmatch(name)]
    statuses = [
        place for place, name in enumerate(names) if name.endswith("_complete") or name == "Complete?"
    ]
    return any(
        all(place >= len(row) or row[place].strip().casefold() in STATUS for row in rows[1:])
        for place in statuses
    ) and (
        bool(checkboxes) or plain[0] in ("recordid", "studyid", "participantid", "subjectid", "record", "id")
    )


def read_dictionary(rows: Sequence[Sequence[str]], name: str) -> dict[str, DictionaryField]:
    """Return the fields of a data dictionary by their names.

    Raises
    ------
    DataError
        When the table is no data dictionary.
    """
    header = [cell.strip("\ufeff ") for cell in rows[0]] if rows else []
    places = {
        key: next((header.index(word) for word in words if word in header), None)
        for key, words in FIELDS.items()
    }
    first = next((header.index(word) for word in FIELD if word in header), None)
    if first is None or places["type"] is None:
        remedy = "download the data dictionary of the project, as CSV"
        raise DataError(name, f"is no data dictionary of REDCap: no column '{FIELD[0]}'", remedy)
    result = {}
    for row in rows[1:]:
        cells = {
            key: row[place].strip() if place is not None and place < len(row) else ""
            for key, place in places.items()
        }
        variable = row[first].strip() if first < len(row) else ""
        if variable:
            result[variable] = DictionaryField(
                variable,
                cells["type"],
                plain_text(cells["label"]),
                _choices(cells["choices"]) if cells["type"] not in ("calc", "slider") else {},
                cells["validation"],
                _number(cells["low"]),
                _number(cells["high"]),
                cells["identifier"].casefold() in ("y", "yes"),
            )
    return result


def _choices(text: str) -> dict[str, str]:
    """Return the answers by their codes.

    Examples
    --------
    >>> _choices("0, No | 1, Yes, always")
    {'0': 'No', '1': 'Yes, always'}
    """
    pairs = [part.partition(",") for part in re.split(r"\s*(?:\||\\n|\n)\s*", text) if part.strip()]
    return {code.strip(): plain_text(label) or code.strip() for code, _, label in pairs}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_export(rows: Sequence[Sequence[str]], fields: dict[str, DictionaryField]) -> Export:
    """Return the columns and rows of an export, with what a data dictionary says of them."""
    names = [cell.strip("\ufeff ") for cell in rows[0]]
    start = 1 if names and not names[0] else 0  # row numbers that R writes
    body = [row[start:] for row in rows[1:] if any(cell.strip() for cell in row)]
    names = names[start:]
    items: list[ExportColumn] = []
    for name, cells in zip(names, cells_by_column(body, len(names)), strict=True):
        items.append(_item(name, ["" if cell == "NA" else cell for cell in cells], fields, items))
    export = Export(TOOL, items, len(body), person=items[0], joins=True)
    items[0].dropped = IDENTIFYING
    if not any(plain_name(item.name) in MARKS for item in items):
        export.joins = False
    return export


def _item(
    name: str, cells: list[str], fields: dict[str, DictionaryField], before: Sequence[ExportColumn]
) -> ExportColumn:
    taken = [item.name for item in before]
    plain = plain_name(name)
    if plain in OWN or plain.startswith("redcap"):
        return ExportColumn(
            name if name not in taken else short_name(name, taken), cells, dropped=OWN.get(plain, TECHNICAL)
        )
    if name.endswith(("_complete", "Complete?")) and {cell.casefold() for cell in cells} <= STATUS:
        return ExportColumn(name if name not in taken else short_name(name, taken), cells, dropped=TECHNICAL)
    if name.endswith("_timestamp") or plain.endswith("surveytimestamp"):
        return ExportColumn(name, cells, dropped=TIMES)
    checkbox, choice = CHECKBOX.fullmatch(name), CHOICE.fullmatch(name)
    if checkbox:
        known = fields.get(checkbox[1])
        code = checkbox[2]
        labels = known.choices if known else {}
        option = labels.get(code, labels.get(code.replace("_", "-", 1), code))
        item = ExportColumn(
            name, cells, known.label if known else "", "tick", group=checkbox[1], option=option
        )
        item.group_text = item.text
        item.dropped = IDENTIFYING if known and known.identifier else ""
        return item
    if choice:
        group = short_name(choice[1])
        text = plain_text(choice[1])
        item = ExportColumn(
            short_name(f"{group} {choice[2]}", taken), cells, text, "tick", group=group, option=choice[2]
        )
        item.group_text = text
        return item
    known = fields.get(name) or next(
        (each for each in fields.values() if each.label == plain_text(name)), None
    )
    short = name if re.fullmatch(r"\w+", name) else known.name if known else short_name(name, taken)
    item = ExportColumn(
        short if short not in taken else short_name(short, taken),
        cells,
        plain_text(name) if " " in name else "",
    )
    if known is not None:
        _describe(item, known)
    return item


def _describe(item: ExportColumn, known: DictionaryField) -> None:
    """Add what a data dictionary says of a column."""
    item.text = known.label
    if known.identifier:
        item.dropped = IDENTIFYING
    elif known.type in ("notes", "file", "sql", "signature"):
        item.dropped = FREE_TEXT
    elif known.validation.startswith(("date", "time")):
        item.dropped = TIMES
    elif known.validation.startswith(("email", "phone", "zipcode", "postalcode", "ssn", "mrn")):
        item.dropped = IDENTIFYING
    elif known.type in ("radio", "dropdown"):
        item.kind, item.labels = "choice", known.choices
    elif known.type == "yesno":
        item.kind, item.labels = "choice", {"0": "No", "1": "Yes"}
    elif known.type == "truefalse":
        item.kind, item.labels = "choice", {"0": "False", "1": "True"}
    elif known.type == "slider":
        item.kind, item.low, item.high = "number", 0.0, 100.0
    elif known.type == "calc" or known.validation.startswith(("number", "integer")):
        item.kind, item.low, item.high = "number", known.low, known.high
