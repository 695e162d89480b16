"""JSON lines in blocks: one object a line, as clients in other languages and servers write them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import numpy as np

from mechdesign.core.errors import DataError, unread
from mechdesign.data.intake import MESSAGE_FORMAT, Mask, Values, plain_column
from mechdesign.data.outputs import HEAD, require_text
from mechdesign.data.reading import MOST_BYTES, FileTable, Raw
from mechdesign.work.files import parse_json

LINES = 1 << 16
"""Lines that are collected before they become a piece."""


def json_problem(error: Exception, lines: bool = True) -> str:
    """Return what is wrong with a JSON document, in a line without advice to programmers.

    Parameters
    ----------
    error : Exception
        What :func:`parse_json` raised.
    lines : bool
        Whether the document has lines; in one of a single line only the column is said.

    Examples
    --------
    >>> try:
    ...     parse_json('{"a": ')
    ... except ValueError as error:
    ...     print(json_problem(error), "|", json_problem(error, lines=False))
    Expecting value: line 1 column 7 | Expecting value: column 7
    """
    if isinstance(error, json.JSONDecodeError):
        place = f"line {error.lineno} column {error.colno}" if lines else f"column {error.colno}"
        return f"{error.msg.removesuffix(' at')}: {place}"
    if isinstance(error, RecursionError):
        return "objects and lists are nested too deep"
    return " ".join(str(error).split())


def parse_distinct(text: str) -> Any:
    """Return the content of a JSON document without a key that appears twice: which value counts is open.

    Raises
    ------
    ValueError
        As :func:`parse_json` does, and for such a key.

    Examples
    --------
    >>> parse_distinct('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: a key appears twice
    """
    content = parse_json(text)
    json.loads(text, object_pairs_hook=_distinct)
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or raise ValueError for a key that appears twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key appears twice")
    return result


PLAIN = {str, int, float, type(None)}
"""The types of values of a row."""


def _not_plain(text: str) -> float:
    raise ValueError(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_not_plain)


def flat_row(line: bytes) -> dict[str, Any] | None:
    """Return the plain values of a line; None for anything else, right or wrong, which is looked at closely.

    Examples
    --------
    >>> flat_row(b'{"a": 1, "b": null}'), flat_row(b'{"a": [1]}'), flat_row(b'{"a": 1, "a": 2}')
    ({'a': 1, 'b': None}, None, None)
    """
    try:
        text = line.decode().rstrip("\r\n")
        row, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if type(row) is not dict or not row or end != len(text) or not PLAIN.issuperset(map(type, row.values())):
        return None
    values = row.values()
    return None if math.inf in values or -math.inf in values or row.get("format") == MESSAGE_FORMAT else row


SHORT = 1 << 16
"""Bytes of a line that is read at once."""


class JsonTable(FileTable):
    """A file in UTF-8 with a JSON object a line: a row by its columns, or a message with several rows.

    Texts, numbers and null (a missing value) are values. Every row has the columns of the first one.
    """

    def _columns(self) -> tuple[str, ...]:
        with self._errors(), self.path.open("rb") as binary:
            require_text(self.name, binary.read(HEAD))
        for _, row in self._rows():
            return tuple(row)
        raise DataError(self.name, "is empty", "give one JSON object a line")

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        size = max(1, os.path.getsize(self.path))
        rows: list[tuple[Any, ...]] = []
        read = itemgetter(columns[0], *columns)  # the first one twice: of one name it returns no tuple
        for place, row in self._rows():
            rows.append(read(row)[1:])
            if len(rows) == LINES:
                yield self._piece(columns, rows, min(1.0, place / size))
                rows = []
        if rows:
            yield self._piece(columns, rows, 1.0)

    def _piece(self, columns: Sequence[str], rows: list[tuple[Any, ...]], part: float) -> Raw:
        values: dict[str, Values] = {}
        missing: dict[str, Mask] = {}
        for name, column in zip(columns, zip(*rows, strict=True), strict=True):
            if self.missing.codes:
                gone = [value is None or self.missing.is_missing(value) for value in column]
            else:
                gone = list(map({None, ""}.__contains__, column))
            values[name], missing[name] = plain_column(column), np.array(gone, dtype=np.bool_)
        return values, missing, part

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield how many bytes were read, and the next row."""
        names: list[str] | None = None
        place = 0
        with self._errors(), self.path.open("rb") as binary:
            for number, line in enumerate(iter(lambda: binary.readline(MOST_BYTES + 1), b""), start=1):
                place += len(line)
                if not line.strip():
                    continue
                plain = flat_row(line) if len(line) < SHORT else None
                rows = [plain] if plain else self._objects(f"{self.name}: line {number}", line)
                for row in rows:
                    names = list(row) if names is None else names
                    if list(row) != names and sorted(row) != sorted(names):
                        difference = f"the columns {', '.join(row)}, not {', '.join(names)}"
                        raise DataError(
                            f"{self.name}: line {number}", difference, "give every row the same ones"
                        )
                    yield place, row

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(self.name, unread(error), "check the path") from None

    def _objects(self, where: str, line: bytes) -> list[dict[str, Any]]:
        """Return the rows of a line."""
        if len(line) > MOST_BYTES:
            raise DataError(where, f"is longer than {MOST_BYTES} bytes", "is it JSON lines?")
        try:
            text = line.decode("utf-8-sig").rstrip("\r\n")
            read = parse_distinct(text)
        except (ValueError, RecursionError) as error:
            what = f"is not JSON ({json_problem(error, lines=False)})"
            raise DataError(where, what, "give one JSON object a line") from None
        rows: Any = [read]
        if isinstance(read, dict) and read.get("format") == MESSAGE_FORMAT:
            rows = self._rows_of_message(where, read)
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
            raise DataError(where, "is not a row", "give one JSON object a line, a value by its column")
        for row in rows:
            for name, value in row.items():
                if isinstance(value, (bool, list, dict)):
                    raise DataError(where, f"the value of '{name}' is neither text nor number", "correct it")
        result: list[dict[str, Any]] = rows
        return result

    def _rows_of_message(self, where: str, message: dict[str, Any]) -> Any:
        """Return the rows of a message; where reports are read, it is one of their mechanism and survey."""
        if self.missing.messages is None:
            return message.get("rows")
        try:
            return self.missing.messages.rows_in_file(message)
        except DataError as error:
            raise DataError(where, error.what, "give messages that clients of this survey sent") from None
