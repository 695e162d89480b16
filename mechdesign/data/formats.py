"""Files that are not tables of text: recognized by their first bytes, with how to convert them.

Texts that a spreadsheet would take for formulas: made harmless on writing CSV, and restored on reading.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` (or the full-width forms of these,
and whatever it skips before them) when somebody opens the file: a name that a user chose could read other
cells, or start programs. Such a text is written with an apostrophe before it, and reading takes one away
again. Numbers are not texts of this kind, ``-3.5`` stays as it is.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence

from mechdesign.core.errors import DataError

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
