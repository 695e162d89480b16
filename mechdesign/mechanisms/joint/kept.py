"""Files that a client keeps: for its owner only, with a sum that shows damage."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError, ModelFileError
from mechdesign.core.files import read_text, whole_file
from mechdesign.core.numbers import plain
from mechdesign.mechanisms.oracles.packed import Packed

LARGEST_FILE = 1 << 27
MOST_MADE = 1 << 62


def digest_of(bits: Packed) -> str:
    """Return what tells permanent responses from others: a digest of all their bits.

    Examples
    --------
    >>> import numpy as np
    >>> digest_of(np.array([[72]], dtype=np.uint8))[:12]
    '107be837a6bd'
    """
    return hashlib.sha256(f"{bits.shape} ".encode() + bits.tobytes()).hexdigest()


def write_kept(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document with its sum; it is on the disk when this returns, and appears whole or not at all."""
    text = json.dumps({**document, "sha256": _sum_of(document)})
    if len(text) >= LARGEST_FILE:
        raise ModelFileError(f"{path}: would take more than {LARGEST_FILE >> 20} MiB; keep fewer in a file")
    with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_kept(path: str | os.PathLike[str], kind: str, what: str, fingerprint: str) -> dict[str, Any]:
    """Return a document that :func:`write_kept` wrote, of this kind and for this mechanism.

    Raises
    ------
    ModelFileError
        When it cannot be read, is something else or damaged.
    DataError
        When it belongs to another mechanism.
    """
    try:
        document = parse_json(read_text(path, LARGEST_FILE, ModelFileError))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: is no {what} ({error}); restore it from a copy") from None
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ModelFileError(f"{path}: is no {what}; name a file that was written as one")
    if document.pop("sha256", None) != _sum_of(document):
        raise ModelFileError(f"{path}: is damaged; restore it from a copy")
    if document.get("mechanism") != fingerprint:
        raise DataError(f"{path}: belongs to a different mechanism; load the one it was made with")
    made = plain(document.get("made"))
    if not isinstance(made, int) or isinstance(made, bool) or not 0 <= made < MOST_MADE:
        raise ModelFileError(f"{path}: is damaged; restore it from a copy")
    return document


def _sum_of(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
