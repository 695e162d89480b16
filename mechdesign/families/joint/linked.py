"""Several reports of the same users, linked to them: how often each bit was 1 is all that matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.families.joint.audit.repeated import RepeatedBits
from mechdesign.families.joint.layout import Codes, Packed, grouped

Array = NDArray[np.float64]

MOST_REPORTS = 255
"""Ones are counted in bytes."""


def sequence_chances(weights: RepeatedBits, reports: int) -> Array:
    """Return the chance of each sequence of reports of a bit with 0, 1, ... ones, for a true 1 and a true 0.

    Examples
    --------
    >>> sequence_chances(RepeatedBits(8, 1, 6, 2), 1)  # 1 - q*, q* and 1 - p*, p*
    array([[0.3125, 0.6875],
           [0.6875, 0.3125]])
    """
    flip, keep, add = (weight / weights.total for weight in (weights.flip, weights.keep, weights.add))
    ones = np.arange(reports + 1)
    kept, added = (share**ones * (1.0 - share) ** (reports - ones) for share in (keep, add))
    return np.stack([(1.0 - flip) * kept + flip * added, flip * kept + (1.0 - flip) * added])


def linked_counts(tables: Sequence[Packed], bits: int, weights: RepeatedBits) -> tuple[Packed, Codes]:
    """Return the different numbers of ones of users, one number a bit, and how many users have each.

    Parameters
    ----------
    tables : sequence of (n, bytes) array
        The reports of the same users in the same order, one table a request.
    bits : int
    weights : RepeatedBits

    Raises
    ------
    DataError
        For tables of unequal length, none, or reports that contradict each other.
    """
    if not tables or not len(tables[0]):
        raise DataError("reports", "there are none", "give at least one report")
    if len(tables) > MOST_REPORTS:
        raise DataError("reports", f"{len(tables)} of each user", f"give at most {MOST_REPORTS}")
    for number, table in enumerate(tables):
        if len(table) != len(tables[0]):
            raise DataError(
                "reports",
                f"table {number + 1} has {counted(len(table), 'user')}, the first {len(tables[0])}",
                "give the same users in the same order",
            )
    ones = np.zeros((len(tables[0]), bits), dtype=np.uint8)
    for table in tables:
        ones += np.unpackbits(table, axis=1, count=bits)
    impossible = (sequence_chances(weights, len(tables)).max(axis=0) == 0.0)[ones].any(axis=1)
    if impossible.any():
        raise DataError(
            "reports",
            f"those of user {int(np.argmax(impossible)) + 1} contradict each other",
            "give the same users in the same order",
        )
    return grouped(ones, np.ones(len(ones), dtype=np.int64))
