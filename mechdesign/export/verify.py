"""Whether a mechanism and its exports run on the same tables, and whether the exports are unchanged."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, unread
from mechdesign.export.clients import MARK, ExportSettings, client_digest, sheet
from mechdesign.export.exporting import KINDS, MOST_BYTES, export
from mechdesign.work.files import read_text

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
    found = SHEET.search(text)
    if found is None:
        return False
    try:
        inside = json.loads(found.group(0))
    except ValueError:
        return False
    return client_digest(inside) == str(sheet(mechanism)["sha256"])
