"""Excel workbooks (``.xlsx``) as tables: one sheet, whose first row names the columns.

Cells become the texts that Excel would save as CSV, with points in numbers and dates as 2026-11-28. A cell is
not taken for what it is not: a formula that was never computed and an error value such as ``#N/A`` are
refused, and so are merged cells among the names.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from mechdesign.core.errors import DataError, MissingPackageError, suggestion, unread
from mechdesign.data.intake import Mask, MissingRule, Values, texts
from mechdesign.data.reading import FileTable, Raw
from mechdesign.data.text_files import HEAD, FileForm, require_text
from mechdesign.exact.numbers import text_of

LINES = 1 << 14
"""Rows that become a piece."""
MOST_UNPACKED = 1 << 32
"""Bytes of an unpacked workbook; a larger one is refused before it is unpacked."""
MERGED = re.compile(rb'<mergeCell\s+ref="([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)"')
FORMULA = re.compile(rb"<f[ >/]")
PIECE = 1 << 20


class WorkbookTable(FileTable):
    """A sheet of an Excel workbook: the one that is stated, or the only one with cells."""

    def _columns(self) -> tuple[str, ...]:
        self._require_workbook()
        with self._opened() as (values,):
            self._sheet = self._chosen(values)
            sheet = values[self._sheet]
            self._scan(sheet, is_table=True)
            header = next(sheet.iter_rows(values_only=True), ())
            names = [_text(cell) or "" for cell in header]
            while names and not names[-1]:
                names.pop()
        if not names:
            raise DataError(self.name, f"sheet '{self._sheet}' has no names in its first row", "write them")
        return tuple(names)

    def _require_workbook(self) -> None:
        """Name what a file is that does not begin like a workbook."""
        with suppress(OSError), self.path.open("rb") as binary:
            head = binary.read(HEAD)
            if not head.startswith(b"PK"):
                require_text(self.name, head)

    def _chosen(self, book: Any) -> str:
        """Return the name of the sheet that is read."""
        names = list(book.sheetnames)
        if self.form.sheet:
            if self.form.sheet not in names:
                raise DataError(
                    self.name, f"no sheet '{self.form.sheet}'", suggestion(self.form.sheet, names)
                )
            return self.form.sheet
        filled = [sheet.title for sheet in book.worksheets if _has_cells(sheet)]
        if len(filled) > 1:
            listed = ", ".join(f"'{name}'" for name in filled[:6])
            raise DataError(self.name, f"has several sheets: {listed}", f"name one: --sheet {filled[0]!r}")
        if not filled:
            raise DataError(self.name, "is empty", "give a row of names and one row per user")
        return str(filled[0])

    def _scan(self, sheet: Any, is_table: bool) -> None:
        """Note whether a sheet has formulas; of a table refuse merged names: all but the first have none."""
        self._has_formulas = False
        with zipfile.ZipFile(self.path) as archive, archive.open(_part_of(sheet)) as stream:
            end = b""
            while piece := stream.read(PIECE):
                text = end + piece
                self._has_formulas = self._has_formulas or FORMULA.search(text) is not None
                for match in MERGED.finditer(text) if is_table else ():
                    first, top, last, _ = (item.decode() for item in match.groups())
                    if top == "1" and first != last:
                        where = f"{self.name}: sheet '{sheet.title}'"
                        what = f"the names in {first}1:{last}1 are merged cells"
                        raise DataError(where, what, "unmerge them, and give each column a name")
                end = piece[-64:]

    def _rows(
        self, first: int, width: int | None = None
    ) -> Iterator[tuple[int, Sequence[Any], Sequence[Any]]]:
        """Yield the number of each row, its values, and its cells as they are written, as formulas."""
        with self._opened(self._has_formulas) as books:
            sheets = [
                book[self._sheet].iter_rows(min_row=first, max_col=width, values_only=True) for book in books
            ]
            for number, rows in enumerate(zip(*sheets, strict=True), start=first):
                yield number, rows[0], rows[-1]

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        places = [self.columns.index(name) for name in columns]
        waiting: list[list[str]] = []
        for number, row, written in self._rows(2, max(places, default=0) + 1):
            if all(cell is None for cell in written):
                continue  # rows behind the last one, and blank ones
            waiting.append([self._cell(row, written, place, number) for place in places])
            if len(waiting) == LINES:
                yield self._piece(columns, waiting)
                waiting = []
        if waiting:
            yield self._piece(columns, waiting)

    def _cell(self, row: Sequence[Any], written: Sequence[Any], place: int, number: int) -> str:
        """Return the text of a cell."""
        value = row[place] if place < len(row) else None
        formula = written[place] if place < len(written) else None
        if value is None and isinstance(formula, str) and formula.startswith("="):
            what = "holds a formula without a value"
            raise DataError(self._where(place, number), what, "open the file in Excel and save it again")
        if isinstance(value, str) and value in ERRORS and (value == formula or str(formula)[:1] == "="):
            raise DataError(self._where(place, number), f"holds the error {value}", "correct it, or empty it")
        return _text(value)

    def _where(self, place: int, number: int) -> str:
        return f"{self.name}: row {number}, column '{self.columns[place]}'"

    def _piece(self, columns: Sequence[str], rows: list[list[str]]) -> Raw:
        values: dict[str, Values] = {}
        missing: dict[str, Mask] = {}
        for name, column in zip(columns, zip(*rows, strict=True), strict=True):
            values[name] = texts(list(column))
            gone = [self.missing.is_missing(text) for text in column]
            missing[name] = np.array(gone, dtype=np.bool_)
        return values, missing, 0.0

    @contextmanager
    def _opened(self, has_formulas: bool = False) -> Iterator[list[Any]]:
        """Give the workbook with the values of its formulas, and again with its formulas."""
        load = _openpyxl(self.name).load_workbook
        books: list[Any] = []
        try:
            with zipfile.ZipFile(self.path) as archive:
                size = sum(item.file_size for item in archive.infolist())
            if size > MOST_UNPACKED:
                raise DataError(self.name, f"has {size >> 20} MiB unpacked", "save the sheet as CSV")
            for flag in (True, False)[: 1 + has_formulas]:
                books.append(load(self.path, read_only=True, data_only=flag))
            yield books
        except OSError as error:
            raise DataError(self.name, unread(error), "check the path") from None
        except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            remedy = "name it as what it is, or save it in Excel again"
            raise DataError(self.name, "is not an Excel workbook (.xlsx)", remedy) from None
        finally:
            for book in books:
                book.close()


class RawSheet(WorkbookTable):
    """A sheet whose first rows are of any kind: merged cells and cells without a name are no errors."""

    def _columns(self) -> tuple[str, ...]:
        self._require_workbook()
        with self._opened() as (values,):
            self._sheet = self._chosen(values)
            self._scan(values[self._sheet], is_table=False)
        return ()

    def rows(self) -> list[list[str]]:
        """Return all rows as texts; a blank one is empty."""
        result = []
        for number, row, written in self._rows(1):
            cells = [self._cell(row, written, place, number) for place in range(len(row))]
            result.append(cells if any(cells) else [])
        return result

    def _where(self, place: int, number: int) -> str:
        return f"{self.name}: row {number}, column {place + 1}"


def sheet_rows(path: str | os.PathLike[str], name: str, form: FileForm) -> list[list[str]]:
    """Return all rows of a sheet as texts, its first row among them."""
    return RawSheet(path, MissingRule("category"), name, form).rows()


ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#SPILL!", "#CALC!")
"""What Excel writes where a formula has no value."""


def _openpyxl(name: str) -> Any:
    try:
        import openpyxl
    except ImportError:
        remedy = "install mechdesign[xlsx], or save it as CSV in UTF-8"
        raise MissingPackageError(name, "an Excel workbook needs openpyxl", remedy) from None
    return openpyxl


def _has_cells(sheet: Any) -> bool:
    """Whether a sheet has any cell that is not empty among its first rows."""
    return any(cell is not None for row in sheet.iter_rows(max_row=20, values_only=True) for cell in row)


def _part_of(sheet: Any) -> str:
    """Return the name of a sheet's file in the archive."""
    path: str = sheet._worksheet_path
    return path.lstrip("/")


def _text(value: Any) -> str:
    """Return what Excel would write into a CSV file for a value, with a point in numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return text_of(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if hasattr(value, "isoformat"):
        written: str = value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else ""
        return (written or str(value.isoformat())).removesuffix(" 00:00:00")
    return str(value)
