"""Counts that come from a file or another machine: integers, and not more than can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mechdesign.collect.about import HasSurvey, other_owner
from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.exact.numbers import plain, shown

MOST_USERS = 1 << 53
"""More reports than that are an error: all their counts are exact in 64 bits and as doubles."""


def whole_rows(rows: Any, width: int, count: int, signed: bool = False) -> list[list[int]]:
    """Return the lists of integers, each below 2**180 in size, or raise DataError.

    Examples
    --------
    >>> whole_rows([[1, 1.9]], 2, 1)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: 1.9 is not a count; ...
    """
    damaged = "aggregator: the counts are damaged"
    if not isinstance(rows, list) or len(rows) != count:
        raise DataError(damaged, f"not {counted(count, 'list')}", "count the reports again")
    if not all(isinstance(row, list) and len(row) == width for row in rows):
        raise DataError(damaged, f"not {counted(width, 'number')} in each list", "count the reports again")
    numbers = [[plain(value) for value in row] for row in rows]
    for row, read in zip(rows, numbers, strict=True):
        for given, number in zip(row, read, strict=True):
            if not isinstance(number, int) or abs(number) >> 180 or (number < 0 and not signed):
                raise DataError(damaged, f"{shown(given)} is not a count", "count the reports again")
    return numbers  # type: ignore[return-value]


def require_users(count: int) -> None:
    """Raise DataError when there are more reports than counters hold without rounding."""
    if count > MOST_USERS:
        raise DataError(
            "aggregator", f"{count} reports are more than {MOST_USERS}", "count the reports again"
        )


def require_own(document: object, mechanism: HasSurvey, what: str = "counts") -> None:
    """Raise DataError unless these are what a server of this mechanism and survey wrote.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> require_own([], KaryResponse.of(3, 1.0))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: not a JSON object; count ...
    """
    if not isinstance(document, Mapping):
        raise DataError("aggregator", f"the {what} are damaged: not a JSON object", "count the reports again")
    if document.get("mechanism") != mechanism.survey_digest:
        owner = other_owner(mechanism, document.get("survey"), document.get("mechanism"))
        raise DataError("aggregator", f"the {what} belong to {owner}", "load the one they were made with")
