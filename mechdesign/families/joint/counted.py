"""How often a table of permanent responses was reported from: a guarantee limits the number of reports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mechdesign.collect.about import owner_entries
from mechdesign.core.errors import DataError, MethodError, ModelFileError
from mechdesign.core.text import counted
from mechdesign.exact.draw.packed import Packed
from mechdesign.families.joint.kept import read_kept, responses_digest, write_kept
from mechdesign.work.files import one_at_a_time

if TYPE_CHECKING:
    from mechdesign.families.joint.response import JointResponse

FORMAT = "mechdesign-report-count"
WHAT = "count of reports"


def promised(mechanism: JointResponse) -> str:
    """Return the number of reports that the guarantee covers, as a string."""
    return counted(mechanism.reports_per_user, "report")


def require_left(mechanism: JointResponse, made: int, where: str = "reports") -> None:
    """Raise MethodError when no further report keeps the guarantee."""
    if mechanism.limited and made >= mechanism.reports_per_user:
        raise MethodError(
            where,
            f"{made} made, and the guarantee is for {promised(mechanism)}",
            "build a mechanism for more",
        )


def begin_count(mechanism: JointResponse, path: str | os.PathLike[str], bits: Packed) -> None:
    """Write the count of permanent responses that were never reported from; over nothing that exists."""
    with one_at_a_time(path, ModelFileError):
        require_fresh(path)
        document = {
            "format": FORMAT,
            **owner_entries(mechanism),
            "made": 0,
            "kept": responses_digest(bits),
        }
        write_kept(path, document)


def require_fresh(path: str | os.PathLike[str]) -> None:
    """Raise DataError when something stands there already: who was asked before keeps the first response."""
    if Path(path).exists():
        raise DataError(
            path, "exists", "report from what was remembered with it, or choose another path for other users"
        )


def count_report(mechanism: JointResponse, path: str | os.PathLike[str], bits: Packed) -> int:
    """Count one more report of these permanent responses, and return how many were made with it.

    Raises
    ------
    MethodError
        When the promise is for no more; nothing is counted then.
    DataError
        When the count is that of other permanent responses, or of another mechanism.
    """
    with one_at_a_time(path, ModelFileError):
        document = read_kept(path, FORMAT, WHAT, mechanism)
        if document.get("kept") != responses_digest(bits):
            raise DataError(path, "counts the reports of other permanent responses", "name that of these")
        require_left(mechanism, document["made"], f"{path}: reports")
        document["made"] += 1
        write_kept(path, document)
    return int(document["made"])
