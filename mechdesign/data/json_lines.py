"""JSON lines in blocks: one object a line, as clients in other languages and servers write them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.errors import DataError, unread
from mechdesign.data.intake import MESSAGE_FORMAT, Coded, Mask, Values, plain_column
from mechdesign.data.reading import MOST_BYTES, FileTable, Raw
from mechdesign.data.text_files import HEAD, require_text
from mechdesign.data.uniform_lines import LINE_END, LineForm, NumberedTexts
from mechdesign.work.files import parse_json

if TYPE_CHECKING:
    from mechdesign.data.intake import FileMessages

BYTES = 1 << 19
"""What is read at a time; its lines become a piece."""

REPEATED = 4
"""A column whose texts stand so often on average is coded."""

MESSAGE_KEY = "format"
"""Where a message says that it is one."""

Column = Coded | Sequence[Any]
"""The values of a column as they stand in the file."""


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


_PLAIN_DECODER = json.JSONDecoder(parse_constant=_not_plain)
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


def plain_columns(lines: bytes, names: Sequence[str]) -> dict[str, Sequence[Any]] | None:
    r"""Return the columns of lines that are each a row of these names; None where one may be none.

    All lines are read as one list. No text of JSON goes beyond its line, and no row holds another one. So
    each line is a row when there are as many rows as lines and every line begins like one. Each text and each
    name has two quotes, and their number says that no name appears twice in a row.

    Examples
    --------
    >>> plain_columns(b'{"a": 1, "b": null}\n{"b": "x", "a": 2}\n', ["a", "b"])
    {'a': (1, 2), 'b': (None, 'x')}
    >>> plain_columns(b'{"a": 1, "b": 3, "a": 1}\n', ["a", "b"]) is None
    True
    """
    count = lines.count(b"\n")
    if lines[:1] != b"{" or lines.count(b"\n{") != count - 1 or b'\\"' in lines:
        return None
    try:
        rows = _PLAIN_DECODER.decode(f"[{lines[:-1].decode()}]".replace("\n", ",\n"))
        if len(rows) != count or set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(names)}:
            return None
        columns: dict[str, Sequence[Any]] = {name: tuple(map(itemgetter(name), rows)) for name in names}
    except (ValueError, KeyError, RecursionError):
        return None
    texts = 0
    for column in columns.values():
        kinds = set(map(type, column))
        if not PLAIN.issuperset(kinds) or math.inf in column or -math.inf in column:
            return None
        texts += sum(type(value) is str for value in column) if kinds != {str} else count
    return columns if lines.count(b'"') == 2 * (count * len(names) + texts) else None


def column_of(column: Column) -> Values:
    """Return the values of a column: texts that stand often by codes, numbers as numbers.

    Examples
    --------
    >>> column_of(["yes"] * 4).codes.tolist(), column_of(["yes", "no"]), column_of([1, 2.5])
    ([0, 0, 0, 0], array(['yes', 'no'], dtype='<U3'), array([1. , 2.5]))
    """
    if isinstance(column, Coded):
        return column
    if set(map(type, column)) == {str}:
        places = {word: number for number, word in enumerate(dict.fromkeys(column))}
        if len(places) * REPEATED <= len(column):
            table = np.empty(len(places), dtype=object)
            table[:] = list(places)
            return Coded(table, np.fromiter(map(places.__getitem__, column), np.int64, count=len(column)))
    return plain_column(column)


def _whole_lines(binary: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of whole lines; of a line that is too long only the beginning."""
    rest = b""
    while block := binary.read(BYTES):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
            if len(rest) > MOST_BYTES:
                break
    if rest:
        yield rest


class JsonTable(FileTable):
    """A file in UTF-8 with a JSON object a line: a row by its columns, or a message with several rows.

    Texts, numbers and null (a missing value) are values. Every row has the columns of the first one.
    """

    def _columns(self) -> tuple[str, ...]:
        with self._errors(), self.path.open("rb") as binary:
            require_text(self.name, binary.read(HEAD))
            binary.seek(0)
            for number, line in enumerate(iter(lambda: binary.readline(MOST_BYTES + 1), b""), start=1):
                for row in self._objects(f"{self.name}: line {number}", line) if line.strip() else ():
                    self._names = dict.fromkeys(row)
                    return tuple(row)
        raise DataError(self.name, "is empty", "give one JSON object a line")

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        size, number, done = max(1, os.path.getsize(self.path)), 1, 0
        self._known: dict[str, NumberedTexts] = {}
        with self._errors(), self.path.open("rb") as binary:
            for block in _whole_lines(binary):
                done += len(block)
                piece = self._values(block, number, columns)
                number += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == LINE_END))
                if piece:
                    yield self._piece(piece, min(1.0, done / size))

    def _values(self, block: bytes, number: int, columns: Sequence[str]) -> Mapping[str, Column]:
        """Return the columns of a block of lines, of which the first has this number; none of blank lines."""
        lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        lines = lines if lines.endswith(b"\n") else lines + b"\n"
        if MESSAGE_KEY not in self.columns:
            form = LineForm.of(lines[: min(lines.index(b"\n"), SHORT)])
            alike = form is not None and sorted(form.names) == sorted(self.columns)
            piece: Mapping[str, Column] | None = None
            if form is not None and alike:
                piece = form.columns(lines, columns, self._known)
            if piece is None:
                piece = plain_columns(lines, self.columns)
            if piece is not None:
                return {name: piece[name] for name in columns}
        read = itemgetter(columns[0], *columns)  # the first one twice: of one name it returns no tuple
        rows = list(map(read, self._rows(block, number)))
        return dict(zip(columns, list(zip(*rows, strict=True))[1:], strict=False))

    def _piece(self, columns: Mapping[str, Column], part: float) -> Raw:
        values = {name: column_of(column) for name, column in columns.items()}
        return values, {name: self._missing(columns[name], values[name]) for name in values}, part

    def _missing(self, column: Column, values: Values) -> Mask:
        """Return which values of a column are missing."""
        if isinstance(values, Coded):
            mask: Mask = np.array(list(map(self.missing.is_missing, values.values.tolist())))[values.codes]
            return mask
        listed: Sequence[Any] = values.tolist() if isinstance(column, Coded) else column
        if not self.missing.codes:
            return np.array(list(map({None, ""}.__contains__, listed)), dtype=np.bool_)
        gone = [value is None or self.missing.is_missing(value) for value in listed]
        return np.array(gone, dtype=np.bool_)

    def _rows(self, block: bytes, number: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of a block of lines, of which the first has this number."""
        for place, line in enumerate(block.split(b"\n"), start=number):
            if not line.strip():
                continue
            plain = flat_row(line) if len(line) < SHORT else None
            for row in [plain] if plain else self._objects(f"{self.name}: line {place}", line):
                if row.keys() != self._names.keys():
                    difference = f"the columns {', '.join(row)}, not {', '.join(self._names)}"
                    raise DataError(f"{self.name}: line {place}", difference, "give every row the same ones")
                yield row

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

    @cached_property
    def _reader(self) -> FileMessages | None:
        """What reads the messages in this file; None where rows of any are taken."""
        return None if self.missing.messages is None else self.missing.messages()

    def _rows_of_message(self, where: str, message: dict[str, Any]) -> Any:
        """Return the rows of a message; where reports are read, it is one of their mechanism and survey."""
        if self._reader is None:
            return message.get("rows")
        try:
            return self._reader.rows_in_file(message)
        except DataError as error:
            raise DataError(where, error.what, "give messages that clients of this survey sent") from None
