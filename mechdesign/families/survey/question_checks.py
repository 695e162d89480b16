"""What a model states of a question, checked; and columns of answers as they come.

The second part is about what stands for no answer, and about truth values as words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Domain, Labels
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import edge_texts
from mechdesign.core.validation import number
from mechdesign.data.missing import MISSING_CATEGORY
from mechdesign.exact.numbers import text_of

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
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result


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


def domain_of(where: str, low: Any, high: Any) -> Domain:
    """Return the range of a question; its errors say which question."""
    try:
        return Domain(low, high)
    except ParameterError as error:
        raise error.within(where) from None


def labels_of(where: str, value: Any, skip: bool) -> tuple[str, ...]:
    """Return the possible answers of a question."""
    if not value:
        example = 'labels = ["no", "yes"]'
        raise ParameterError(f"{where}: labels", "are missing", f"list the possible answers: {example}")
    names = Labels(len(value), list(value), f"{where}: labels").names
    assert names is not None
    if len(names) < 2:
        raise ParameterError(f"{where}: labels", f"only '{names[0]}'", "give at least two answers")
    for word in (NO_ANSWER, MISSING_CATEGORY):
        if skip and word in names:
            raise ParameterError(f"{where}: labels", f"'{word}' is the category of skipping", "drop it")
    return names


def range_of(
    where: str, low: Any, high: Any, bins: Sequence[float], skip: bool
) -> tuple[Domain, tuple[float, ...]]:
    """Return the range of a number and the edges of its bins."""
    if low is None or high is None:
        raise ParameterError(f"{where}: range", "is missing", "give the range: range = [0, 100]")
    domain = domain_of(where, low, high)
    edges = tuple(number(f"{where}: bins", edge) for edge in bins)
    if edges:
        if any(first >= second for first, second in pairwise(edges)) or len(edges) < 3:
            raise ParameterError(f"{where}: bins", "do not increase, or are fewer than 3 edges", "sort")
        ends = edges[0], edges[-1]
        if ends != (domain.low, domain.high):
            raise ParameterError(
                f"{where}: bins",
                "go from {} to {}, not from {} to {}".format(*edge_texts((*ends, domain.low, domain.high))),
                "let them start and end with the range",
            )
    if skip and not edges:
        raise ParameterError(
            f"{where}: skip", "a mean has no category for those who skip", "give bins, or do not allow it"
        )
    return domain, edges


def stated_list(where: str, key: str, document: Mapping[str, Any]) -> Sequence[Any]:
    """Return a list that a model states; an empty one where it does not."""
    given = document.get(key) or ()
    if not isinstance(given, (list, tuple)):
        raise ParameterError(f"{where}: {key}", f"expected a list, got {text_of(given)}")
    return given


def require_cumulative(where: str, cumulative: Any, ordered: bool, planned: bool) -> None:
    """Refuse cumulative shares where categories have no order, or are planned at other than even answers."""
    if not isinstance(cumulative, bool):
        raise ParameterError(f"{where}: cumulative", "expected true or false")
    if cumulative and not ordered:
        raise ParameterError(f"{where}: cumulative", "its answers have no order", 'set kind = "ordered"')
    if cumulative and planned:
        raise ParameterError(
            f"{where}: cumulative", "is planned at even answers only", "omit frequencies, or cumulative"
        )
