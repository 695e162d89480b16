"""Mechanisms of other programs in files: a matrix as CSV, NumPy or TOML, or a configuration of RAPPOR.

Texts are read as the decimals or quotients that they state, binary files as the doubles that they hold:
nothing is rounded on the way to the audit. What was read is shown with the result: the size, the names, the
first row and the last.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.audit.foreign import MOST_EXACT, ForeignChannel
from mechdesign.audit.rappor import Rappor
from mechdesign.core.documents import parse_toml
from mechdesign.core.errors import DataError, MechDesignError, suggestion
from mechdesign.core.text import counted, listed
from mechdesign.exact.exact import epsilon_number
from mechdesign.exact.numbers import frozen, shown
from mechdesign.exact.numerals import PLAIN_REMEDY, numeral
from mechdesign.report.foreign_csv import lines_of, table_of
from mechdesign.work.files import read_text

SUFFIXES = (".csv", ".npy", ".npz", ".toml")
OTHERS = (".mat", ".ods", ".parquet", ".rds", ".tsv", ".xls", ".xlsx")
"""Tables of other kinds, which are refused by name."""

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


def is_foreign(path: str) -> bool:
    """Whether the name of a file is that of a foreign mechanism."""
    return Path(path).suffix.lower() in SUFFIXES + OTHERS


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
            raise DataError("--names", f"{shown(names)} is not a choice", suggestion(names, NAMED))
        raise DataError("--names", f"is an option for .csv, and this is a {suffix} file", "omit it")
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
    found = []
    for number, row in enumerate(rows, start=1):
        listed_row = []
        for place, entry in enumerate(row, start=1):
            value = known.get(entry) if isinstance(entry, str) else None
            if value is None:
                value = _entry(f"row {number}, column {place}", entry)
                if isinstance(entry, str):
                    known[entry] = value
            listed_row.append(value)
        found.append(listed_row)
    return found


def _named(value: Any) -> str:
    """Return a value of a TOML document that is not a number as the document writes it, or its kind."""
    if isinstance(value, dict):
        return "a table"
    return str(value).lower() if isinstance(value, bool) else shown(value)


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
