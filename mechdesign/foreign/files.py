"""Mechanisms of other programs in files: a matrix as CSV, NumPy or TOML, or a configuration of RAPPOR.

Texts are read as the decimals or quotients that they state, binary files as the doubles that they hold:
nothing is rounded on the way to the audit. What was read is shown with the result: the size, the names, the
first row and the last.

Which cells of a table are names and which are numbers is never guessed. Names are cells whose first letter or
digit is a letter; every other cell is a number or an error. Numbers that may be names (``0,1,2`` above or to
the left of probabilities) are refused.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    counted,
    listed,
    named_option,
    option,
    suggestion,
)
from mechdesign.core.validation import MISSING, PLAIN_REMEDY, epsilon_number, numeral
from mechdesign.exact.numbers import frozen, text_of
from mechdesign.foreign import OTHERS
from mechdesign.foreign.audit import exact_sum
from mechdesign.foreign.channels import MOST_EXACT, ForeignChannel
from mechdesign.foreign.rappor import Rappor
from mechdesign.work.files import parse_toml, read_text

Line = Sequence[str]
Rows = list[list[Fraction]]

MOST_DIGITS = 50_000_000
"""Digits that the numbers of a file may have in all, beyond 400 each."""

NEAR = Fraction(1, 100)
"""How far from 1 a sum of rounded probabilities may be, where it is asked what is a name."""

CORNERS = frozenset(("answer", "answers", "category", "id", "index", "input", "name", "row", "value"))
"""Headers of a first column that may hold names even where these are numbers."""

LETTERS = "begin names with a letter, such as 'answer 1'"


MISREAD = re.compile(r"[oli][.,][0-9]", re.IGNORECASE)
"""A letter instead of a digit, as scanners write it."""

NUMBERED = re.compile(r"[0-9]*[.,][0-9]|[=:<>~\u2248\u2264\u2265]\s*[+-]?[0-9]|[0-9]\s*[%\u2030]", re.ASCII)
"""A number that is stated within a text: ``p=0.9``, ``about 0.9``, ``top 10%``."""


def is_plain_name(cell: str) -> bool:
    """Whether a cell of a table can only be a name: it begins with a letter and does not state a number.

    Examples
    --------
    >>> [is_plain_name(cell) for cell in ("says yes", "90%", "9,000", "nan", "1/0", "$5", "", "infected")]
    [True, False, False, False, False, False, False, True]
    >>> [is_plain_name(cell) for cell in ("age 18-24", "p=0.9", "about .9", "top 10%", "Q1")]
    [True, False, False, False, True]
    """
    text = unicodedata.normalize("NFKC", cell).strip().replace("\u2212", "-")
    if MISSING.match(text) or MISREAD.match(text) or NUMBERED.search(text) or text.startswith("#"):
        return False
    first = next((letter for letter in text if unicodedata.category(letter)[0] in "LMN"), "")
    return bool(first) and unicodedata.category(first)[0] != "N"


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
    >>> table = table_of([["answer", "A", "B"], ["no", "2/3", "1/3"], ["yes", "0.3", "0.7"]])
    >>> table.answers, table.reports, table.numbers[0]
    (['no', 'yes'], ['A', 'B'], [Fraction(2, 3), Fraction(1, 3)])
    >>> table = table_of([["18", "40", "60"], ["99", "30", "20"]], names="answers")
    >>> table.answers, table.numbers[0]
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
                fraction = known[cell] = numeral(where, cell)
                if fraction.numerator < 0:
                    raise DataError(where, f"{cell[:40]} is negative", "give probabilities >= 0")
                bits = max(fraction.numerator.bit_length(), fraction.denominator.bit_length())
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
        raise DataError("column 1", what, f"{LETTERS}, divide each row by its sum, or add " + option("names"))


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
        remedy = f"{LETTERS}, delete the line, divide each row by its sum, or add " + option("names")
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


NAMED = ("none", "answers", "reports", "both")
"""What may be named in a table."""

MOST_BYTES = 1 << 27
RAPPOR_HEADER = ["k", "h", "m", "p", "q", "f"]
"""The header of the parameter files of the repository google/rappor."""

RAPPOR_KEYS = {"bits": "k", "hashes": "h", "cohorts": "m", "p": "p", "q": "q", "f": "f"}

LONGEST_CELL = 24
"""Characters of a cell or a name that is shown."""


@dataclass(frozen=True)
class Foreign:
    """A channel or a configuration of RAPPOR from a file, and the epsilon that the file states, if any.

    Attributes
    ----------
    mechanism : ForeignChannel or Rappor
    what : str
        How its numbers were read.
    epsilon : Fraction or None
        As it is written.
    reading : dict
        What was read, by names: the first and the last row as they are written, shortened, and names.
    """

    mechanism: ForeignChannel | Rappor
    what: str
    epsilon: Fraction | None
    reading: dict[str, Any]

    def heading(self) -> str:
        """Return what it is in a line: a channel of some size, or RAPPOR with its parameters."""
        if isinstance(self.mechanism, Rappor):
            counts = {"bit": self.mechanism.bits, "cohort": self.mechanism.cohorts}
            hashes = f"{self.mechanism.hashes} hash{'es' * (self.mechanism.hashes > 1)}"
            bits, cohorts = (counted(number, noun) for noun, number in counts.items())
            return f"RAPPOR with {bits}, {hashes}, {cohorts}, {self.what}"
        answers, reports = self.mechanism.shape
        return f"a channel of {counted(answers, 'answer')} and {counted(reports, 'report')}, {self.what}"

    def lines(self) -> list[str]:
        """Return what was read, a line for each fact."""
        return [f"{name.replace('_', ' ')}: {value}" for name, value in self.reading.items() if value]


def _short(cell: Any) -> str:
    text = str(cell)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 3]}..."


def _row(cells: Sequence[Any]) -> str:
    return listed([_short(cell) for cell in cells[:7]], len(cells))


def _of_channel(
    channel: ForeignChannel, what: str, rows: Any, named: tuple[bool, bool], epsilon: Fraction | None = None
) -> Foreign:
    """Return a channel with what is shown of it."""
    reading = {
        "answers": _row(channel.answers) if named[0] else None,
        "reports": _row(channel.reports) if named[1] else None,
        "first_row": _row(rows[0]),
        "last_row": _row(rows[-1]),
    }
    return Foreign(channel, what, epsilon, reading)


def _of_rappor(entries: Mapping[str, Any], what: str, epsilon: Fraction | None = None) -> Foreign:
    """Return a configuration of RAPPOR with what is shown of it."""
    mechanism = _rappor(entries)
    written = ", ".join(f"{name} = {_short(entries[name])}" for name in ("p", "q", "f"))
    return Foreign(mechanism, what, epsilon, {"parameters": written, "covers": mechanism.encoders()})


def read_foreign(path: str, names: str | None = None) -> Foreign:
    """Return the mechanism in a file.

    Parameters
    ----------
    path : str
    names : {"none", "answers", "reports", "both"}, optional
        What is named in a CSV file: answers in the first column, reports in the first line.

    Raises
    ------
    DataError
        Naming the file and the entry that is not a number >= 0, with what to do.
    """
    suffix = Path(path).suffix.lower()
    if suffix in OTHERS:
        raise DataError(path, f"a channel in a file '{suffix}' is not read", "save it as .csv, .npy or .toml")
    if names is not None and (suffix != ".csv" or names not in NAMED):
        if suffix == ".csv":
            raise DataError(
                named_option("names"), f"{text_of(names)} is not a choice", suggestion(names, NAMED)
            )
        raise DataError(
            named_option("names"), f"is an option for .csv, and this is a {suffix} file", "omit it"
        )
    readers: dict[str, Callable[[str], Foreign]] = {
        ".csv": partial(_of_csv, names=names),
        ".toml": _of_toml,
        ".npy": _of_numpy,
        ".npz": _of_numpy,
    }
    try:
        return readers[suffix](path)
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error})", "check the path") from None
    except UnicodeDecodeError:
        raise DataError(path, "is not text in UTF-8", "convert it") from None
    except MechDesignError as error:
        raise error if error.is_about(path) else error.within(path) from None


def _of_csv(path: str, names: str | None = None) -> Foreign:
    lines = lines_of(read_text(path, MOST_BYTES, DataError))
    if not lines:
        raise DataError(path, "is empty", "give a row of probabilities for each answer")
    if len(lines) * max(map(len, lines)) > MOST_EXACT + len(lines) + len(lines[0]):
        raise DataError(path, f"more than {MOST_EXACT} exact entries", "save doubles as .npy instead")
    header = [cell.lower() for cell in lines[0]] if names is None else []
    if sorted(header) == sorted(RAPPOR_HEADER):
        return _rappor_of_csv(header, lines)
    if {"k", "p", "q", "f"} <= set(header):
        raise DataError("line 1", "is like that of RAPPOR", f"write the columns {','.join(RAPPOR_HEADER)}")
    table = table_of(lines, names)
    is_decimal = not any("/" in cell for line in table.cells for cell in line)
    channel = ForeignChannel(table.numbers, table.answers, table.reports)
    kind = "decimals as written" if is_decimal else "fractions as written"
    return _of_channel(channel, kind, table.cells, (table.answers is not None, table.reports is not None))


def _rappor_of_csv(header: Sequence[str], lines: Sequence[Sequence[str]]) -> Foreign:
    if len(lines) != 2 or len(lines[1]) != len(RAPPOR_HEADER):
        raise DataError("parameters", f"expected one row below {','.join(header)}", "give one configuration")
    return _of_rappor(dict(zip(header, lines[1], strict=True)), "parameters k, h, m, p, q, f")


def _rappor(entries: Mapping[str, Any]) -> Rappor:
    """Return the configuration of the parameters k, h, m, p, q, f."""
    numbers = {key: _entry(key, value) for key, value in entries.items()}
    for key in ("k", "h", "m"):
        if Fraction(numbers[key]).denominator != 1:
            raise DataError(key, f"{str(entries[key])[:40]} is not a whole number", "give a positive integer")
    bits, hashes, cohorts = (int(numbers[key]) for key in ("k", "h", "m"))
    return Rappor(bits=bits, hashes=hashes, cohorts=cohorts, p=numbers["p"], q=numbers["q"], f=numbers["f"])


class Decimals(str):
    """A decimal number of a TOML document as it is written."""

    __slots__ = ()


def _entry(where: str, value: Any) -> Any:
    """Return an entry of a text file, exactly: a number, or a text that states one."""
    if isinstance(value, Decimals):
        return numeral(where, value.replace("_", ""))
    if isinstance(value, str):
        return numeral(where, value)
    if type(value) is not int:
        raise DataError(where, f"{_named(value)} is not a number", PLAIN_REMEDY)
    return value


def _entries(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the entries of rows, exactly; texts that stand there several times are read once."""
    known: dict[str, Any] = {}
    result = []
    for number, row in enumerate(rows, start=1):
        listed_row = []
        for place, entry in enumerate(row, start=1):
            value = known.get(entry) if isinstance(entry, str) else None
            if value is None:
                value = _entry(f"row {number}, column {place}", entry)
                if isinstance(entry, str):
                    known[entry] = value
            listed_row.append(value)
        result.append(listed_row)
    return result


def _named(value: Any) -> str:
    """Return a value of a TOML document that is not a number as the document writes it, or its kind."""
    if isinstance(value, dict):
        return "a table"
    return str(value).lower() if isinstance(value, bool) else text_of(value)


def _of_toml(path: str) -> Foreign:
    try:
        document = parse_toml(read_text(path, MOST_BYTES, DataError), Decimals)
    except ValueError as error:
        if isinstance(error, (MechDesignError, UnicodeDecodeError)):
            raise
        if "integer string conversion" in str(error):
            raise DataError(path, "has an integer of too many digits", "write it with an exponent") from None
        raise DataError(path, f"is not valid TOML ({error})", "correct it") from None
    _require_keys(document, ("epsilon", "channel", "rappor"), "the file")
    epsilon = document.get("epsilon")
    stated = None if epsilon is None else epsilon_number(_entry("epsilon", epsilon))
    if ("channel" in document) == ("rappor" in document):
        raise DataError(path, "expected one table [channel] or [rappor]", "give the mechanism in one of them")
    name = "channel" if "channel" in document else "rappor"
    table = document[name]
    if not isinstance(table, dict):
        raise DataError(name, "is not a table", f"write [{name}] and its keys below")
    if name == "channel":
        return _channel_of_table(table, stated)
    _require_keys(table, tuple(RAPPOR_KEYS), "[rappor]")
    missing = [key for key in RAPPOR_KEYS if key not in table and key != "cohorts"]
    if missing:
        raise DataError("[rappor]", f"has no {missing[0]}", "give bits, hashes, p, q and f")
    entries = {short: table.get(key, 1) for key, short in RAPPOR_KEYS.items()}
    return _of_rappor(entries, "a configuration of RAPPOR", stated)


def _channel_of_table(table: Mapping[str, Any], epsilon: Fraction | None) -> Foreign:
    _require_keys(table, ("rows", "answers", "reports"), "[channel]")
    rows = table.get("rows")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        raise DataError(
            "[channel] rows", "expected a list of rows", "write rows = [[0.75, 0.25], [0.25, 0.75]]"
        )
    numbers = _entries(rows)
    names = [_names_of_table(table, key) for key in ("answers", "reports")]
    channel = ForeignChannel(numbers, *names)
    return _of_channel(
        channel, "numbers as written", rows, (names[0] is not None, names[1] is not None), epsilon
    )


def _names_of_table(table: Mapping[str, Any], key: str) -> list[str] | None:
    names = table.get(key)
    if names is None or (isinstance(names, list) and all(type(name) is str for name in names)):
        return names
    raise DataError(f"[channel] {key}", "expected a list of strings", "give a name for each")


def _require_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise DataError(where, f"unknown key '{key}'", suggestion(key, known))


def _of_numpy(path: str) -> Foreign:
    try:
        with open(path, "rb") as stream, warnings.catch_warnings(action="ignore"):
            loaded = np.load(stream, allow_pickle=False)
            array = _only(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
    except (MechDesignError, OSError):
        raise
    except Exception:  # what the parsers of numpy and of archives raise for damaged files has no common class
        raise DataError(path, "is not an array of numbers as numpy.save writes it", "save floats") from None
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        what = f"holds an array of {array.dtype} with {array.ndim} dimension(s)"
        raise DataError(path, what, "save a matrix of probabilities")
    is_double = array.dtype.kind == "f" and array.dtype.itemsize <= 8
    entries = frozen(array.astype(np.float64)) if is_double else _plain(array)
    channel = ForeignChannel(entries)
    return _of_channel(channel, f"{array.dtype.name} as stored", _plain(array[[0, -1]]), (False, False))


def _plain(array: Any) -> list[list[Any]]:
    """Return integers and doubles as Python's; long doubles as they are, since Python has none."""
    return [[entry.item() if entry.dtype.itemsize <= 8 else entry for entry in row] for row in array]


def _only(arrays: Any) -> Any:
    names = list(arrays.files)
    if len(names) == 1 or "channel" in names:
        return arrays["channel" if "channel" in names else names[0]]
    raise DataError("arrays", f"has {len(names)} of them", "name one of them 'channel'")
