"""Exports of SurveyMonkey: two header lines, of which the second has ``Response`` or the answers to tick."""

from __future__ import annotations

from collections.abc import Sequence

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
from mechdesign.data.text_files import RESPONSES

TOOL = "SurveyMonkey"

OWN = {
    **dict.fromkeys(["respondentid", "ipaddress", "emailaddress", "firstname", "lastname"], IDENTIFYING),
    **dict.fromkeys(["startdate", "enddate", "datecreated", "datemodified"], TIMES),
    **dict.fromkeys(["collectorid", "customvalue", "customdata1", "customdata"], TECHNICAL),
}
OTHER = ("otherpleasespecify", "other", "otherspecify", "comment", "comments")


def is_export(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first lines are those of an export of SurveyMonkey."""
    if len(rows) < 2:
        return False
    second = [cell.strip().casefold() for cell in rows[1]]
    first = [plain_name(cell) for cell in rows[0]]
    is_second = any(cell in RESPONSES for cell in second)
    return is_second and ("" in first or first[0] == "respondentid" or second[0] == "")


def read_export(rows: Sequence[Sequence[str]]) -> Export:
    """Return the columns and rows of an export."""
    width = max(len(rows[0]), len(rows[1]))
    first, second = (list(row) + [""] * (width - len(row)) for row in rows[:2])
    body = [row for row in rows[2:] if any(cell.strip() for cell in row)]
    columns = cells_by_column(body, width)
    items: list[ExportColumn] = []
    members: list[ExportColumn] = []
    question = name = ""
    for place in range(width):
        title, option = plain_text(first[place]), plain_text(second[place])
        if title:
            _finish(members)
            members = []
            question, name = title, short_name(title, [item.name for item in items])
        item = ExportColumn(name, columns[place], question)
        if title and plain_name(title) in OWN:
            item.name, item.dropped = title.strip(), OWN[plain_name(title)]
        elif plain_name(option) in OTHER:
            item.dropped = FREE_TEXT
            item.name = f"{name}_other"
        elif option.casefold() not in RESPONSES and option:
            item.option, item.group, item.group_text = option, name, question
            item.name = short_name(f"{name} {option}", [other.name for other in items])
            members.append(item)
        elif not title:
            item.name = short_name(f"{name} {place}", [other.name for other in items])
        items.append(item)
    _finish(members)
    export = Export(TOOL, items, len(body))
    export.person = export.item("Respondent ID", "RespondentID")
    return export


def _finish(members: Sequence[ExportColumn]) -> None:
    """Decide whether the columns of one question are ticks, or the rows of a matrix."""
    if members and all(_is_tick(item) for item in members):
        for item in members:
            item.kind = "tick"
        return
    for item in members:  # each row of a matrix is a question
        item.text = f"{item.text} {item.option}"
        item.group = item.option = item.group_text = ""


def _is_tick(item: ExportColumn) -> bool:
    cells = item.distinct
    return not cells or (len(cells) == 1 and (plain_text(cells[0]) == item.option or cells[0] == "1"))
