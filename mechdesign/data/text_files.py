"""The text of a table in a file: decompressed, decoded, and with its delimiter; as a stream, or as rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from mechdesign.core.errors import DataError, unread
from mechdesign.data.forms import (
    OF_DECOMPRESSION,
    PIECE,
    PLAIN,
    UTF_16,
    FileForm,
    Utf8Stream,
    compression_of,
    delimiter_of,
    opened_binary,
    separator_line,
)
from mechdesign.data.outputs import HEAD, WORKBOOKS, require_text

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


def file_rows(
    path: str | os.PathLike[str], name: str, form: FileForm = PLAIN, most: int = 1 << 30
) -> list[list[str]]:
    r"""Return all rows of a table in a text file or a workbook, the header's among them, as texts.

    Raises
    ------
    DataError
        When it cannot be read, or its text is longer than ``most`` characters.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "codes.csv"
    >>> _ = place.write_text("name;labels\nsmokes;no|yes\n")
    >>> file_rows(place, "codes.csv")
    [['name', 'labels'], ['smokes', 'no|yes']]
    """
    if Path(path).suffix.lower() in WORKBOOKS:
        from mechdesign.data.workbooks import sheet_rows

        return sheet_rows(path, name, form)
    if form.sheet:
        raise DataError(name, "has no sheets", "omit --sheet")
    file = TextFile(path, name, form)
    with file.errors(), file.open() as binary:
        stream = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        text = stream.read(most + 1)
    if len(text) > most:
        raise DataError(name, f"is longer than {most >> 20} MiB", "name another file")
    if "\0" in text:
        raise DataError(name, "holds NUL bytes, which no text has", "save it as text in UTF-8")
    with file.errors():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=file.delimiter, strict=True)
        rows = list(reader)
    return rows[file.extra_lines :]
