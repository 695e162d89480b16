"""What a model states of a question, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.numbers import shown
from mechdesign.mechanisms.mean.values import Domain


def domain_of(where: str, low: Any, high: Any) -> Domain:
    """Return the range of a question; its errors say which question."""
    try:
        return Domain(low, high)
    except ParameterError as error:
        raise error.within(where) from None


def listed(where: str, key: str, document: Mapping[str, Any]) -> Sequence[Any]:
    """Return a list that a model states; an empty one where it does not."""
    given = document.get(key) or ()
    if not isinstance(given, (list, tuple)):
        raise ParameterError(f"{where}: {key}", f"expected a list, got {shown(given)}")
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
