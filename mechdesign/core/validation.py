"""Checks of numbers, vectors and matrices that name the field, what is wrong and the remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, suggestion

Array = NDArray[np.float64]

PRIOR_TOLERANCE = 1e-9
"""How far a prior given in decimal may be from summing to 1 before it is an error."""


def number(field: str, value: Any) -> float:
    """Return a finite or infinite float, never NaN, never a bool or a string."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ParameterError(f"{field}: expected a number, got {value!r}")
    try:
        result = float(value)
    except OverflowError:
        raise ParameterError(f"{field}: is too large for a number; give a smaller one") from None
    if math.isnan(result):
        raise ParameterError(f"{field}: is NaN; give a number")
    return result


def in_range(
    field: str, value: Any, low: float, high: float, *, low_open: bool = False, high_open: bool = False
) -> float:
    """Return a float inside the interval, or raise naming the interval."""
    result = number(field, value)
    below = result <= low if low_open else result < low
    above = result >= high if high_open else result > high
    if below or above:
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        raise ParameterError(f"{field}: {result:g} is outside {interval}")
    return result


def privacy_epsilon(value: Any, field: str = "epsilon") -> float:
    """Return epsilon >= 0 and finite; 0 is legal (the report says nothing about the input)."""
    result = number(field, value)
    if result < 0:
        raise ParameterError(f"{field}: {result:g} is negative; give a number >= 0")
    if math.isinf(result):
        raise ParameterError(f"{field}: is infinite, which means no privacy; give a finite number")
    return result


def privacy_delta(value: Any, field: str = "delta") -> float:
    """Return delta in [0, 1)."""
    return in_range(field, value, 0.0, 1.0, high_open=True)


def integer(field: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an int of at least ``low`` and, where given, at most ``high``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ParameterError(f"{field}: expected a whole number, got {value!r}")
    result = int(value)
    if result < low or (high is not None and result > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ParameterError(f"{field}: {result} is not {limits}")
    return result


def choice(field: str, value: Any, known: Sequence[str]) -> str:
    """Return one of the known words, with a suggestion when it is none of them."""
    if not isinstance(value, str) or value not in known:
        raise ParameterError(f"{field}: {value!r} is not a choice; {suggestion(str(value), known)}")
    return value


def real_array(field: str, value: Any, dimensions: int) -> Array:
    """Return a read-only float array of the wanted number of dimensions without NaN."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "b":
            raise TypeError("booleans")
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{field}: expected {_shape_name(dimensions)} of numbers") from None
    if array.ndim != dimensions:
        raise ParameterError(f"{field}: expected {_shape_name(dimensions)}, got {array.ndim} dimension(s)")
    if array.size == 0:
        raise ParameterError(f"{field}: is empty; give at least one number")
    if np.isnan(array).any():
        where = ", ".join(str(int(index)) for index in np.argwhere(np.isnan(array))[0])
        raise ParameterError(f"{field}: has NaN at index {where}; give numbers")
    array.setflags(write=False)
    return array


def finite_array(field: str, value: Any, dimensions: int) -> Array:
    """Return a real array without infinities."""
    array = real_array(field, value, dimensions)
    if np.isinf(array).any():
        where = ", ".join(str(int(index)) for index in np.argwhere(np.isinf(array))[0])
        raise ParameterError(f"{field}: is infinite at index {where}; give finite numbers")
    return array


def probability_vector(field: str, value: Any) -> Array:
    """Return a probability vector normalised to the last bit, or say what it sums to."""
    vector = finite_array(field, value, 1)
    if (vector < 0).any():
        where = int(np.argmax(vector < 0))
        raise ParameterError(
            f"{field}: entry {where} is negative ({vector[where]:g}); give probabilities >= 0"
        )
    total = math.fsum(vector)
    if abs(total - 1.0) > PRIOR_TOLERANCE:
        raise ParameterError(f"{field}: sums to {total:.10g}, not 1; divide by the sum or correct an entry")
    normalised = vector / total
    normalised.setflags(write=False)
    return normalised


def _shape_name(dimensions: int) -> str:
    return {0: "a number", 1: "a list", 2: "a matrix (a list of rows of equal length)"}[dimensions]
