"""Read a TOML file, with messages that name the key and the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mechdesign.core.documents import date_in, parse_toml, written_float
from mechdesign.core.errors import ModelFileError, UnknownNameError, suggestion, unread
from mechdesign.work.files import read_text

LARGEST_FILE = 1 << 24
"""A model file with more bytes is refused; every model that can be solved is much smaller."""

TWICE = "Cannot overwrite a value"
KEY = r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
AT_LINE = r"at line (\d+)"
TABLE_TWICE = r"Cannot declare \((.*?),?\) twice \(at (line \d+)"

MOST_TRIED = 50
"""Number of lines that are tried for the beginning of the statement that repeats a key."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is not valid TOML; a key that is there twice is named with its line.
    """
    text = ""
    try:
        text = read_text(path, LARGEST_FILE, ModelFileError)
        document = parse_toml(text, written_float)
        found = date_in(document)
        if found is not None:
            raise ModelFileError(f"{path}: {found[0]}", f"{found[1]} is a date or a time", "put it in quotes")
        return document
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    except ValueError as error:
        raise ModelFileError(path, _explained(str(error), text)) from None


def _explained(message: str, text: str) -> str:
    if message.startswith(TWICE):
        found = repeated_key(text)
        if found is not None:
            return f"line {found[1]}: the key '{found[0]}' is there twice in its table; drop one of them"
    table = re.match(TABLE_TWICE, message)
    if table:
        name = ".".join(part.strip(" '\"") for part in table[1].split(","))
        several = f"put its keys into one, or write [[{name}]] where there may be several"
        return f"{table[2]}: the table [{name}] is there twice; {several}"
    return f"is not valid TOML: {message}"


def repeated_key(text: str) -> tuple[str, int] | None:
    r"""Return the key that its table has twice, and the line where it comes again, counted from 1.

    The parser names the line in which the second value ends. Its statement begins at the last line before
    with a key up to which the text is valid TOML of its own: inside a value of several lines it is not.

    Examples
    --------
    >>> repeated_key('[model]\ntitle = "a"\nproblem = "b"\ntitle = "c"\n')
    ('title', 4)
    """
    message = _error(text) or ""
    if not message.startswith(TWICE):
        return None
    lines, place = text.replace("\r\n", "\n").split("\n"), re.search(AT_LINE, message)
    last = int(place[1]) if place else len(lines)
    starts = [number for number in range(last) if re.match(KEY, lines[number])]
    for start in starts[: -MOST_TRIED - 1 : -1]:
        found = re.match(KEY, lines[start])
        if found is not None and _error("\n".join(lines[:start])) is None:
            return found[1], start + 1
    return None


def _error(text: str) -> str | None:
    try:
        tomllib.loads(text)  # a part of a document that is neither too deep nor too large
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def check_keys(path: Path, table: str, found: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a key that a table does not have, with a suggestion."""
    for key in found:
        if key not in known:
            place = f"[{table}] " if table else ""
            raise UnknownNameError(path, f"{place}unknown key '{key}'", suggestion(key, known))
