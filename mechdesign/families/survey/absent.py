"""Columns of answers as they come: what stands for no answer, and truth values as words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.data.intake import MISSING_CATEGORY

NO_ANSWER = "no answer"
"""The category of users who skip a question that may be skipped."""

ABSENT = ("", NO_ANSWER, MISSING_CATEGORY)
"""Texts that stand for a skipped question, unless they are among its labels."""


def with_words(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column in which truth values are the words ``False`` and ``True``, as labels are words.

    Examples
    --------
    >>> with_words(np.array([True, False])).tolist(), with_words(np.array([3, 4])).tolist()
    (['True', 'False'], [3, 4])
    """
    if column.dtype.kind == "b":
        return column.astype(str)
    if column.dtype.kind != "O":
        return column
    listed = [str(item) if isinstance(item, (bool, np.bool_)) else item for item in column.tolist()]
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def absent_in(column: NDArray[Any], labels: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Return where there is no answer: empty, None, NaN or a word for it that is not a label."""
    words = [word for word in ABSENT if word not in labels]
    if column.dtype.kind in "iub":
        return np.zeros(len(column), dtype=bool)
    if column.dtype.kind == "f":
        missing: NDArray[np.bool_] = np.isnan(column)
        return missing
    if column.dtype.kind == "U":
        return np.isin(column, words)
    listed = column.tolist()
    return np.array([item is None or item != item or item in words for item in listed], dtype=bool)
