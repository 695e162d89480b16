"""Forms of text tables: compression, encoding, the delimiter, as a file shows them or a user states them.

A form is recognized where only one reading is possible. Where two are, as for a header in which commas and
semicolons both separate the same number of cells in every line, the file is refused until one is stated.
"""

from __future__ import annotations

import codecs
import csv
import importlib
import io
from pathlib import Path
from typing import IO, Any

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.values import frozen_value

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
