"""What a mechanism can be exported to: one file for each kind of client.

The client for R: base R has no reader of JSON, so that the tables are literals of the language.

Whether a mechanism and its exports run on the same tables, and whether the exports are unchanged.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, MethodError, ParameterError, unread
from mechdesign.export.clients import (
    MARK,
    VERSION,
    ExportSettings,
    client_digest,
    filled,
    header,
    javascript,
    plain_json,
    python,
    sheet,
    template,
)
from mechdesign.export.known_answers import vectors
from mechdesign.export.texts import DEFAULT, template_of
from mechdesign.work.files import read_text

LINE = 100
"""Characters after which a list of values goes on in a new line."""


def literal(value: Any) -> str:
    r"""Return a plain value as an expression of R; numbers are doubles, exact in hexadecimal digits.

    Examples
    --------
    >>> literal({"a": [1, 2], "b": None, "c": ["é", 0.5]})
    'list("a"=c(1,2),"b"=NULL,"c"=list("\\u{e9}",0x1.0000000000000p-1))'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return f"list({_joined([f'{_text(str(key))}={literal(each)}' for key, each in value.items()])})"
    kinds = {str if isinstance(each, str) else float for each in value if _is_scalar(each)}
    single = bool(value) and len(kinds) == 1 and all(map(_is_scalar, value))
    return f"{'c' if single else 'list'}({_joined([literal(each) for each in value])})"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _text(text: str) -> str:
    """Return a string in ASCII."""
    if text.isascii() and text.isprintable() and not set(text) & set('"\\'):
        return f'"{text}"'
    parts = []
    for letter in text:
        plain = letter.isascii() and letter.isprintable() and letter not in '"\\'
        wide = f"\\u{{{ord(letter):x}}}" if ord(letter) < 1 << 16 else f"\\U{{{ord(letter):x}}}"
        parts.append(letter if plain else f"\\{letter}" if letter in '"\\' else wide)
    return f'"{"".join(parts)}"'


def _joined(parts: list[str]) -> str:
    """Return parts with commas, in lines."""
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > LINE:
            lines.append(line)
            line = ""
        line += f"{part},"
    return "\n".join([*lines, line]).removesuffix(",")


def r_client(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the client for R, a script."""
    facts = sheet(mechanism)
    parts = {
        "FINGERPRINT": facts["fingerprint"],
        "HEADER": header("r", settings),
        "SHEET": literal(facts),
    }
    return filled(template("client.R"), parts)


MOST_BYTES = 1 << 26
"""Larger tables are refused: no browser would open them."""


def vectors_text(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return test vectors as JSON, one per line."""
    answers = vectors(mechanism)
    rows = ",\n".join(f"  {plain_json(list(row))}" for row in answers)
    head = {
        "format": "mechdesign-vectors",
        "version": VERSION,
        "type": mechanism.type,
        "fingerprint": mechanism.fingerprint,
    }
    if mechanism.about.id:
        head["survey"] = mechanism.about.id
    return f'{json.dumps(head)[:-1]},\n "vectors": [\n{rows}\n ]}}\n'


def schema_text(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the JSON Schema of the files of this type of mechanism."""
    from mechdesign.export.schemas import schema

    return json.dumps(schema(mechanism.type), indent=1) + "\n"


def html_page(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return a page on which respondents answer."""
    from mechdesign.export.page import page

    return page(mechanism, settings)


def sentences(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the file of the sentences of a page, to be translated."""
    return template_of(settings.language or DEFAULT)


KINDS: dict[str, Callable[[Mechanism, ExportSettings], str]] = {
    "python": python,
    "js": javascript,
    "html": html_page,
    "r": r_client,
    "vectors": vectors_text,
    "schema": schema_text,
    "texts": sentences,
}
"""What a mechanism is exported to, and how."""


def export(mechanism: Mechanism, to: str, settings: ExportSettings | None = None) -> str:
    """Return a client, a page or test vectors of a mechanism as the text of one file.

    Parameters
    ----------
    mechanism : Mechanism
    to : str
        A name of ``KINDS``.
    settings : ExportSettings, optional

    Raises
    ------
    ParameterError
        For another name.
    MethodError
        For a mechanism without a client in whole numbers, or tables that are too large.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> export(KaryResponse.of(3, 1.0), "python").count("def randomize(")
    1
    """
    if to not in KINDS:
        raise ParameterError("to", f"expected one of {', '.join(KINDS)}, got '{to}'")
    result = KINDS[to](mechanism, settings or ExportSettings())
    if len(result) > MOST_BYTES:
        raise MethodError(
            "export", f"the tables take {len(result) >> 20} MiB", "use fewer categories or reports"
        )
    return result


SHEET = re.compile(r'\{"fingerprint":"[^\n]*"format":"mechdesign-client"[^\n]*\}')


@dataclass(frozen=True)
class ExportCheck:
    """Result of comparing an export with a mechanism.

    Attributes
    ----------
    path : str
    tables : bool
        Whether the recomputed digest of the tables inside is the mechanism's.
    program : bool
        Whether the whole file is, to the last character, what ``export`` writes for the mechanism.
    """

    path: str
    tables: bool
    program: bool

    @property
    def holds(self) -> bool:
        """Whether both agree."""
        return self.tables and self.program

    def __str__(self) -> str:
        if self.holds:
            return f"{self.path}: the same mechanism, and the unchanged client"
        if self.tables:
            return f"{self.path}: the same tables, but ANOTHER PROGRAM than this release exports; export it"
        return f"{self.path}: ANOTHER MECHANISM or survey, or changed tables; export it again"


def compare_export(mechanism: Mechanism, path: str | os.PathLike[str]) -> ExportCheck:
    """Return whether an export has the tables and the program of a mechanism.

    Raises
    ------
    DataError
        When the file cannot be read or is not an export.
    """
    name = os.fspath(path)
    try:
        text = read_text(path, MOST_BYTES, DataError)
    except OSError as error:
        raise DataError(name, unread(error), "check the path") from None
    if text.startswith('{"format": "mechdesign-vectors"'):
        same = text == export(mechanism, "vectors")
        return ExportCheck(name, same, same)
    place = text.find(MARK)
    if place < 0:
        raise DataError(name, "is not an export", "name a file written by export")
    settings = _settings(name, text[place + len(MARK) :].split("\n", 1)[0])
    kind = settings.pop("to")
    same = text == export(mechanism, kind, ExportSettings(**settings))
    return ExportCheck(name, same or _same_tables(mechanism, text), same)


def _settings(name: str, text: str) -> dict[str, Any]:
    try:
        read, _ = json.JSONDecoder().raw_decode(text)
        ExportSettings(**{key: value for key, value in read.items() if key != "to"})
        known = read["to"] in KINDS
    except (ValueError, TypeError, KeyError, AttributeError):
        known = False
    if not known:
        raise DataError(name, "its header is damaged", "export it again")
    result: dict[str, Any] = read
    return result


def _same_tables(mechanism: Mechanism, text: str) -> bool:
    """Whether the tables inside a text have the digest of the mechanism's."""
    match = SHEET.search(text)
    if match is None:
        return False
    try:
        inside = json.loads(match.group(0))
    except ValueError:
        return False
    return client_digest(inside) == str(sheet(mechanism)["sha256"])
