"""CSV files in blocks: by pyarrow where it is installed, else by Python's own module."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.tables import Coded, Values
from mechdesign.report.missing import Mask
from mechdesign.report.reading import FileTable, Raw, texts

BYTES = 1 << 20
"""What pyarrow makes a piece of; it reads some thirty of them ahead."""

LINES = 1 << 16
"""Lines that Python's own module collects before they become a piece."""


class CsvTable(FileTable):
    """A CSV file in UTF-8 with a header line.

    A blank line is no row; only in a file of one column, and not at its end, it is an empty value.
    """

    def _columns(self) -> tuple[str, ...]:
        with self._errors(), self.path.open(newline="", encoding="utf-8-sig") as stream:
            header = next(csv.reader(stream), None)
        if not header:
            raise DataError(f"{self.name}: is empty; give a header line and one line a user")
        return tuple(header)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error.strerror}); check the path") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{self.name}: is not a CSV file in UTF-8 ({error}); convert it") from None

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        pieces = self._by_arrow if _arrow() is not None else self._by_python
        if len(self.columns) > 1:
            yield from pieces(columns)
            return
        # In a file of one column a blank line is an empty value; those at the end are no rows.
        held: list[Raw] = []
        for values, missing, part in pieces(columns):
            (empty,) = map(_blank, values.values())
            filled = np.flatnonzero(~empty)
            if not len(filled):
                held.append((values, missing, part))
                continue
            yield from held
            end = int(filled[-1]) + 1
            cut = [
                (
                    {name: column[start:stop] for name, column in values.items()},
                    {name: mask[start:stop] for name, mask in missing.items()},
                    part,
                )
                for start, stop in ((0, end), (end, len(empty)))
            ]
            yield cut[0]
            held = [cut[1]] if end < len(empty) else []

    def _by_python(self, columns: Sequence[str]) -> Iterator[Raw]:
        size = max(1, os.path.getsize(self.path))
        with self._errors(), self.path.open("rb") as binary:
            stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            reader = csv.reader(stream)
            next(reader, None)
            places = [self.columns.index(name) for name in columns]
            rows: list[list[str]] = []
            for line in self._full_lines(reader):
                rows.append([line[place] for place in places])
                if len(rows) == LINES:
                    yield self._piece(columns, rows, min(1.0, binary.tell() / size))
                    rows = []
            if rows:
                yield self._piece(columns, rows, 1.0)

    def _piece(self, columns: Sequence[str], rows: list[list[str]], part: float) -> Raw:
        values: dict[str, Values] = {}
        missing: dict[str, Mask] = {}
        codes = ("", *self.missing.codes)
        for name, column in zip(columns, zip(*rows, strict=True), strict=True):
            values[name] = texts(list(column))
            missing[name] = np.fromiter((value in codes for value in column), np.bool_, count=len(column))
        return values, missing, part

    def _full_lines(self, reader: Any) -> Iterator[list[str]]:
        """Yield the lines; a blank one is an empty value of the only column, or else no row at all."""
        width = len(self.columns)
        for line in reader:
            if not line and width > 1:
                continue
            if line and len(line) != width:
                count = f"{len(line)} fields, the header has {width}"
                raise DataError(f"{self.name}: line {reader.line_num}: {count}; correct the line")
            yield line or [""]

    def _by_arrow(self, columns: Sequence[str]) -> Iterator[Raw]:
        arrow = _arrow()
        csv_module = arrow.csv
        size = max(1, os.path.getsize(self.path))
        # Numbers for names, as only the wanted names are known to differ; the header is skipped as a row.
        places = {name: str(self.columns.index(name)) for name in columns}
        try:
            with self._errors(), self.path.open("rb") as binary:
                reader = csv_module.open_csv(
                    binary,
                    csv_module.ReadOptions(
                        block_size=BYTES,
                        use_threads=False,
                        column_names=[str(place) for place in range(len(self.columns))],
                        skip_rows_after_names=1,
                    ),
                    csv_module.ParseOptions(
                        newlines_in_values=True, ignore_empty_lines=len(self.columns) > 1
                    ),
                    csv_module.ConvertOptions(
                        include_columns=list(places.values()),
                        column_types={place: arrow.string() for place in places.values()},
                        strings_can_be_null=False,
                    ),
                )
                for number, batch in enumerate(reader, start=1):
                    part = min(1.0, number * BYTES / size)  # where it has read to says nothing
                    pairs = {name: self._arrow_values(batch.column(at)) for name, at in places.items()}
                    yield (
                        {name: values for name, (values, _) in pairs.items()},
                        {name: mask for name, (_, mask) in pairs.items()},
                        part,
                    )
        except arrow.ArrowException as error:
            # Read again with Python's module, whose errors name the line.
            if sum(len(next(iter(piece[1].values()))) for piece in self._by_python(columns)):
                raise DataError(f"{self.name}: is not a CSV file in UTF-8 ({error}); convert it") from None

    def _arrow_values(self, column: Any) -> tuple[Coded, Mask]:
        coded = column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        codes: NDArray[Any] = coded.indices.to_numpy(zero_copy_only=False)
        gone = np.array([word == "" or word in self.missing.codes for word in words], dtype=np.bool_)
        table = np.empty(len(words), dtype=object)
        table[:] = words
        return Coded(table, codes), gone[codes] if gone.any() else np.zeros(len(codes), dtype=np.bool_)


def _blank(values: Values) -> Mask:
    """Return which rows are empty texts."""
    blank: Mask = _blank(values.values)[values.codes] if isinstance(values, Coded) else values == ""
    return blank


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow
