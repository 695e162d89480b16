"""Formats of files: by the ending of a name, and by the first bytes of what is no table of text.

What is no text is refused, with how to convert it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

from mechdesign.core.errors import DataError, ParameterError

HEAD = 16
"""Bytes by which a format is recognized."""

EXPAND = "decompress it first"
SAVE = "save it as CSV in UTF-8"

FORMATS = {
    b"\x1f\x8b": ("compressed by gzip", f"{EXPAND}: gunzip"),
    b"BZh": ("compressed by bzip2", f"{EXPAND}: bunzip2"),
    b"\xfd7zXZ\x00": ("compressed by xz", f"{EXPAND}: unxz"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", f"{EXPAND}: unzstd"),
    b"PK\x03\x04": ("a spreadsheet (.xlsx, .ods) or another ZIP archive", f"{SAVE}, or unzip it"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", SAVE),
    b"PAR1": ("Parquet", "name it .parquet"),
    b"ARROW1": ("an Arrow file (Feather)", "save it as Parquet"),
    b"$FL2": ("an SPSS file", SAVE),
    b"$FL3": ("an SPSS file", SAVE),
    b"<stata_dta>": ("a Stata file", SAVE),
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
    mechdesign.core.errors.DataError: q.csv: is a Qualtrics export with three header lines; delete the ...
    """
    for number, cells in enumerate(lines[1:3], start=2):
        if any(IMPORT.match(cell) for cell in cells):
            what = f"is a Qualtrics export with {'three' if number == 3 else 'two'} header lines"
            remedy = (
                "delete the lines of questions and of ImportIds"
                if number == 3
                else "delete that of ImportIds"
            )
            raise DataError(name, what, remedy)
    if len(lines) > 1 and len(lines[0]) == len(lines[1]):
        header, second = ([cell.strip().casefold() for cell in cells] for cells in lines[:2])
        is_second = any(cell in RESPONSES for cell in second)
        if is_second and ("" in header or "" in second or header[0] == "respondent id"):
            remedy = "join them into one, with a name for every column"
            raise DataError(name, "is a SurveyMonkey export with two header lines", remedy)


PARQUET = (".parquet", ".pq")
"""Names of files that are Parquet; all others are CSV."""

MECHANISM = (".json",)
"""Names of mechanism files."""

JSON_LINES = (".jsonl", ".ndjson")
"""Names of files with a JSON object a line."""

DATA = (".csv", *PARQUET)
"""Names of files for data and reports, which the commands read again."""

RESULTS = (*DATA, ".xlsx", ".json")
"""Names of files for results."""


def require_suffix(path: str, known: Sequence[str], option: str = "-o") -> None:
    """Raise ParameterError for a file whose name does not say what it is to hold.

    Examples
    --------
    >>> require_suffix("t.csv", RESULTS)
    >>> require_suffix("t.xls", RESULTS)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: -o t.xls: no format '.xls'; name it .csv, .parquet, .xlsx or .json
    """
    suffix = Path(path).suffix.lower()
    if path == "-" or suffix in known:  # the standard output has an error of its own
        return
    text = [item for item in known if item != ".pq"]
    remedy = text[0] if len(text) == 1 else f"{', '.join(text[:-1])} or {text[-1]}"
    what = f"no format '{suffix}'" if suffix else "has no extension"
    raise ParameterError(f"{option} {path}", what, f"name it {remedy}")
