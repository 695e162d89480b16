"""Mechanisms of other programs in files: a matrix as CSV, NumPy or TOML, or a configuration of RAPPOR.

Texts are read as the decimals or quotients that they state, binary files as the doubles that they hold:
nothing is rounded on the way to the audit.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.audit.foreign import ForeignChannel
from mechdesign.audit.rappor import Rappor
from mechdesign.core.documents import parse_toml
from mechdesign.core.errors import DataError, MechDesignError, suggestion
from mechdesign.core.files import read_text
from mechdesign.core.numbers import fraction_of_text, frozen, shown
from mechdesign.core.validation import privacy_epsilon

SUFFIXES = (".csv", ".npy", ".npz", ".toml")
MOST_BYTES = 1 << 27
RAPPOR_HEADER = ["k", "h", "m", "p", "q", "f"]
"""The header of the parameter files of the repository google/rappor."""

RAPPOR_KEYS = {"bits": "k", "hashes": "h", "cohorts": "m", "p": "p", "q": "q", "f": "f"}


@dataclass(frozen=True)
class Foreign:
    """A channel or a configuration of RAPPOR from a file, and the epsilon that the file states, if any."""

    mechanism: ForeignChannel | Rappor
    what: str
    epsilon: float | None = None


def is_foreign(path: str) -> bool:
    """Whether the name of a file is that of a foreign mechanism."""
    return Path(path).suffix.lower() in SUFFIXES


def read_foreign(path: str) -> Foreign:
    """Return the mechanism in a file.

    Raises
    ------
    DataError
        Naming the file and the entry that is not a number >= 0, with what to do.
    """
    suffix = Path(path).suffix.lower()
    readers = {".csv": _of_csv, ".toml": _of_toml, ".npy": _of_numpy, ".npz": _of_numpy}
    try:
        return readers[suffix](path)
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error})", "check the path") from None
    except UnicodeDecodeError:
        raise DataError(path, "is not text in UTF-8", "convert it") from None
    except MechDesignError as error:
        raise error if error.is_about(path) else error.within(path) from None


def _of_csv(path: str) -> Foreign:
    text = read_text(path, MOST_BYTES, DataError).removeprefix("\ufeff")
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        lines = [[cell.strip() for cell in line] for line in rows if line]
    except csv.Error as error:
        raise DataError(path, f"is not a CSV file ({error})", "correct its quotes") from None
    if not lines:
        raise DataError(path, "is empty", "give a row of probabilities for each answer")
    if lines[0] == RAPPOR_HEADER:
        return _rappor_of_csv(lines)
    _require_commas(path, lines)
    header = None if _are_numbers(lines[0]) else lines.pop(0)
    if not lines:
        raise DataError(path, "has a header and no rows", "give a row of probabilities for each answer")
    named = all(fraction_of_text(line[0]) is None for line in lines)
    names = [line[0] for line in lines] if named else None
    first = 1 if named else 0
    entries = [
        [_entry(f"row {number}, column {place}", text) for place, text in enumerate(line[first:], start=1)]
        for number, line in enumerate(lines, start=1)
    ]
    width = len(entries[0])
    reports = None if header is None else header[len(header) - width :] if len(header) >= width else header
    kind = "decimals as written" if _plain(entries) else "fractions as written"
    return Foreign(ForeignChannel(entries, names, reports), kind)


def _require_commas(path: str, lines: Sequence[Sequence[str]]) -> None:
    """Refuse files with other separators, whose numbers would be read as names."""
    alone = all(len(line) == 1 for line in lines)
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), (" ", "spaces")):
        if (alone or mark != " ") and all(any(mark in cell for cell in line) for line in lines):
            remedy = "write commas between columns, and decimals with a point"
            raise DataError(path, f"has {name} between its columns", remedy)


def _are_numbers(line: Sequence[str]) -> bool:
    return all(fraction_of_text(entry) is not None for entry in line[1:]) and (
        len(line) > 1 or fraction_of_text(line[0]) is not None
    )


def _plain(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether all entries are finite decimals."""
    return all(_is_decimal(entry.denominator) for row in rows for entry in row)


def _is_decimal(denominator: int) -> bool:
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def _entry(where: str, text: Any) -> Fraction:
    """Return an entry of a text file: a decimal number or a quotient, exactly."""
    found = fraction_of_text(text) if isinstance(text, str) else None
    if found is None:
        percent = isinstance(text, str) and text.strip().endswith("%")
        remedy = "write decimals such as 0.25, or quotients such as 1/3"
        remedy = "write a decimal, such as 0.75 for 75%" if percent else remedy
        raise DataError(where, f"{shown(text)} is not a number", remedy)
    return found


def _rappor_of_csv(lines: Sequence[Sequence[str]]) -> Foreign:
    if len(lines) != 2 or len(lines[1]) != len(RAPPOR_HEADER):
        raise DataError("parameters", "expected one row below k,h,m,p,q,f", "give one configuration")
    return Foreign(_rappor(dict(zip(RAPPOR_HEADER, lines[1], strict=True))), "parameters k, h, m, p, q, f")


def _rappor(entries: Mapping[str, Any]) -> Rappor:
    """Return the configuration of the parameters k, h, m, p, q, f."""
    numbers = {key: _entry(key, str(value).strip()) for key, value in entries.items()}
    for key in ("k", "h", "m"):
        if numbers[key].denominator != 1:
            raise DataError(key, f"{entries[key]} is not a whole number", "give a positive integer")
    bits, hashes, cohorts = (int(numbers[key]) for key in ("k", "h", "m"))
    return Rappor(bits=bits, hashes=hashes, cohorts=cohorts, p=numbers["p"], q=numbers["q"], f=numbers["f"])


def _of_toml(path: str) -> Foreign:
    try:
        document = parse_toml(read_text(path, MOST_BYTES, DataError), Decimal)
    except ValueError as error:
        if isinstance(error, (MechDesignError, UnicodeDecodeError)):
            raise
        raise DataError(path, f"is not valid TOML ({error})", "correct it") from None
    _require_keys(document, ("epsilon", "channel", "rappor"), "the file")
    epsilon = document.get("epsilon")
    stated = (
        None
        if epsilon is None
        else privacy_epsilon(float(epsilon) if isinstance(epsilon, Decimal) else epsilon)
    )
    if ("channel" in document) == ("rappor" in document):
        raise DataError(path, "expected one table [channel] or [rappor]", "give the mechanism in one of them")
    name = "channel" if "channel" in document else "rappor"
    table = document[name]
    if not isinstance(table, dict):
        raise DataError(name, "is not a table", f"write [{name}] and its keys below")
    if name == "channel":
        return Foreign(_channel_of_table(table), "numbers as written", stated)
    _require_keys(table, tuple(RAPPOR_KEYS), "[rappor]")
    missing = [key for key in RAPPOR_KEYS if key not in table and key != "cohorts"]
    if missing:
        raise DataError("[rappor]", f"has no {missing[0]}", "give bits, hashes, p, q and f")
    entries = {short: table.get(key, 1) for key, short in RAPPOR_KEYS.items()}
    return Foreign(_rappor(entries), "a configuration of RAPPOR", stated)


def _channel_of_table(table: Mapping[str, Any]) -> ForeignChannel:
    _require_keys(table, ("rows", "answers", "reports"), "[channel]")
    rows = table.get("rows")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        raise DataError(
            "[channel] rows", "expected a list of rows", "write rows = [[0.75, 0.25], [0.25, 0.75]]"
        )
    read = [
        [
            _entry(f"row {number}, column {place}", entry) if isinstance(entry, str) else entry
            for place, entry in enumerate(row, start=1)
        ]
        for number, row in enumerate(rows, start=1)
    ]
    names = []
    for key in ("answers", "reports"):
        given = table.get(key)
        if given is not None and not (
            isinstance(given, list) and all(isinstance(name, str) for name in given)
        ):
            raise DataError(f"[channel] {key}", "expected a list of strings", "give a name for each")
        names.append(given)
    return ForeignChannel(read, *names)


def _require_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise DataError(where, f"unknown key '{key}'", suggestion(key, known))


def _of_numpy(path: str) -> Foreign:
    try:
        with open(path, "rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            array = _only(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
    except (ValueError, EOFError) as error:
        if isinstance(error, MechDesignError):
            raise
        raise DataError(path, "is not an array of numbers as numpy.save writes it", "save floats") from None
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        what = f"holds an array of {array.dtype} with {array.ndim} dimension(s)"
        raise DataError(path, what, "save a matrix of probabilities")
    exact = array.dtype.itemsize <= 8 if array.dtype.kind == "f" else False
    if exact:
        return Foreign(ForeignChannel(frozen(array.astype(np.float64))), f"{array.dtype.name} as stored")
    entries = [[entry.item() if array.dtype.kind != "f" else entry for entry in row] for row in array]
    return Foreign(ForeignChannel(entries), f"{array.dtype.name} as stored")


def _only(arrays: Any) -> Any:
    names = list(arrays.files)
    if len(names) == 1 or "channel" in names:
        return arrays["channel" if "channel" in names else names[0]]
    raise DataError("arrays", f"has {len(names)} of them", "name one of them 'channel'")
