"""Which rows of an export are one answer of one person: no tests, no parts, no repeats."""

from __future__ import annotations

from dataclasses import dataclass

from mechdesign.data.identifiers import identifier_or
from mechdesign.data.survey_tools.export import Export, ExportColumn

UNFINISHED = "not finished"
REPEATED = "of people with an earlier one"
LATEST = "of people with a later one"
JOINED = "joined to the first of their person"
BLANK = "without any answer"


@dataclass(frozen=True)
class RowRule:
    """What a user states about rows.

    Attributes
    ----------
    partial : bool
        Whether answers that were not finished count.
    person : str
        The column that identifies people; empty for the tool's, ``-`` for none.
    last : bool
        Whether the last row of a person counts, not the first.
    """

    partial: bool = False
    person: str = ""
    last: bool = False


def selected_rows(
    export: Export, rule: RowRule, person: ExportColumn | None
) -> tuple[list[int], dict[str, int]]:
    """Return the rows that count, and how many do not, by the reason; the cells of joined rows are moved."""
    reasons = {reason: len(rows) for reason, rows in export.left_out.items()}
    gone = {row for rows in export.left_out.values() for row in rows}
    if rule.partial and UNFINISHED in reasons:
        reasons.pop(UNFINISHED)
        gone -= set(export.left_out[UNFINISHED])
    rows = [row for row in range(export.rows) if row not in gone]
    if person is not None:
        rows = _of_people(export, rows, person, rule.last, reasons)
    answer_columns = [item for item in export.items if not item.dropped]
    filled = [row for row in rows if any(_answers(item, row) for item in answer_columns)]
    if len(filled) < len(rows):
        reasons[BLANK] = len(rows) - len(filled)
    return filled, reasons


def _of_people(
    export: Export, rows: list[int], person: ExportColumn, last: bool, reasons: dict[str, int]
) -> list[int]:
    """Return one row for each person; a row without an identifier is a person of its own."""
    owners: dict[str, list[int]] = {}
    for row in rows:
        owners.setdefault(identifier_or(person.cells[row]) or f"\0{row}", []).append(row)
    further = len(rows) - len(owners)
    if not further:
        return rows
    reasons[JOINED if export.joins else LATEST if last else REPEATED] = further
    if export.joins:
        for own in owners.values():
            _join(export, own)
    return [own[-1] if last and not export.joins else own[0] for own in owners.values()]


def _join(export: Export, rows: list[int]) -> None:
    """Give the first row of a person, in each column, the first cell that is not empty."""
    first = rows[0]
    for item in export.items if len(rows) > 1 else ():
        item.cells[first] = next((item.cells[row] for row in rows if item.cells[row]), "")


def _answers(item: ExportColumn, row: int) -> bool:
    cell = item.cells[row]
    return (
        bool(cell) and not item.missing.has(cell) and not (item.kind == "tick" and cell in ("0", "Unchecked"))
    )
