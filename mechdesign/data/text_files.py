"""Tables in text files: their forms, and their text decompressed, decoded, and with its delimiter.

What is no text is refused, with how to convert it.

A form is compression, encoding and delimiter, as a file shows them or a user states them. It is recognized
where only one reading is possible. Where two are, as for a header in which commas and semicolons both give
every line the same number of cells, the file is refused until one is stated.
"""

from __future__ import annotations

import codecs
import csv
import importlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from mechdesign.core.errors import DataError, ParameterError, unread
from mechdesign.core.values import frozen_value

HEAD = 16
"""Bytes by which a format is recognized."""

EXPAND = "decompress it first"
SAVE = "save it as CSV in UTF-8"

FORMATS = {
    b"\x1f\x8b": ("compressed by gzip", f"{EXPAND}: gunzip"),
    b"BZh": ("compressed by bzip2", f"{EXPAND}: bunzip2"),
    b"\xfd7zXZ\x00": ("compressed by xz", f"{EXPAND}: unxz"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", f"{EXPAND}: unzstd"),
    b"PK\x03\x04": (
        "a spreadsheet (.xlsx, .ods) or another ZIP archive",
        f"name it .xlsx if it is an Excel workbook, {SAVE}, or unzip it",
    ),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", SAVE),
    b"PAR1": ("Parquet", "name it .parquet"),
    b"ARROW1": ("an Arrow file (Feather)", "save it as Parquet"),
    b"$FL2": ("an SPSS file", f"use mechdesign import, or {SAVE}"),
    b"$FL3": ("an SPSS file", f"use mechdesign import, or {SAVE}"),
    b"<stata_dta>": ("a Stata file", f"use mechdesign import, or {SAVE}"),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV"),
    b"%PDF-": ("a PDF file", "give the table itself, as CSV"),
    b"\xff\xfe": ("text in UTF-16", SAVE),
    b"\xfe\xff": ("text in UTF-16", SAVE),
}
"""How files begin, what they are, and what to do."""


def require_text(name: str, head: bytes) -> None:
    r"""Raise DataError for a file that begins like one of another format than text.

    Examples
    --------
    >>> require_text("ages.csv", b"age\n31\n")
    >>> require_text("ages.csv.gz", b"\x1f\x8b\x08\x00")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: ages.csv.gz: is compressed by gzip; decompress it first: gunzip
    """
    for start, (kind, remedy) in FORMATS.items():
        if head.startswith(start):
            raise DataError(name, f"is {kind}", remedy)


LONGEST_LINE = 1 << 26
"""Bytes without the end of a line; no row of a table is that long."""


class Letters:
    r"""Looks at a text that is read in pieces, so that what is not one is refused before all of it is copied.

    Parameters
    ----------
    name : str
        What is read, in error messages.

    Examples
    --------
    >>> letters = Letters("standard input")
    >>> letters.read(b"age\n31\n")
    >>> letters.read(b"\0\0")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: standard input: line 3: holds a NUL byte; give text in UTF-8
    """

    def __init__(self, name: str) -> None:
        self._name, self._lines, self._length = name, 1, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, piece: bytes) -> None:
        """Refuse a piece with NUL bytes, or of other bytes than UTF-8, or a line without an end."""
        place = piece.find(b"\0")
        if place >= 0:
            raise self._wrong(piece, place, "holds a NUL byte")
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise self._wrong(piece, error.start, "is not text in UTF-8") from None
        end = piece.rfind(b"\n")
        self._lines += piece.count(b"\n")
        self._length = len(piece) - end - 1 if end >= 0 else self._length + len(piece)
        if self._length > LONGEST_LINE:
            raise self._wrong(b"", 0, f"has more than {LONGEST_LINE} bytes")

    def _wrong(self, piece: bytes, place: int, what: str) -> DataError:
        line = self._lines + piece[:place].count(b"\n")
        return DataError(f"{self._name}: line {line}", what, "give text in UTF-8")


IMPORT = re.compile(r'\s*\{\s*"ImportId"\s*:')
"""How the cells of the third line of a Qualtrics export begin."""

RESPONSES = ("response", "open-ended response")
"""Cells of the second line of a SurveyMonkey export."""


def require_one_header(name: str, lines: Sequence[Sequence[str]]) -> None:
    """Raise DataError for the first lines of a file with further headers, which would be users' answers.

    Examples
    --------
    >>> require_one_header("q.csv", [["Q1"], ["Do you smoke?"], ['{"ImportId":"QID1"}']])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: q.csv: is a Qualtrics export with three header lines; use ...
    """
    for number, cells in enumerate(lines[1:3], start=2):
        if any(IMPORT.match(cell) for cell in cells):
            what = f"is a Qualtrics export with {'three' if number == 3 else 'two'} header lines"
            lines_less = "the lines of questions and of ImportIds" if number == 3 else "that of ImportIds"
            remedy = f"use mechdesign import, or delete {lines_less}"
            raise DataError(name, what, remedy)
    if len(lines) > 1 and len(lines[0]) == len(lines[1]):
        header, second = ([cell.strip().casefold() for cell in cells] for cells in lines[:2])
        is_second = any(cell in RESPONSES for cell in second)
        if is_second and ("" in header or "" in second or header[0] == "respondent id"):
            remedy = "use mechdesign import, or join them into one, with a name for every column"
            raise DataError(name, "is a SurveyMonkey export with two header lines", remedy)


DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}
"""The delimiters of tables, by the words that state them."""

DECIMALS = {"point": ".", "comma": ","}
"""The signs before decimals, by the words that state them."""

RECOGNIZED = "recognized"
"""The sign before decimals is that of the numbers in the file."""

ROWS_COMPARED = 200
"""Lines at the beginning by which a delimiter is recognized."""


@frozen_value()
class FileForm:
    """What is stated about the form of a table; what is not stated is recognized.

    Attributes
    ----------
    delimiter : str
        ``","``, ``";"``, a tab, or empty.
    decimal : str
        ``"."``, ``","``, or ``RECOGNIZED``; empty where numbers stay as they are written.
    encoding : str
        The encoding of a text, such as ``windows-1252``, or empty.
    sheet : str
        The sheet of a workbook, or empty.
    texts : frozenset of str
        Answers that are texts, which are no numbers whatever they look like.

    Examples
    --------
    >>> stated_form(delimiter="semicolon", decimal="comma").delimiter
    ';'
    """

    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    sheet: str = ""
    texts: frozenset[str] = frozenset()


PLAIN = FileForm()
"""Nothing is stated."""


def stated_form(
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> FileForm:
    """Return the form that the words of a command state.

    Raises
    ------
    ParameterError
        For an encoding that is unknown, or that is none of text.

    Examples
    --------
    >>> stated_form(encoding="latin-9000")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: --encoding: unknown encoding 'latin-9000'; try utf-8, ...
    """
    if encoding:
        try:
            "".encode(encoding).decode(encoding)
        except (LookupError, ValueError, TypeError):
            remedy = "try utf-8, utf-16, or windows-1252"
            raise ParameterError("--encoding", f"unknown encoding '{encoding}'", remedy) from None
    sign = DECIMALS.get(decimal or "", RECOGNIZED)
    return FileForm(DELIMITERS.get(delimiter or "", ""), sign, encoding or "", sheet or "")


COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""How compressed files begin."""

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How texts in UTF-16 begin."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Endings that compressed files have behind their own."""

MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}
"""The modules that decompress, imported for such files alone."""

PIECE = 1 << 18


def plain_suffix(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, without that of a compression.

    Examples
    --------
    >>> plain_suffix("days/Ages.CSV.gz"), plain_suffix("ages.parquet")
    ('.csv', '.parquet')
    """
    place = Path(path)
    suffix = place.suffix.lower()
    return Path(place.stem).suffix.lower() if suffix in COMPRESSED else suffix


def compression_of(head: bytes) -> str:
    """Return the compression of a file that begins so; empty for none."""
    return next((name for start, name in COMPRESSIONS.items() if head.startswith(start)), "")


def opened_binary(path: Path, name: str, compression: str) -> IO[bytes]:
    """Return the bytes of a file, decompressed while they are read."""
    if compression == "zstd":
        return _opened_zstd(path, name)
    module = MODULES.get(compression)
    stream: IO[bytes] = importlib.import_module(module).open(path, "rb") if module else path.open("rb")
    return stream


def _opened_zstd(path: Path, name: str) -> IO[bytes]:
    """Open a file compressed by zstd, by pyarrow, which has it."""
    try:
        import pyarrow
    except ImportError:
        what = "is compressed by zstd, which needs pyarrow"
        raise DataError(name, what, "decompress it first: unzstd, or install mechdesign[parquet]") from None
    stream: IO[bytes] = pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")
    return stream


OF_DECOMPRESSION = ("zlib", "_lzma")
"""The modules of the errors that decompression raises besides OSError and EOFError."""


class Utf8Stream(io.RawIOBase):
    r"""The text of a binary stream in some encoding, as bytes in UTF-8 without a mark at the beginning.

    Examples
    --------
    >>> Utf8Stream(io.BytesIO(b"M\xfcller"), "windows-1252").read().decode("utf-8")
    'Müller'
    """

    def __init__(self, binary: IO[bytes], encoding: str) -> None:
        self._binary = binary
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._waiting = b""
        self._begins = self._goes_on = True

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer."""
        while self._goes_on and not self._waiting:
            piece = self._binary.read(PIECE)
            self._goes_on = bool(piece)
            text = self._decoder.decode(piece, final=not piece)
            if self._begins and text:
                text, self._begins = text.removeprefix("\ufeff"), False
            self._waiting = text.encode("utf-8", "surrogatepass")
        part = self._waiting[: len(buffer)]
        buffer[: len(part)] = part
        self._waiting = self._waiting[len(part) :]
        return len(part)

    def close(self) -> None:
        """Close the binary stream."""
        self._binary.close()
        super().close()


SEPARATOR_LINE = ("sep=,", "sep=;", "sep=\t")
"""First lines by which some programs tell Excel the delimiter."""

WORDS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def separator_line(start: str) -> str:
    r"""Return the delimiter that the first line of a file states; empty where it states none.

    Examples
    --------
    >>> separator_line("sep=;\nname;age\n"), separator_line("name;age\n")
    (';', '')
    """
    line = start.removeprefix("\ufeff").split("\n", 1)[0].rstrip("\r").replace('"', "").lower()
    return line[-1] if line in SEPARATOR_LINE else ""


def delimiter_of(name: str, start: str) -> str:
    r"""Return the delimiter of a table that begins so.

    A delimiter is possible when it cuts the header into several cells. Of several possible ones, that counts
    which cuts all lines into as many.

    Raises
    ------
    DataError
        When two delimiters cut all lines into as many cells as the header.

    Examples
    --------
    >>> delimiter_of("a.csv", "name;grade\nAnn;1,3\n"), delimiter_of("a.csv", "name,a;b\nAnn,2\n")
    (';', ',')
    >>> delimiter_of("a.csv", "height, in m;age, in years\n1,8;3,1\n")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: a.csv: its columns may be separated by commas or by semicolons; add ...
    """
    first = start.split("\n", 1)[0]
    if ";" not in first and "\t" not in first:
        return ","
    shares = {sign: share for sign in WORDS if (share := _share(start, sign)) is not None}
    whole = [sign for sign, share in shares.items() if share == 1.0]
    if len(whole) > 1:
        both = " or by ".join(WORDS[sign] for sign in whole)
        words = " or ".join(word for word, sign in DELIMITERS.items() if sign in whole)
        raise DataError(name, f"its columns may be separated by {both}", f"add --delimiter {words}")
    if whole:
        return whole[0]
    if "," in shares:
        return ","
    return max(shares, key=lambda sign: shares[sign] or 0.0) if any(shares.values()) else ","


def _share(start: str, sign: str) -> float | None:
    """Return the part of the lines that have as many cells as the header; None where that has only one."""
    rows = head_rows(start, sign, ROWS_COMPARED)
    if not rows or len(rows[0]) < 2:
        return None
    lines = [row for row in rows[1:] if row]
    return sum(len(row) == len(rows[0]) for row in lines) / len(lines) if lines else 1.0


def head_rows(start: str, sign: str, most: int) -> list[list[str]]:
    """Return the first rows of a text, without one that the text may have cut."""
    reader = csv.reader(io.StringIO(start, newline=""), delimiter=sign)
    rows: list[list[str]] = []
    try:
        for row in reader:
            rows.append(row)
            if len(rows) > most:
                break
    except csv.Error:
        return rows
    return rows if len(rows) <= 2 or start.endswith(("\n", "\r")) else rows[:-1]


HEADER = 1 << 20
"""Characters among which the header has to be."""


class TextFile:
    """A text in a file, in UTF-8 or what else it begins like or is stated, perhaps compressed.

    Parameters
    ----------
    path : path
    name : str
        What errors call it.
    form : FileForm
        What is stated; the rest is recognized.
    """

    def __init__(self, path: str | os.PathLike[str], name: str, form: FileForm = PLAIN) -> None:
        self.path, self.name, self.form = Path(path), name, form
        self.compression = ""
        with self.errors(), self.path.open("rb") as binary:
            head = binary.read(HEAD)
        self.compression = compression_of(head)
        if self.compression:
            with self.errors(), opened_binary(self.path, name, self.compression) as binary:
                head = binary.read(HEAD)
        self.encoding = form.encoding or ("utf-16" if head[:2] in UTF_16 else "")
        if not self.encoding:
            require_text(name, head)

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of the file are its text in UTF-8."""
        return not self.compression and not self.encoding

    def open(self) -> IO[bytes]:
        """Return the text as a stream of bytes in UTF-8."""
        binary = opened_binary(self.path, self.name, self.compression)
        if not self.encoding:
            return binary
        stream: Any = io.BufferedReader(Utf8Stream(binary, self.encoding), PIECE)
        return cast(IO[bytes], stream)

    @cached_property
    def _beginning(self) -> tuple[str, str]:
        """The delimiter that the first line states, and the beginning of the text behind such a line."""
        with self.errors(), self.open() as binary:
            stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            start = stream.read(HEADER)
        if len(start) == HEADER and "\n" not in start and "\r" not in start:
            raise DataError(self.name, f"its first line is longer than {HEADER} characters", "is it CSV?")
        if "\0" in start.split("\n", 1)[0]:
            remedy = "save it as text in UTF-8, or, if it is in UTF-16, add --encoding utf-16-le"
            raise DataError(self.name, "holds NUL bytes, which no text has", remedy)
        stated = separator_line(start)
        return stated, start.split("\n", 1)[-1] if stated else start

    @property
    def start(self) -> str:
        """The beginning of the text, without a line that states the delimiter."""
        return self._beginning[1]

    @property
    def extra_lines(self) -> int:
        """The number of lines before the header: 1 where the first one states the delimiter."""
        return int(self._beginning[0] != "")

    @cached_property
    def delimiter(self) -> str:
        """What separates the cells, as stated in a command or in the file, or recognized."""
        return self.form.delimiter or self._beginning[0] or delimiter_of(self.name, self.start)

    def end(self, most: int) -> bytes:
        """Return the last bytes of the text."""
        with self.errors(), self.open() as binary:
            if self.is_plain:
                binary.seek(-min(os.path.getsize(self.path), most), os.SEEK_END)
                return binary.read()
            end = b""
            while piece := binary.read(PIECE):
                end = (end + piece)[-most:]
            return end

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what is wrong with the file as DataError."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise DataError(self.name, *self._undecoded(error)) from None
        except csv.Error as error:
            raise DataError(self.name, f"is not a CSV file ({error})", "correct its quotes") from None
        except Exception as error:
            is_damage = isinstance(error, (EOFError, OSError)) or type(error).__module__ in OF_DECOMPRESSION
            if self.compression and is_damage:
                raise DataError(self.name, f"is damaged ({self.compression})", "copy it again") from None
            if isinstance(error, OSError):
                raise DataError(self.name, unread(error), "check the path") from None
            raise

    def _undecoded(self, error: UnicodeDecodeError) -> tuple[str, str]:
        """Return what is wrong with the bytes of a text, and what to do."""
        byte = error.object[error.start] if error.start < len(error.object) else 0
        if self.encoding:
            return f"is not text in {self.encoding} (byte 0x{byte:02x})", "name the encoding that it has"
        what = f"is not a CSV file in UTF-8 (byte 0x{byte:02x})"
        if b"\0" in error.object:
            return what, "save it as CSV in UTF-8"
        return (
            f"{what}; it may be in Windows-1252 ('ANSI'), as Excel saves 'CSV'",
            "save it as 'CSV UTF-8', or add --encoding windows-1252",
        )
