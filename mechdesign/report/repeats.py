"""Files of users' data that were randomized before: what all their reports reveal together.

The user's cache remembers the digest of each file, never its content, and the epsilon of each randomization.
With ``MECHDESIGN_CACHE=off`` nothing is remembered. Where the same people stand in another file this is not
noticed: a note is a help, no guarantee.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mechdesign.core.errors import DataError
from mechdesign.work.cache import Cache, default_cache
from mechdesign.work.files import read_text, whole_file

FOLDER = "randomized"
"""The folder of the records within that of the cache."""
PIECE = 1 << 20
MOST = 1 << 20
"""Bytes of a record that are read."""


def repeated_note(paths: Sequence[str | os.PathLike[str]], epsilon: float) -> str:
    """Remember that files were randomized, and return what that costs if it was not the first time.

    Parameters
    ----------
    paths : sequence of path
        People's data.
    epsilon : float
        Of each report that was made.

    Returns
    -------
    str
        One line, however many files there are; empty the first time, and where nothing can be remembered.
    """
    cache = default_cache()
    if cache is None:
        return ""
    before = {path: earlier for path in paths if (earlier := _remembered(cache, path, epsilon))}
    if not before:
        return ""
    most = max(map(len, before.values()))
    times = "once" if most == 1 else f"{most} times"
    first, more = next(iter(before)), len(before) - 1
    what = f"{first}: was randomized {times} before"
    if more:
        up_to = times if min(map(len, before.values())) == most else f"up to {times}"
        what = f"{first} and {more} more of {len(paths)} files: were randomized {up_to} before"
    total = max(map(sum, before.values())) + epsilon
    return (
        f"{what}; a user whose reports are all sent has epsilon = {total:g} "
        f"in all, not {epsilon:g}: send one of them, or collect with a mechanism for several reports"
    )


def _remembered(cache: Cache, path: str | os.PathLike[str], epsilon: float) -> list[float]:
    """Add a randomization to the record of a file, and return the epsilons of the earlier ones."""
    record = cache.root / FOLDER / _digest(path)
    earlier = _read(record)
    with suppress(OSError, DataError):
        cache.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.parent.mkdir(mode=0o700, exist_ok=True)
        with whole_file(record, DataError, private=True) as temporary:
            temporary.write_text(json.dumps([*earlier, epsilon]), encoding="utf-8")
    return earlier


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
