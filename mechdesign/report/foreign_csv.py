"""The channel in a table of texts: which cells are names and which are numbers, or why that is not clear.

A table is never guessed. Names are cells whose first letter or digit is a letter; every other cell is a
number or an error. Numbers that may be names (``0,1,2`` above or to the left of probabilities) are refused.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mechdesign.audit.foreign_sums import exact_sum
from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.exact.numerals import is_plain_name, numeral

Line = Sequence[str]
Rows = list[list[Fraction]]

MOST_DIGITS = 50_000_000
"""Digits that the numbers of a file may have in all, beyond 400 each."""

NEAR = Fraction(1, 100)
"""How far from 1 a sum of rounded probabilities may be, where it is asked what is a name."""

CORNERS = frozenset(("answer", "answers", "category", "id", "index", "input", "name", "row", "value"))
"""Headers of a first column that may hold names even where these are numbers."""

LETTERS = "begin names with a letter, such as 'answer 1'"


@dataclass(frozen=True)
class ChannelTable:
    """A channel as it was written: names where there are any, and the cells of its numbers."""

    answers: list[str] | None
    reports: list[str] | None
    cells: list[list[str]]
    numbers: Rows


def lines_of(text: str) -> list[list[str]]:
    r"""Return the lines of a CSV file without those that are empty; cells without the spaces around them.

    Examples
    --------
    >>> lines_of("a, b\n\n1,2\n")
    [['a', 'b'], ['1', '2']]
    """
    try:
        rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        return [[cell.strip() for cell in line] for line in rows if line]
    except csv.Error as error:
        raise DataError("", f"is not a CSV file ({error})", "correct its quotes") from None


def table_of(lines: Sequence[Line], names: str | None = None) -> ChannelTable:
    """Return the channel of a table.

    Parameters
    ----------
    lines : sequence of lists of str
    names : {"none", "answers", "reports", "both"}, optional
        What is named: answers in the first column, reports in the first line. By default what can only be
        names is, and what may be names or numbers is refused.

    Raises
    ------
    DataError
        Naming the cell that is neither a name nor a number, or what may be both, with what to do.

    Examples
    --------
    >>> found = table_of([["answer", "A", "B"], ["no", "2/3", "1/3"], ["yes", "0.3", "0.7"]])
    >>> found.answers, found.reports, found.numbers[0]
    (['no', 'yes'], ['A', 'B'], [Fraction(2, 3), Fraction(1, 3)])
    >>> found = table_of([["18", "40", "60"], ["99", "30", "20"]], names="answers")
    >>> found.answers, found.numbers[0]
    (['18', '99'], [Fraction(40, 1), Fraction(60, 1)])
    """
    _require_commas(lines)
    is_headed = _is_header(lines[0]) if names is None else names in ("reports", "both")
    header, body = (lines[0], lines[1:]) if is_headed else (None, lines)
    if not body:
        raise DataError("", "has a header and no rows", "give a row of probabilities for each answer")
    _require_equal_rows(body)
    if names is None:
        answers = _answers(body)
    else:
        answers = [line[0] for line in body] if names in ("answers", "both") else None
    reports = None if header is None else _reports(header, len(body[0]), answers is not None, names is None)
    first = 0 if answers is None else 1
    cells = [list(line[first:]) for line in body]
    if not cells[0]:
        raise DataError("", "has names and no numbers", "give a row of probabilities for each answer")
    numbers = _numbers(cells, first + 1)
    if names is None:
        sums = [exact_sum(row) for row in numbers]
        if answers is None:
            _require_no_index(numbers, sums, None if header is None else header[0])
        if header is None:
            _require_no_head(numbers, sums)
    _require_no_decimal_commas(cells)
    return ChannelTable(answers, reports, cells, numbers)


def _require_commas(lines: Sequence[Line]) -> None:
    """Refuse files with other separators, whose numbers would be read as names."""
    alone = all(len(line) == 1 for line in lines)
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), (" ", "spaces")):
        if (alone or mark != " ") and all(any(mark in cell for cell in line) for line in lines):
            remedy = "write commas between columns, and decimals with a point"
            raise DataError("", f"has {name} between its columns", remedy)


def _is_header(line: Line) -> bool:
    """Whether the first line is a header: names only, but for its corner, which may be blank."""
    rest = line[1:] or line
    named = [is_plain_name(cell) for cell in rest]
    if not any(named):
        return False
    if all(named) and (is_plain_name(line[0]) or not line[0]):
        return True
    where = next(place for place, cell in enumerate(line) if not is_plain_name(cell) and (place or cell))
    if not line[where]:
        raise DataError(f"line 1, column {where + 1}", "has no name", "name each report, or delete the line")
    what = f"'{line[where][:40]}' looks like a number among names"
    raise DataError(f"line 1, column {where + 1}", what, f"{LETTERS}, or delete the line")


def _require_equal_rows(body: Sequence[Line]) -> None:
    width = len(body[0])
    for number, line in enumerate(body, start=1):
        if len(line) != width:
            what = f"has {counted(len(line), 'entry')}, row 1 has {width}"
            raise DataError(f"row {number}", what, "give each the same")


def _answers(body: Sequence[Line]) -> list[str] | None:
    """Return the first column where all of it are names; refuse a mixture."""
    named = [is_plain_name(line[0]) for line in body]
    if all(named):
        return [line[0] for line in body]
    if any(named):
        place = named.index(not named[0])
        cell, first = body[place][0], body[0][0]
        what = f"'{cell[:40]}' and '{first[:40]}' of row 1 are a number and a name"
        raise DataError(f"row {place + 1}, column 1", what, f"{LETTERS}, or give numbers only")
    return None


def _reports(header: Line, width: int, is_named: bool, is_read: bool) -> list[str]:
    """Return the names of the reports in a header of a table this wide; ``is_read`` without ``--names``."""
    if is_named and len(header) == width:
        return list(header[1:])
    if is_read and not header[0]:
        what = "has no name, so its numbers may be the names of the answers"
        raise DataError("line 1, column 1", what, f"{LETTERS}, or name the report")
    if len(header) != (width - 1 if is_named else width):
        what = f"has {counted(len(header), 'name')} above rows of {counted(width, 'cell')}"
        raise DataError("line 1", what, "give each column a name")
    return list(header)


def _numbers(cells: Sequence[Line], first: int) -> Rows:
    """Return the numbers >= 0 of all cells, exactly; columns are counted from ``first``."""
    known: dict[str, Fraction] = {}
    long: dict[str, int] = {}
    rows, total = [], 0
    for number, line in enumerate(cells, start=1):
        for place, cell in enumerate(line, start=first):
            if cell not in known:
                where = f"row {number}, column {place}"
                found = known[cell] = numeral(where, cell)
                if found.numerator < 0:
                    raise DataError(where, f"{cell[:40]} is negative", "give probabilities >= 0")
                bits = max(found.numerator.bit_length(), found.denominator.bit_length())
                if bits * 3 // 10 > 400:
                    long[cell] = bits * 3 // 10 - 400
        if long:
            total += sum(long.get(cell, 0) for cell in line)
        if total > MOST_DIGITS:
            raise DataError("", f"its numbers have more than {MOST_DIGITS} digits in all", "write fewer")
        rows.append([known[cell] for cell in line])
    return rows


def _are_ones(sums: Sequence[Fraction]) -> bool:
    return all(abs(total - 1) <= NEAR for total in sums)


def _are_whole(sums: Sequence[Fraction]) -> bool:
    """Whether the sums of rows are all about 1, or all the same, as those of counts may be."""
    return _are_ones(sums) or len(set(sums)) == 1


def _are_counted(numbers: Sequence[Fraction]) -> bool:
    """Whether numbers are whole and count up by one: 0, 1, 2, or ages, or years."""
    start = numbers[0]
    return start.denominator == 1 and list(numbers) == [start + place for place in range(len(numbers))]


def _are_distinct(numbers: Sequence[Fraction]) -> bool:
    return len(set(numbers)) == len(numbers)


def _are_whole_numbers(rows: Sequence[Sequence[Fraction]]) -> bool:
    return all(entry.denominator == 1 for row in rows for entry in row)


def _may_name(names: Sequence[Fraction], rest: Rows) -> bool:
    """Whether numbers may be names next to the rest of a table: ages, years, or values next to counts."""
    return _are_distinct(names) and (_are_whole_numbers([names]) or _are_whole_numbers(rest))


def _require_no_index(numbers: Rows, sums: Sequence[Fraction], corner: str | None) -> None:
    """Refuse a first column of numbers that may name the answers, unless the rows are whole with it."""
    if len(numbers[0]) < 2 or _are_whole(sums):
        return
    first, rest = [row[0] for row in numbers], [row[1:] for row in numbers]
    if len(numbers[0]) == 2:  # without its first column there is nothing to compare
        is_index = (corner or "").lower() in CORNERS or (
            _are_distinct(first)
            and _are_whole_numbers([first])
            and all(entry <= 1 for row in rest for entry in row)
            and not _are_whole_numbers(rest)
        )
    else:
        left = [total - entry for total, entry in zip(sums, first, strict=True)]
        is_rest_whole = _are_whole(left) and _are_distinct(first)
        is_index = is_rest_whole or _may_name(first, rest) or (corner or "").lower() in CORNERS
    if is_index:
        what = "may be probabilities or the names of the answers"
        raise DataError("column 1", what, f"{LETTERS}, divide each row by its sum, or add --names")


def _require_no_head(numbers: Rows, sums: Sequence[Fraction]) -> None:
    """Refuse a first row of numbers that may name the reports, unless all rows are whole with it."""
    first, below = numbers[0], numbers[1:]
    if not below or _are_whole(sums) or _are_ones(sums[:1]):
        return
    if _are_ones(sums[1:]):
        is_head = _are_counted(first) or (_are_distinct(first) and _are_whole_numbers([first]))
    else:
        is_head = len(below) > 1 and _may_name(first, below)
    if is_head:
        what = "may be probabilities or the names of the reports"
        remedy = f"{LETTERS}, delete the line, divide each row by its sum, or add --names"
        raise DataError("row 1", what, remedy)


def _require_no_decimal_commas(cells: Sequence[Line]) -> None:
    """Refuse whole numbers that sum to one in every row when two of them are one decimal: ``0,75,0,25``."""
    if len(cells[0]) < 4 or len(cells[0]) % 2 or not all(cell.isdecimal() for line in cells for cell in line):
        return
    pairs = [zip(line[::2], line[1::2], strict=True) for line in cells]
    sums = [sum((Fraction(f"{one}.{rest}") for one, rest in line), Fraction(0)) for line in pairs]
    if all(abs(total - 1) <= NEAR for total in sums):
        raise DataError(
            "row 1", "may be decimals with commas", "write decimals with a point; divide counts by their sum"
        )
