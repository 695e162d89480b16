"""Exports of LimeSurvey: codes or full answers, headed by codes, by codes and questions, or by questions."""

from __future__ import annotations

import re
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
    unique_name,
)

TOOL = "LimeSurvey"

OWN = {
    **dict.fromkeys(
        [
            "id",
            "responseid",
            "antwortid",
            "token",
            "zugangsschlüssel",
            "zugangscode",
            "accesscode",
            "ipaddr",
            "ipaddress",
            "ipadresse",
            "firstname",
            "lastname",
            "email",
            "refurl",
            "referrerurl",
        ],
        IDENTIFYING,
    ),
    **dict.fromkeys(
        [
            "submitdate",
            "datesubmitted",
            "datumabgeschickt",
            "startdate",
            "datestarted",
            "datumgestartet",
            "datestamp",
            "datelastaction",
            "datumletzteaktivität",
        ],
        TIMES,
    ),
    **dict.fromkeys(
        [
            "lastpage",
            "letzteseite",
            "startlanguage",
            "startsprache",
            "seed",
            "zufallsstartwert",
            "interviewtime",
            "totaltime",
            "gesamtzeit",
        ],
        TECHNICAL,
    ),
}
"""Plain names of the columns that are not of the survey."""

PAGES = ("lastpage", "letzteseite")
SUBMITTED = ("submitdate", "datesubmitted", "datumabgeschickt")
TIMING = re.compile(r"(group|question|gruppen|fragen)(time|zeit)[0-9:]?.*", re.IGNORECASE)

CODED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)((?:\[[^\]]*\])*)(?:\.\s+(.*))?", re.DOTALL)
"""A heading by a code, such as ``Q1[SQ001]``, perhaps with the question behind it."""
WORDED = re.compile(r"(.*\S)\s*\[([^\]]*)\]", re.DOTALL)
"""A heading by a question, such as ``Which tools? [Mail]``."""
OF_PROGRAMS = re.compile(r"([A-Za-z]\w*)_(SQ[0-9]+|other)")
"""The same in exports for R and SPSS."""
YES_OR_NO = frozenset(["y", "n", "yes", "no", "ja", "nein", "oui", "non", "sí", "si", "sì", "1", "0", "2"])
OTHERS = ("other", "comment", "othercomment", "sonstiges", "kommentar")
NOT_SHOWN = ("N/A", "-oth-")
"""What LimeSurvey writes for a question that was not asked, and for an answer of one's own."""


def is_export(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is that of an export of LimeSurvey."""
    plain = [plain_name(_head(cell)) for cell in rows[0]]
    return any(name in PAGES for name in plain) and plain[0] in OWN


def _head(cell: str) -> str:
    """Return the code of a heading such as ``id. Response ID``; a heading without one as it is."""
    match = re.fullmatch(r"([A-Za-z][\w\[\]]*)\. .*", cell.strip("\ufeff "), re.DOTALL)
    return match[1] if match else cell.strip("\ufeff ")


def read_export(rows: Sequence[Sequence[str]]) -> Export:
    """Return the columns and rows of an export."""
    body = [row for row in rows[1:] if any(cell.strip() for cell in row)]
    items: list[ExportColumn] = []
    for heading, cells in zip(rows[0], cells_by_column(body, len(rows[0])), strict=True):
        items.append(_item(heading.strip("\ufeff "), cells, [item.name for item in items]))
    _drop_times(items)
    _group(items)
    export = Export(TOOL, items, len(body))
    submitted = next((item for item in items if plain_name(_head(item.name)) in SUBMITTED), None)
    export.leave_out("not finished", submitted, lambda cell: cell in ("", "N/A", "NULL"))
    people = [item for item in items if plain_name(item.name) in ("token", "zugangsschlüssel", "accesscode")]
    filled = [item for item in people if sum(map(bool, item.cells)) * 2 > len(body)]
    export.person = filled[0] if filled else items[0]
    return export


def _item(heading: str, cells: list[str], taken: list[str]) -> ExportColumn:
    plain = plain_name(_head(heading))
    if plain in OWN or TIMING.fullmatch(heading) or plain.startswith("attribute"):
        return ExportColumn(unique_name(_head(heading), taken), cells, dropped=OWN.get(plain, TECHNICAL))
    heading = OF_PROGRAMS.sub(r"\1[\2]", heading)
    coded, worded = CODED.fullmatch(heading), WORDED.fullmatch(heading)
    if coded and (coded[2] or coded[3] or " " not in heading):
        text = plain_text(coded[3] or "")
        parts = re.findall(r"\[([^\]]*)\]", coded[2])
        item = ExportColumn(unique_name("_".join([coded[1], *parts]), taken), cells, text)
        if parts:
            inner = WORDED.fullmatch(text)
            item.group, item.option = coded[1], inner[2] if inner else parts[0]
            item.group_text = inner[1] if inner else text
        last = parts[-1] if parts else ""
    elif worded:
        item = ExportColumn(
            short_name(f"{short_name(worded[1])} {worded[2]}", taken), cells, plain_text(heading)
        )
        item.group, item.option, item.group_text = short_name(worded[1]), worded[2], plain_text(worded[1])
        last = worded[2]
    else:
        return ExportColumn(short_name(heading, taken), cells, plain_text(heading))
    if plain_name(last) in OTHERS:
        item.dropped = FREE_TEXT
    return item


def _drop_times(items: Sequence[ExportColumn]) -> None:
    """Drop the columns of seconds that questions took: ``ageTime`` next to ``age``."""
    names = {item.name for item in items}
    for item in items:
        if item.name.endswith("Time") and item.name.removesuffix("Time") in names:
            item.dropped = item.dropped or TECHNICAL


def _group(items: Sequence[ExportColumn]) -> None:
    """Recognize the ticks of one question, whose cells say yes or no; else each row is a question."""
    groups: dict[str, list[ExportColumn]] = {}
    for item in items:
        item.cells = ["" if cell in NOT_SHOWN else cell for cell in item.cells]
        if item.group and not item.dropped:
            groups.setdefault(item.group, []).append(item)
    for members in groups.values():
        words = {cell.casefold() for item in members for cell in item.distinct}
        if len(members) > 1 and words and words <= YES_OR_NO:
            for item in members:
                item.kind = "tick"
        else:
            for item in members:
                if item.group_text and item.option not in item.text:
                    item.text = f"{item.group_text} {item.option}"
                item.group = item.option = item.group_text = ""
