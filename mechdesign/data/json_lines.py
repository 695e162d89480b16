"""JSON lines in blocks: one object a line, as clients in other languages and servers write them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mechdesign.core.documents import json_problem, parse_distinct
from mechdesign.core.errors import DataError, unread
from mechdesign.core.tables import Values
from mechdesign.data.intake import MESSAGE_FORMAT, Mask, plain_column
from mechdesign.data.outputs import HEAD, require_text
from mechdesign.data.reading import MOST_BYTES, FileTable, Raw

LINES = 1 << 16
"""Lines that are collected before they become a piece."""


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
        rows: list[list[Any]] = []
        for place, row in self._rows():
            rows.append([row[name] for name in columns])
            if len(rows) == LINES:
                yield self._piece(columns, rows, min(1.0, place / size))
                rows = []
        if rows:
            yield self._piece(columns, rows, 1.0)

    def _piece(self, columns: Sequence[str], rows: list[list[Any]], part: float) -> Raw:
        values: dict[str, Values] = {}
        missing: dict[str, Mask] = {}
        for name, column in zip(columns, zip(*rows, strict=True), strict=True):
            gone = [value is None or self.missing.is_missing(value) for value in column]
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
                for row in self._objects(f"{self.name}: line {number}", line):
                    names = list(row) if names is None else names
                    if sorted(row) != sorted(names):
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
