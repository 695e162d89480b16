"""CSV files in blocks, by their bytes or by a reader; and texts that a spreadsheet takes for formulas.

Lines without quotes are read from the bytes of many of them (:mod:`mechdesign.data.uniform_lines`), from the
first quote on by pyarrow or by Python's own module.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` (or the full-width forms of these,
and whatever it skips before them) when somebody opens the file: a name that a user chose could read other
cells, or start programs. Such a text is written with an apostrophe before it, and reading takes one away
again. Numbers are not texts of this kind, ``-3.5`` stays as it is.
"""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, counted
from mechdesign.data.arrow import numbers_of
from mechdesign.data.decimals import QUOTED_COMMA, DecimalSigns
from mechdesign.data.intake import Coded, Mask, Values, texts
from mechdesign.data.reading import MOST_BYTES, FileTable, Raw, require_short
from mechdesign.data.text_files import RECOGNIZED, TextFile, head_rows, require_one_header

if TYPE_CHECKING:
    from mechdesign.data.uniform_lines import NumberedTexts

MARK = "'"
"""What is written before such a text."""
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
STARTS = "\t\r\n"
"""Characters that spreadsheets skip: a text that begins so is marked in any case."""
QUOTES = "'\"`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\uff02\uff07"
NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
SUSPECT = re.compile(f"[{re.escape(SIGNS + STARTS)}]")
SPLIT = re.compile(r"([;,\t\r\n|])")
"""What separates cells in one country or another, whatever the quotes."""


def is_formula(text: str) -> bool:
    r"""Whether a spreadsheet might take a cell of this text for a formula.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", "+49 30", "@ann", " -a", '"=1', "\t1", "\uff1d1")]
    [True, True, True, True, True, True, True]
    >>> [is_formula(text) for text in ("-3.5", "+4e-7", "-", "a=1", "", "-inf")]
    [False, False, False, False, False, False]
    """
    if text[:1].isalnum() or NUMBER.fullmatch(text):
        return False
    if text.lstrip(QUOTES)[:1] in tuple(STARTS):
        return True
    core = next((place for place, letter in enumerate(text) if not _is_skipped(letter)), len(text))
    return text[core : core + 1] in tuple(SIGNS) and text[core + 1 :].strip() != ""


def _is_skipped(letter: str) -> bool:
    """Whether it is a quote, white space, or a character without a width."""
    return letter in QUOTES or letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf", "Mn", "Me")


def escaped_formula(text: str) -> str:
    """Return the text as it is written to a CSV file.

    A mark stands at the beginning, and behind each separator that another spreadsheet's settings split at.

    Examples
    --------
    >>> escaped_formula("=1+1"), escaped_formula("-3.5"), escaped_formula("'=1+1"), escaped_formula("a;=1+1")
    ("'=1+1", '-3.5', "''=1+1", "a;'=1+1")
    """
    if not SUSPECT.search(text):
        return text
    parts = SPLIT.split(text)  # every second one is a separator
    parts[2::2] = [MARK + part if is_formula(part) else part for part in parts[2::2]]
    written = "".join(parts)
    return MARK + written if is_formula(written) else written


def unescaped_formula(text: str) -> str:
    """Return the text that was written as this one: the inverse of :func:`escaped_formula`.

    A text that :func:`escaped_formula` never writes is returned as it is.

    Examples
    --------
    >>> [unescaped_formula(text) for text in ("'=1+1", "'tis", "''=1+1", "=1")]
    ['=1+1', "'tis", "'=1+1", '=1']
    """
    if not SUSPECT.search(text):
        return text
    parts = SPLIT.split(_without(text))
    parts[2::2] = map(_without, parts[2::2])
    restored = "".join(parts)
    return restored if escaped_formula(restored) == text else text


def _without(text: str) -> str:
    return text[1:] if text[:1] == MARK and is_formula(text[1:]) else text


class Unmarking:
    """Restores the texts of one column, and refuses one in which two texts could become the same.

    Every formula that :func:`escaped_formula` wrote has its mark. A column in which some have it and
    others do not was put together from several files, and nobody can say which names in it are the same.

    Parameters
    ----------
    name : str
        The file and the column, for the error.

    Examples
    --------
    >>> column = Unmarking("bids.csv: user")
    >>> column("'=a"), column("'=b")
    ('=a', '=b')
    >>> column("=a")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: bids.csv: user: "'=a" and '=a' begin like formulas, one with an ...
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._with, self._without = "", ""

    def __call__(self, text: str) -> str:
        """Return the text as it was before it was written."""
        if not SUSPECT.search(text):
            return text
        restored = unescaped_formula(text)
        if restored != text:
            self._with = self._with or text
        elif escaped_formula(text) != text:
            self._without = self._without or text
        if self._with and self._without:
            raise DataError(
                self.name,
                f"{_cut(self._with)} and {_cut(self._without)} begin like formulas, one with an apostrophe "
                "before it and one without",
                "write both in one way",
            )
        return restored

    def all(self, texts: list[str]) -> list[str]:
        """Return the texts as they were before they were written; the list itself where none is suspect."""
        return [self(text) for text in texts] if SUSPECT.search("".join(texts)) else texts


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


BLOCK = 1 << 19
"""Bytes of lines that are looked at together: with the numbers made of them they fit a processor's cache."""

TINY = 1 << 13
"""Bytes of a file that Python's own module reads as fast."""

LONGEST_LINE = 1 << 22
"""Bytes without the end of a line from which on they are left to a reader."""

BYTES = 1 << 20
"""What pyarrow makes a piece of; it reads some thirty of them ahead."""

EMPTY_QUOTED = b'""'
"""How an empty value is written that is no blank line."""

SHORT = 1 << 18
"""Bytes of a file that is read by Python's own module sooner than pyarrow is imported."""

TOGETHER, REPEATED = 1 << 11, 4
"""Lines that Python's own module reads at a time; a column whose texts stand so often on average is coded."""

LINES = 1 << 12
"""Lines that Python's own module collects before they become a piece."""


HEAD_ROWS = 1000
"""Rows at the beginning by which the sign of decimals is recognized."""


class CsvTable(FileTable):
    """A CSV file with a header line, in UTF-8 or what else it begins like or is stated, perhaps compressed.

    A blank line is not a row; only in a file of one column, and not at its end, it is an empty value. There
    an empty value is written as two quotes, which is a row at the end as well.
    """

    def _columns(self) -> tuple[str, ...]:
        self._file = TextFile(self.path, self.name, self.form)
        start, self.delimiter = self._file.start, self._file.delimiter
        with self._file.errors():
            first = list(islice(csv.reader(io.StringIO(start, newline=""), delimiter=self.delimiter), 3))
            strict = csv.reader(io.StringIO(start, newline=""), delimiter=self.delimiter, strict=True)
            header = next(strict, None)
        if not header:
            raise DataError(self.name, "is empty", "give a header line and one line per user")
        require_one_header(self.name, first)
        self._decimals: DecimalSigns | None = None
        stated = "" if self.form.decimal == RECOGNIZED else self.form.decimal
        if stated or (self.form.decimal and (self.delimiter != "," or QUOTED_COMMA.search(start))):
            self._decimals = DecimalSigns(self.name, stated, self.form.texts, points=self.delimiter == ",")
            self._head = head_rows(start, self.delimiter, HEAD_ROWS)[1:]
        return tuple(map(Unmarking(f"{self.name}: header"), header))

    def first_values(self, column: str, rows: int | None) -> Iterator[Values]:
        """Yield the first values of a column; of a number of rows only those in the beginning of the text."""
        if rows is None:
            yield from super().first_values(column, rows)
            return
        place = self.columns.index(column)
        head = head_rows(self._file.start, self.delimiter, rows)[1:]
        yield texts([row[place] for row in head if place < len(row)])

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        self._unmarking = {name: Unmarking(f"{self.name}: column '{name}'") for name in columns}
        if self._decimals is not None:
            for name in columns:
                place = self.columns.index(name)
                self._decimals.look(name, (row[place] for row in self._head if place < len(row)))
        if len(self.columns) > 1:
            yield from self._pieces(columns)
            return
        # In a file of one column a blank line is an empty value; those at the end are not rows, quotes are.
        held: list[Raw] = []
        for values, missing, part in self._pieces(columns):
            (column,) = values.values()
            if isinstance(column, Coded) and "" not in column.values:
                yield from held
                yield values, missing, part
                held = []
                continue
            empty = _blank(column)
            filled = np.flatnonzero(~empty)
            if not len(filled):
                held.append((values, missing, part))
                continue
            yield from held
            end = int(filled[-1]) + 1
            piece = values, missing, part
            yield _rows_between(piece, 0, end)
            held = [_rows_between(piece, end, len(empty))] if end < len(empty) else []
        rows = self._quoted_at_end(sum(map(_rows_of, held)))
        for piece in held:
            if rows > 0:
                yield _rows_between(piece, 0, min(rows, _rows_of(piece)))
            rows -= _rows_of(piece)

    def _pieces(self, columns: Sequence[str]) -> Iterator[Raw]:
        """Yield the rows: while no cell has quotes from the bytes of many lines, from then on by a reader."""
        size = max(1, os.path.getsize(self.path))
        if self._file.is_plain and size <= TINY:
            yield from self._by_python(columns)
            return
        from mechdesign.data.uniform_lines import NumberedTexts  # a few lines are read sooner than it

        known = {name: NumberedTexts() for name in columns}
        with self._file.errors(), self._file.open() as binary:
            head, rest = self._header_lines(binary)
            done = len(head)
            for block, behind in whole_lines(binary, rest) if head else [(b"", rest)]:
                pairs = self._by_bytes(columns, block, known) if block else None
                if pairs is None:
                    stream = io.BufferedReader(_Rest(head + block + behind, binary))
                    yield from self._by_reader(columns, stream)
                    return
                done += len(block)
                yield (
                    {name: values for name, (values, _) in pairs.items()},
                    {name: mask for name, (_, mask) in pairs.items()},
                    min(1.0, done / size) if self._file.is_plain else 0.0,
                )

    def _header_lines(self, binary: IO[bytes]) -> tuple[bytes, bytes]:
        """Return the lines up to the header and what was read behind; none where a name has quotes."""
        data, lines, end = b"", 1 + self._file.extra_lines, 0
        while data.count(b"\n") < lines and len(data) < LONGEST_LINE and (piece := binary.read(BLOCK)):
            data += piece
        for _ in range(lines):
            end = data.find(b"\n", end) + 1
            if not end:
                return b"", data
        head = data[:end]
        is_plain = b'"' not in head and b"\r" not in head.replace(b"\r\n", b"") and self.delimiter.isascii()
        return (head, data[end:]) if is_plain else (b"", data)

    def _by_bytes(
        self, columns: Sequence[str], block: bytes, known: dict[str, NumberedTexts]
    ) -> dict[str, tuple[Values, Mask]] | None:
        """Return columns of some lines and what is missing in them; None where a cell has quotes or worse."""
        from mechdesign.data.uniform_lines import CellBlock

        whole = block if block.endswith(b"\n") else block + b"\n"
        cells = CellBlock.of(whole, len(self.columns), ord(self.delimiter))
        if cells is None:
            return None
        pairs: dict[str, tuple[Values, Mask]] = {}
        for name in columns:
            starts, ends = cells.column(self.columns.index(name))
            lengths = ends - starts
            if int(lengths.max()) > MOST_BYTES:
                return None
            codes = known[name].codes(cells, starts, lengths)
            if codes is None:
                pairs[name] = self._listed(name, cells.texts(starts, ends))
            else:
                pairs[name] = self._coded(name, [text.decode() for text in known[name].written], codes)
        return pairs

    def _by_reader(self, columns: Sequence[str], stream: Any) -> Iterator[Raw]:
        by_arrow = self._is_long() and _arrow() is not None
        return self._by_arrow(columns, stream) if by_arrow else self._by_python(columns, stream)

    def _is_long(self) -> bool:
        """Whether reading the file by Python's module takes longer than importing pyarrow."""
        return not self._file.is_plain or os.path.getsize(self.path) > SHORT

    def _quoted_at_end(self, rows: int) -> int:
        """Return how many of the last lines, which are empty, go to the last one that is written ``""``."""
        if not rows:
            return 0
        lines = self._file.end(4 * (rows + 1)).splitlines()[-rows:]
        return max((place for place, line in enumerate(lines, start=1) if line == EMPTY_QUOTED), default=0)

    def _by_python(self, columns: Sequence[str], rest: Any = None) -> Iterator[Raw]:
        size = max(1, os.path.getsize(self.path))
        with self._file.errors(), self._file.open() if rest is None else rest as binary:
            stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            reader = csv.reader(stream, delimiter=self.delimiter, strict=True)
            for _ in range(1 + self._file.extra_lines):
                next(reader, None)
            places = [self.columns.index(name) for name in columns]
            waiting: list[list[str]] = [[] for _ in places]  # by column: keeping a list per row is slow
            rows = 0
            for lines in self._lines_together(reader):
                by_column = list(zip(*lines, strict=True))
                for column, place in zip(waiting, places, strict=True):
                    column.extend(by_column[place])
                rows += len(lines)
                if rows >= LINES:
                    yield self._piece(columns, waiting, self._part(binary, size))
                    waiting, rows = [[] for _ in places], 0
            if rows:
                yield self._piece(columns, waiting, 1.0)

    def _part(self, binary: IO[bytes], size: int) -> float:
        """Return which part of the file has been read; 0 where its length is not that of its text."""
        return min(1.0, binary.tell() / size) if self._file.is_plain else 0.0

    def _piece(self, columns: Sequence[str], waiting: list[list[str]], part: float) -> Raw:
        values: dict[str, Values] = {}
        missing: dict[str, Mask] = {}
        for name, written in zip(columns, waiting, strict=True):
            values[name], missing[name] = self._listed(name, written)
        return values, missing, part

    def _listed(self, name: str, written: list[str]) -> tuple[Values, Mask]:
        """Return a column and which of its rows are missing, from its texts as they are written."""
        distinct = dict.fromkeys(written)
        if len(distinct) * REPEATED <= len(written):
            numbered = {word: number for number, word in enumerate(distinct)}
            codes = np.fromiter(map(numbered.__getitem__, written), np.intp, count=len(written))
            return self._coded(name, list(distinct), codes)
        column = self._unmarking[name].all(written)
        if self._decimals is not None:
            column = self._decimals.plain(name, column)
        is_code = self.missing.is_missing if self.missing.codes else {""}.__contains__
        return texts(column), np.fromiter(map(is_code, column), np.bool_, count=len(column))

    def _lines_together(self, reader: Any) -> Iterator[list[list[str]]]:
        """Yield the lines of :meth:`_full_lines`, many at a time; where that refuses one, it says which."""
        width = len(self.columns)
        try:
            while lines := list(islice(reader, TOGETHER)):
                widths = set(map(len, lines))
                if 0 in widths:
                    lines = [line or [""] for line in lines] if width == 1 else list(filter(None, lines))
                if not widths <= {0, width}:
                    break
                if lines:
                    yield lines
            else:
                return
        except csv.Error:
            pass
        with self._file.open() as binary:
            stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            again = csv.reader(stream, delimiter=self.delimiter, strict=True)
            for _ in range(1 + self._file.extra_lines):
                next(again, None)
            for _ in self._full_lines(again):
                pass

    def _full_lines(self, reader: Any) -> Iterator[list[str]]:
        """Yield the lines; a blank one is an empty value of the only column, or else no row at all."""
        width, first = len(self.columns), reader.line_num + 1
        try:
            for line in reader:
                if len(line) == width:
                    yield line
                elif line:
                    count = f"{counted(len(line), 'field')}, the header has {width}"
                    raise DataError(f"{self.name}: line {first}", count, "correct the line")
                elif width == 1:
                    yield [""]
                first = reader.line_num + 1
        except csv.Error as error:  # an open quote swallows all lines after it: its own is named
            remedy = "look for a quote that is not closed"
            raise DataError(f"{self.name}: line {first}", f"is not CSV ({error})", remedy) from None

    def _by_arrow(self, columns: Sequence[str], rest: Any) -> Iterator[Raw]:
        arrow = _arrow()
        csv_module = arrow.csv
        size, texts = max(1, os.path.getsize(self.path)), arrow.dictionary(arrow.int32(), arrow.string())
        # Numbers for names, as only the wanted names are known to differ; the header is skipped as a row.
        places = {name: str(self.columns.index(name)) for name in columns}
        try:
            with self._file.errors(), rest as binary:
                counted, rows = _Counted(binary), 0
                reader = csv_module.open_csv(
                    counted,
                    csv_module.ReadOptions(
                        block_size=BYTES,
                        use_threads=False,
                        column_names=[str(place) for place in range(len(self.columns))],
                        skip_rows_after_names=1 + self._file.extra_lines,
                    ),
                    csv_module.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        ignore_empty_lines=len(self.columns) > 1,
                    ),
                    csv_module.ConvertOptions(
                        include_columns=list(places.values()),
                        column_types={place: texts for place in places.values()},
                        strings_can_be_null=False,
                    ),
                )
                for number, batch in enumerate(reader, start=1):
                    part = min(1.0, number * BYTES / size)  # where it has read to says nothing
                    part = part if self._file.is_plain else 0.0
                    rows += batch.num_rows
                    pairs = {name: self._arrow_values(name, batch.column(at)) for name, at in places.items()}
                    yield (
                        {name: values for name, (values, _) in pairs.items()},
                        {name: mask for name, (_, mask) in pairs.items()},
                        part,
                    )
            if counted.quotes and counted.lines != rows + 1 + self._file.extra_lines:
                # Some field spans lines: it may be a quote that was never closed, which pyarrow lets pass.
                for _ in self._by_python(columns[:1]):
                    pass
        except arrow.ArrowException as error:
            # Read again with Python's module, whose errors name the line.
            if sum(len(next(iter(piece[1].values()))) for piece in self._by_python(columns)):
                raise DataError(self.name, f"is not a CSV file in UTF-8 ({error})", "convert it") from None

    def _arrow_values(self, name: str, coded: Any) -> tuple[Coded, Mask]:
        require_short(f"{self.name}: column '{name}'", coded.dictionary)
        return self._coded(name, coded.dictionary.to_pylist(), numbers_of(coded.indices))

    def _coded(self, name: str, written: list[str], codes: NDArray[Any]) -> tuple[Coded, Mask]:
        """Return a column and which of its rows are missing, from its distinct texts as they are written."""
        words = self._unmarking[name].all(written)
        if self._decimals is not None:
            words = self._decimals.plain(name, words)
        gone = np.array(list(map(self.missing.is_missing, words)), dtype=np.bool_)
        table = np.empty(len(words), dtype=object)
        table[:] = words
        return Coded(table, codes), gone[codes] if gone.any() else np.zeros(len(codes), dtype=np.bool_)


def whole_lines(binary: IO[bytes], rest: bytes) -> Iterator[tuple[bytes, bytes]]:
    r"""Yield whole lines, and what was read behind them; no lines and the rest where one is too long.

    Examples
    --------
    >>> list(whole_lines(io.BytesIO(b"o\nb"), b"a\nn"))
    [(b'a\nno\n', b'b'), (b'b', b'')]
    """
    while data := binary.read(BLOCK):
        rest += data
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end], rest[end:]
            rest = rest[end:]
        elif len(rest) > LONGEST_LINE:
            yield b"", rest
            return
    if rest:
        yield rest, b""


class _Rest(io.RawIOBase):
    """A file of which some bytes were read: these, and the others."""

    def __init__(self, begun: bytes, binary: IO[bytes]) -> None:
        self._begun, self._binary = memoryview(begun), binary

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes."""
        size = len(buffer)
        if not self._begun:
            data = self._binary.read(size)
            buffer[: len(data)] = data
            return len(data)
        piece, self._begun = self._begun[:size], self._begun[size:]
        buffer[: len(piece)] = piece
        return len(piece)

    def tell(self) -> int:
        """Return to where the file was read."""
        return self._binary.tell()


class _Counted:
    """A file that counts the quotes and the lines that are read from it."""

    closed = False

    def __init__(self, binary: Any) -> None:
        self.binary, self.quotes, self.ends, self.last = binary, 0, 0, b"\n"

    def read(self, size: int = -1) -> bytes:
        """Read bytes."""
        data: bytes = self.binary.read(size)
        letters = np.frombuffer(data, dtype=np.uint8)  # counts many ends five times as fast as bytes.count
        self.quotes += int(np.count_nonzero(letters == ord('"')))
        self.ends += int(np.count_nonzero(letters == ord("\n")))
        self.last = data[-1:] or self.last
        return data

    @property
    def lines(self) -> int:
        """The number of lines so far; the last one need not have an end."""
        return self.ends + (self.last != b"\n")

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def close(self) -> None:
        """Leave the file to whoever opened it."""


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


def _rows_of(piece: Raw) -> int:
    return len(next(iter(piece[1].values())))


def _rows_between(piece: Raw, start: int, stop: int) -> Raw:
    values, missing, part = piece
    return (
        {name: column[start:stop] for name, column in values.items()},
        {name: mask[start:stop] for name, mask in missing.items()},
        part,
    )
