"""Checks of numbers, vectors and matrices that name the field, what is wrong and the remedy.

They stand behind the gate of :mod:`mechdesign.exact.numbers`: what they look at is plain already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.exact.decimals import stated
from mechdesign.exact.numbers import double, doubles, frozen, plain_int, text_of

Array = NDArray[np.float64]

MOST_USERS = 10**18
"""The most users that anything is planned for; far beyond it their number is not a float any more."""

PRIOR_TOLERANCE = 1e-9
"""How far a prior given in decimal may be from summing to 1 before it is an error."""


def number(field: str, value: Any) -> float:
    """Return a finite or infinite float, never NaN, never a bool or a string, never a rounded number."""
    return double(field, value)


def in_range(
    field: str, value: Any, low: float, high: float, *, low_open: bool = False, high_open: bool = False
) -> float:
    """Return a float inside the interval, or raise naming the interval."""
    result = number(field, value)

    def outside(value: float) -> bool:
        return (value <= low if low_open else value < low) or (value >= high if high_open else value > high)

    if outside(result):
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        text = f"{result:g}"
        if not outside(float(text)):  # rounded back into the interval
            text = repr(result)
        raise ParameterError(field, f"{text} is outside {interval}")
    return result


def privacy_epsilon(value: Any, field: str = "epsilon") -> float:
    """Return epsilon >= 0 and finite; 0 is legal (the report says nothing about the input).

    It may be stated in all ways of :func:`mechdesign.exact.decimals.exact_number`; what stays is a double
    that stands for no more than what was stated.
    """
    if isinstance(value, float) and math.isinf(value) and value > 0:
        raise ParameterError(field, "is infinite, which means no privacy", "give a finite number")
    result = stated(value, field)
    if result < 0:
        raise ParameterError(field, f"{result:g} is negative", "give a number >= 0")
    return result


def double_epsilon(value: Any, field: str = "epsilon") -> float:
    """Return an epsilon that is a double exactly: what an audit compares integers with.

    A promise of 1/3 or of the text 0.1 is between doubles: an audit at the nearest one could say that more
    than the promise is no more.
    """
    return privacy_epsilon(double(field, value), field)


def double_delta(value: Any, field: str = "delta") -> float:
    """Return a delta in [0, 1) that is a double exactly, for an audit."""
    return privacy_delta(double(field, value), field)


def positive_epsilon(value: Any) -> float:
    """Return epsilon > 0 and finite: at 0 there is nothing to choose among."""
    result = privacy_epsilon(value)
    if result == 0.0:
        raise ParameterError("epsilon", "a report contains no information at 0", "set epsilon > 0")
    return result


def privacy_delta(value: Any, field: str = "delta") -> float:
    """Return delta in [0, 1), stated as an epsilon may be."""
    if isinstance(value, float) and not math.isfinite(value):
        return in_range(field, value, 0.0, 1.0, high_open=True)
    return in_range(field, stated(value, field), 0.0, 1.0, high_open=True)


def integer(field: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an int of at least ``low`` and, where given, at most ``high``."""
    result = plain_int(field, value)
    if result < low or (high is not None and result > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ParameterError(field, f"{text_of(result)} is not {limits}")
    return result


def user_count(value: Any) -> int:
    """Return the number of users, from 1 to ``MOST_USERS``."""
    return integer("users", value, 1, MOST_USERS)


def require_keys(where: str, stated: Mapping[Any, Any], known: Sequence[str]) -> None:
    """Raise UnknownNameError for a key that is not known; all that are known are suggested.

    Examples
    --------
    >>> require_keys("tables", {"questions": ["a"], "wieght": 2}, ("questions", "weight"))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.UnknownNameError: tables: no key 'wieght'; did you mean 'weight'?
    """
    for key in stated:
        if key not in known:
            raise UnknownNameError(where, f"no key '{key}'", suggestion(str(key), known))


def one_of(field: str, value: Any, known: Sequence[str], renamed: Mapping[str, str] | None = None) -> str:
    """Return one of the known words, or say what a former one is called now, or suggest one."""
    word = str.__str__(value) if issubclass(type(value), str) else None
    if word is None or word not in known:
        new = (renamed or {}).get(str(word or ""))
        hint = suggestion(str(word or ""), known) if new is None else f"it is called '{new}' now"
        raise ParameterError(field, f"{text_of(value)} is not a choice", hint)
    return word


def real_array(field: str, value: Any, dimensions: int, rounded: bool = False) -> Array:
    """Return a float array of the requested number of dimensions without NaN, which nobody can write to."""
    array = doubles(field, value, dimensions, rounded)
    if array.size == 0:
        raise ParameterError(field, "is empty", "give at least one number")
    return array


def finite_array(field: str, value: Any, dimensions: int, rounded: bool = False) -> Array:
    """Return a real array without infinities; ``rounded`` takes the nearest double of what is none."""
    array = real_array(field, value, dimensions, rounded)
    if np.isinf(array).any():
        where = ", ".join(str(int(index)) for index in np.argwhere(np.isinf(array))[0])
        raise ParameterError(field, f"is infinite at index {where}", "give finite numbers")
    return array


def probability_vector(field: str, value: Any) -> Array:
    """Return a probability vector normalised to the last bit, or say what it sums to."""
    vector = finite_array(field, value, 1, rounded=True)
    if (vector < 0).any():
        where = int(np.argmax(vector < 0))
        raise ParameterError(
            field, f"entry {where} is negative ({vector[where]:g})", "give probabilities >= 0"
        )
    if vector.max() > 2.0:
        where = int(vector.argmax())
        raise ParameterError(field, f"entry {where} is {vector[where]:g}, above 1", "divide by the sum")
    total = math.fsum(vector)
    if abs(total - 1.0) > PRIOR_TOLERANCE:
        raise ParameterError(field, f"sums to {total:.10g}, not 1", "divide by the sum or correct an entry")
    normalised: Array = frozen(vector / total)
    return normalised
