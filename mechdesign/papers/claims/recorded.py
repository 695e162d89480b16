"""What the shipped models claim, as a file of the package has it: parsed once, when the file was written.

To read what 180 model files claim takes ten times as long as to import numpy: their text is parsed, and every
problem is built. The file ``recorded.json`` next to this module has, for each file below ``models``, a digest
of its bytes and what the lists of findings and sources take from it. A file that was changed since has
another digest, and is parsed and checked as ever; so the record can be out of date, which a test finds, but
not wrong. ``python -m benchmarks.recorded_claims`` writes it.

Nothing is believed for it: ``mechdesign check`` reads the model files and finds every verdict again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mechdesign.catalog.shipped import models_folder
from mechdesign.core.validation import WrittenNumber, written_float

FILE = Path(__file__).with_name("recorded.json")

WRITTEN = "written number"
"""The key of a number that has more digits than a double: its text stands there."""


def recorded_document(path: Path, parse: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what is recorded of a file below the models' folder, or what ``parse`` returns.

    Examples
    --------
    >>> document = recorded_document(models_folder() / "references.toml", dict)
    >>> document["holohan2017"]["year"]
    '2017'
    """
    entry = _entries().get(path.relative_to(models_folder()).as_posix())
    if entry is None or entry["digest"] != digest_of(path):
        return parse()
    document: dict[str, Any] = entry["document"]
    return document


def digest_of(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file, those of line ends on Windows as elsewhere."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


@cache
def _entries() -> Mapping[str, Any]:
    """Return the record, or none where it is missing or damaged: then every file is parsed."""
    try:
        entries: dict[str, Any] = json.loads(FILE.read_bytes(), object_hook=_restored)
    except (OSError, ValueError):
        return {}
    return entries


def _restored(table: dict[str, Any]) -> Any:
    return written_float(table[WRITTEN]) if WRITTEN in table else table


def record_text(documents: Mapping[str, tuple[str, Any]]) -> str:
    """Return the record of documents, each with its digest, by their paths: a line for each file.

    Examples
    --------
    >>> print(record_text({"a.toml": ("12ab", {"claim": [1.5]})}))
    {
    "a.toml": {"digest": "12ab", "document": {"claim": [1.5]}}
    }
    <BLANKLINE>
    """
    lines = [
        f"{json.dumps(path)}: "
        + json.dumps({"digest": digest, "document": _plain(document)}, ensure_ascii=False)
        for path, (digest, document) in sorted(documents.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(value: Any) -> Any:
    """Return a value of TOML as one of JSON from which it is restored."""
    if isinstance(value, WrittenNumber):
        return {WRITTEN: value.text}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
