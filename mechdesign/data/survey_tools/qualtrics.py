"""Exports of Qualtrics: three header lines (names, questions, ImportIds), two of them, or older ones."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mechdesign.data.identifiers import plain_name
from mechdesign.data.survey_tools.export import (
    IDENTIFYING,
    TECHNICAL,
    TIMES,
    Export,
    ExportColumn,
    cells_by_column,
    plain_text,
    unique_name,
)
from mechdesign.data.text_files import IMPORT

TOOL = "Qualtrics"

OWN = {
    **dict.fromkeys(("startdate", "enddate", "recordeddate"), TIMES),
    **dict.fromkeys(
        [
            "ipaddress",
            "responseid",
            "recordid",
            "recipientlastname",
            "recipientfirstname",
            "recipientemail",
            "externalreference",
            "externaldatareference",
            "locationlatitude",
            "locationlongitude",
            "locationaccuracy",
            "name",
            "emailaddress",
        ],
        IDENTIFYING,
    ),
    **dict.fromkeys(
        [
            "status",
            "progress",
            "durationinseconds",
            "duration",
            "finished",
            "distributionchannel",
            "userlanguage",
            "responseset",
            "responsetype",
        ],
        TECHNICAL,
    ),
}
"""Plain names of the columns that are not of the survey."""

TIMING = ("firstclick", "lastclick", "pagesubmit", "clickcount")
PREVIEWS = frozenset(["1", "2", "8", "9", "12", "17"])
"""Codes of the status of previews, tests and spam."""
PREVIEW_WORDS = ("preview", "test", "spam")
CODES = ("-99", "-66")
"""What Qualtrics writes for questions that were seen and not answered, or not seen."""
SUBQUESTION = re.compile(r"(.+)_([0-9]+)")
UNFINISHED = ("false", "0", "falsch", "faux", "falso")


def is_export(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first lines are those of an export of Qualtrics."""
    if any(IMPORT.match(cell) for row in rows[1:3] for cell in row):
        return True
    old = (
        len(rows) > 1
        and len(rows[0]) > 5
        and [cell.strip("\ufeff") for cell in rows[0][:3]] == ["V1", "V2", "V3"]
    )
    return bool(old and plain_name(rows[1][0]) == "responseid")


def read_export(rows: Sequence[Sequence[str]]) -> Export:
    """Return the columns and rows of an export."""
    imports = (
        next((number for number in (1, 2) if any(map(IMPORT.match, rows[number]))), 0) if len(rows) > 2 else 0
    )
    if not imports and len(rows) > 1 and any(map(IMPORT.match, rows[1])):
        imports = 1
    names = [cell.strip().strip("\ufeff") for cell in rows[0]]
    texts = list(rows[1]) if imports != 1 else [""] * len(names)
    identities = [_import_id(cell) for cell in rows[imports]] if imports else [""] * len(names)
    first = imports + 1 if imports else 2
    body = [row for row in rows[first:] if any(cell.strip() for cell in row)]
    columns = cells_by_column(body, len(names))
    items: list[ExportColumn] = []
    for place, (name, cells) in enumerate(zip(names, columns, strict=True)):
        if not name:
            continue
        text = plain_text(texts[place]) if place < len(texts) else ""
        identity = identities[place] if place < len(identities) else ""
        if re.fullmatch(r"V[0-9]+", name) and plain_name(text) in OWN:
            name = text  # of older versions
        item = ExportColumn(unique_name(name, [other.name for other in items]), cells, text)
        item.dropped = _own(name, identity)
        item.missing.codes.update(CODES)
        items.append(item)
    _group(items)
    export = Export(TOOL, items, len(body))
    export.leave_out("of previews, tests or spam", export.item("Status"), _is_preview)
    export.leave_out("of previews, tests or spam", export.item("DistributionChannel"), _is_preview_channel)
    finished = export.item("Finished")
    export.leave_out("not finished", finished, lambda cell: cell.casefold() in UNFINISHED)
    if finished is None:
        export.leave_out("not finished", export.item("Progress"), lambda cell: cell not in ("", "100"))
    people = [export.item(name) for name in ("RecipientEmail", "ExternalReference", "ExternalDataReference")]
    filled = [item for item in people if item is not None and sum(map(bool, item.cells)) * 2 > len(body)]
    export.person = filled[0] if filled else export.item("ResponseId", "ResponseID")
    return export


def _import_id(cell: str) -> str:
    try:
        document = json.loads(cell)
    except ValueError:
        return ""
    identity = document.get("ImportId", "") if isinstance(document, dict) else ""
    return identity if isinstance(identity, str) else ""


def _own(name: str, identity: str) -> str:
    """Return why a column is none of the survey; empty for one that may be."""
    for word in (plain_name(name), plain_name(identity)):
        if word in OWN:
            return OWN[word]
        if word.endswith(TIMING):
            return TECHNICAL
    if re.search(r"_DO(_[0-9]+)?$", name) or name.startswith("Q_"):
        return TECHNICAL
    return ""


def _is_preview(cell: str) -> bool:
    return cell in PREVIEWS or any(word in cell.casefold() for word in PREVIEW_WORDS)


def _is_preview_channel(cell: str) -> bool:
    return cell.casefold() in PREVIEW_WORDS


def _group(items: Sequence[ExportColumn]) -> None:
    """Recognize the ticks of one question: columns ``Q5_1``, ``Q5_2`` with one text each, or a 1."""
    groups: dict[str, list[ExportColumn]] = {}
    for item in items:
        match = SUBQUESTION.fullmatch(item.name)
        if match and not item.dropped:
            groups.setdefault(match[1], []).append(item)
    for name, members in groups.items():
        texts = [[cell for cell in item.distinct if cell not in CODES] for item in members]
        if len(members) < 2 or not all(len(cells) <= 1 for cells in texts) or not any(texts):
            continue
        options = [_option(item.text) for item in members]
        for item, cells, (question, option) in zip(members, texts, options, strict=True):
            if cells and cells[0] != "1" and option != cells[0]:
                option = cells[0]
            item.kind, item.group, item.option = "tick", name, option or item.name
            item.group_text = question


def _option(text: str) -> tuple[str, str]:
    """Return the question and the option of a text such as ``Which? - Selected Choice - Mail``."""
    question, _, option = text.rpartition(" - ")
    return question.removesuffix(" - Selected Choice").removesuffix(" (Select all that apply.)"), option
