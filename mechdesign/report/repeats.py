"""Files of users' data that were randomized before: what all their reports reveal together.

The user's cache remembers the digest of each file, never its content, and the epsilon of each randomization.
With ``MECHDESIGN_CACHE=off`` nothing is remembered. Where the same people stand in another file this is not
noticed: a note is a help, no guarantee.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mechdesign.core.cache import default_cache
from mechdesign.core.errors import DataError
from mechdesign.core.files import read_text, whole_file

FOLDER = "randomized"
"""The folder of the records within that of the cache."""
PIECE = 1 << 20
MOST = 1 << 20
"""Bytes of a record that are read."""


def repeated_note(path: str | os.PathLike[str], epsilon: float) -> str:
    """Remember that a file was randomized, and return what that costs if it was not the first time.

    Parameters
    ----------
    path : path
        People's data.
    epsilon : float
        Of each report that was made.

    Returns
    -------
    str
        Empty the first time, and where nothing can be remembered.
    """
    cache = default_cache()
    if cache is None:
        return ""
    record = cache.root / FOLDER / _digest(path)
    earlier = _read(record)
    with suppress(OSError, DataError):
        cache.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.parent.mkdir(mode=0o700, exist_ok=True)
        with whole_file(record, DataError, private=True) as temporary:
            temporary.write_text(json.dumps([*earlier, epsilon]), encoding="utf-8")
    if not earlier:
        return ""
    times = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    total = sum(earlier) + epsilon
    return (
        f"{path}: was randomized {times} before; a user whose reports are all sent has epsilon = {total:g} "
        f"in all, not {epsilon:g}: send one of them, or collect with a mechanism for several reports"
    )


def _digest(path: str | os.PathLike[str]) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _read(record: Path) -> list[float]:
    """Return the epsilons of earlier randomizations; none where the record is missing or damaged."""
    with suppress(OSError, ValueError):
        found: Any = json.loads(read_text(record, MOST, DataError))
        if isinstance(found, list) and all(isinstance(number, (int, float)) for number in found):
            return [float(number) for number in found]
    return []
