"""Files that a client keeps: for its owner only, with a sum that shows damage, and with the home they have.

A file names its home, the path where it was written. A copy elsewhere is refused as long as the original is
at home; a file that was moved by hand is taken, since nothing is left at its home. What no program can see:
a copy whose original was moved or deleted, a copy on another machine, an older copy that is put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from mechdesign.collect.about import HasSurvey, other_owner
from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError, ModelFileError, unread
from mechdesign.exact.draw.packed import Packed
from mechdesign.exact.numbers import plain
from mechdesign.work.files import read_text, whole_file

LARGEST_FILE = 1 << 27
MOST_MADE = 1 << 62

DAMAGED = "is damaged; use a copy only if no report was made since it was taken"

IDENTITY = ("mechanism", "bits", "kept")
"""What tells whether two files keep the same: the permanent response itself, or its digest."""


def responses_digest(bits: Packed) -> str:
    """Return a digest of all bits of permanent responses.

    Examples
    --------
    >>> import numpy as np
    >>> responses_digest(np.array([[72]], dtype=np.uint8))[:12]
    '107be837a6bd'
    """
    return hashlib.sha256(f"{bits.shape} ".encode() + bits.tobytes()).hexdigest()


def write_kept(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document with its sum; it is on the disk when this returns, and appears whole or not at all."""
    document = {**document, "home": os.path.realpath(path)}
    text = json.dumps({**document, "sha256": _sum_of(document)})
    if len(text) >= LARGEST_FILE:
        raise ModelFileError(path, f"would take more than {LARGEST_FILE >> 20} MiB", "keep fewer in a file")
    with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_kept(path: str | os.PathLike[str], kind: str, what: str, mechanism: HasSurvey) -> dict[str, Any]:
    """Return a document that :func:`write_kept` wrote, of this kind, for this mechanism and survey.

    Raises
    ------
    ModelFileError
        When it cannot be read, is something else or damaged.
    DataError
        When it belongs to another mechanism or survey, or is a copy of a file that is still there.
    """
    document = _read(path, kind, what)
    if document.get("mechanism") != mechanism.survey_digest:
        owner = other_owner(mechanism, document.get("survey"), document.get("mechanism"))
        raise DataError(path, f"belongs to {owner}", "load the one it was made with")
    made = plain(document.get("made"))
    if not isinstance(made, int) or isinstance(made, bool) or not 0 <= made < MOST_MADE:
        raise ModelFileError(path, DAMAGED)
    _require_home(path, document, kind, what)
    return document


def _require_home(path: str | os.PathLike[str], document: Mapping[str, Any], kind: str, what: str) -> None:
    """Refuse a copy, and a file with two names: each of them would count from here on by itself."""
    if os.stat(path).st_nlink > 1:
        raise DataError(
            path, "has a second name (a hard link)", "remove one, reports are counted in one file"
        )
    home = document.get("home")
    if not isinstance(home, str) or home == os.path.realpath(path) or not os.path.isfile(home):
        return
    try:
        there = _read(home, kind, what)
    except ModelFileError:  # something else by now
        return
    if all(there.get(key) == document.get(key) for key in IDENTITY):
        raise DataError(path, f"is a copy of {home}, which is still there", "use that, it counts the reports")


def _read(path: str | os.PathLike[str], kind: str, what: str) -> dict[str, Any]:
    """Return an undamaged document of this kind, of whatever mechanism."""
    try:
        document = parse_json(read_text(path, LARGEST_FILE, ModelFileError))
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            path, f"is not a {what} ({error})", "name a file that was written as one"
        ) from None
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ModelFileError(path, f"is not a {what}", "name a file that was written as one")
    if document.pop("sha256", None) != _sum_of(document):
        raise ModelFileError(path, DAMAGED)
    return document


def _sum_of(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
