"""How integers stand in mechanism files: those that a double does not hold exactly, as strings.

Readers of JSON in other languages round every number to a double, so a whole number beyond 2**53 is written
as a string of its decimal digits. A string of at least 16 digits is therefore a number; a text that looks
like one, such as a label of digits, is written with ``=`` before it, and so is one that begins with such
signs. Both ways are inverse to each other, whatever the content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mechdesign.core.errors import CertificateError
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL

EXACT = 1 << 53
"""The largest whole number up to which doubles hold all of them."""

NUMBER = re.compile(r"-?[0-9]{16,4000}", re.ASCII)
LIKE_A_NUMBER = re.compile(r"=*-?[0-9]{16,}", re.ASCII)
LAST_WITH_VACUOUS = 2
"""The last version of files with certificates about the pairs of a single type."""

NUMERIC = ("content", "certificates", "data")
"""The parts of a file that hold numbers."""


def written(value: Any) -> Any:
    """Return plain values as they stand in a file.

    Examples
    --------
    >>> written({"total": 1 << 62, "size": 3, "labels": ["no", "1234567890123456"]})
    {'total': '4611686018427387904', 'size': 3, 'labels': ['no', '=1234567890123456']}
    """
    if isinstance(value, dict):
        return {key: written(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [written(each) for each in value]
    if isinstance(value, str):
        return f"={value}" if LIKE_A_NUMBER.fullmatch(value) else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return str(int(value))
    return value


def read(value: Any) -> Any:
    """Return the value that :func:`written` was given.

    Examples
    --------
    >>> read(written({"total": 1 << 62, "labels": ["1234567890123456", "=x"]}))
    {'total': 4611686018427387904, 'labels': ['1234567890123456', '=x']}
    """
    if isinstance(value, dict):
        return {key: read(each) for key, each in value.items()}
    if isinstance(value, list):
        return [read(each) for each in value]
    if isinstance(value, str) and LIKE_A_NUMBER.fullmatch(value):
        return value[1:] if value.startswith("=") else int(value) if NUMBER.fullmatch(value) else value
    return value


def converted(document: Mapping[str, Any], conversion: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a document whose parts with numbers were converted."""
    return {key: conversion(part) if key in NUMERIC else part for key, part in document.items()}


def digest(kind: str, content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON text of a mechanism's content."""
    from hashlib import sha256  # takes time to import, and only files need it

    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def require_total(content: Mapping[str, Any]) -> None:
    """Raise CertificateError unless a file's weights are counted out of 2**62."""
    total = plain_int("total", content["total"])
    if total != TOTAL:
        raise CertificateError("total", f"is {total}, not 2**62")


def still_stated(document: Mapping[str, Any], stated: list[Any]) -> Any:
    """Return the certificates of a file; of an old one, without those about an empty set, which are gone."""
    listed = document.get("certificates")
    if document["version"] > LAST_WITH_VACUOUS or not isinstance(listed, list):
        return listed
    properties = [entry["property"] for entry in stated]
    return [entry for entry in listed if isinstance(entry, dict) and entry.get("property") in properties]
