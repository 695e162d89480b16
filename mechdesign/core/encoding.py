"""Values of the toolkit as plain JSON values."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from mechdesign.exact.exact_text import is_writable, rounded_text

LARGEST = Fraction(sys.float_info.max)


def json_object(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as a JSON object; see :func:`encode`.

    Examples
    --------
    >>> json_object({"value": np.array([0.5, np.nan])})
    {'value': [0.5, None]}
    """
    plain: dict[str, Any] = encode(values)
    return plain


def encode(value: Any) -> Any:
    """Turn arrays, numpy scalars, fractions and infinities into what ``json.dumps`` accepts.

    Infinity becomes the string ``"inf"`` (``"-inf"``), NaN becomes None; objects with a method
    ``as_json`` decide for themselves. A fraction that no double holds, or an integer of thousands of digits,
    becomes a string of ten of its digits.

    Examples
    --------
    >>> encode({"a": float("inf"), "b": np.array([1.0, 2.0]), "c": (1, None)})
    {'a': 'inf', 'b': [1.0, 2.0], 'c': [1, None]}
    >>> encode([Fraction(1, 4), Fraction(10) ** 400, 3**10000])
    [0.25, '1e+400', '1.631350185e+4771']
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "as_json"):
        return encode(value.as_json())
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, int):
        return value if is_writable(value) else rounded_text(Fraction(value))
    if isinstance(value, Fraction):
        is_double = abs(value) <= LARGEST
        return float(value) if is_double else rounded_text(value)
    if isinstance(value, float):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            return "inf" if number > 0 else "-inf"
        return number
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
