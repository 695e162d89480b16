"""Exports of Google Forms: a column of timestamps, questions as names, several answers in one cell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mechdesign.data.identifiers import plain_name
from mechdesign.data.survey_tools.export import (
    IDENTIFYING,
    TECHNICAL,
    TIME,
    TIMES,
    Export,
    ExportColumn,
    cells_by_column,
    plain_text,
    short_name,
)

TOOL = "Google Forms"

TIMESTAMPS = frozenset(
    [
        "timestamp",
        "zeitstempel",
        "horodateur",
        "marcatemporal",
        "informazionicronologiche",
        "carimbodedatahora",
        "tijdstempel",
        "sygnaturaczasowa",
        "aikaleima",
        "tidsstämpel",
        "时间戳记",
        "時間戳記",
        "タイムスタンプ",
        "타임스탬프",
    ]
)
EMAILS = frozenset(
    [
        "emailaddress",
        "email",
        "username",
        "emailadresse",
        "nutzername",
        "adresseemail",
        "nomdutilisateur",
        "direccióndecorreoelectrónico",
        "indirizzoemail",
        "nomeutente",
    ]
)
SCORE = re.compile(r"[0-9.]+ / [0-9.]+")
GRID = re.compile(r"(.*\S)\s*\[([^\]]+)\]")


def is_export(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first lines are those of an export of Google Forms."""
    if len(rows) < 2 or not rows[0] or plain_name(rows[0][0]) not in TIMESTAMPS:
        return False
    return bool(rows[1]) and TIME.fullmatch(rows[1][0].strip()) is not None


def read_export(rows: Sequence[Sequence[str]]) -> Export:
    """Return the columns and rows of an export."""
    body = [row for row in rows[1:] if any(cell.strip() for cell in row)]
    items: list[ExportColumn] = []
    for place, (title, cells) in enumerate(zip(rows[0], cells_by_column(body, len(rows[0])), strict=True)):
        text = plain_text(title)
        item = ExportColumn(short_name(text, [other.name for other in items]), cells, text)
        grid = GRID.fullmatch(text)
        if grid:
            item.name = short_name(f"{short_name(grid[1])} {grid[2]}", [other.name for other in items])
        if place == 0:
            item.dropped = TIMES
        elif plain_name(text) in EMAILS:
            item.dropped = IDENTIFYING
        elif item.distinct and all(SCORE.fullmatch(cell) for cell in item.distinct):
            item.dropped = TECHNICAL
        items.append(item)
    export = Export(TOOL, items, len(body))
    export.person = next((item for item in items if plain_name(item.text) in EMAILS), None)
    return export
