"""Users' numbers and the range they lie in: checked with the row named, and mapped to [0, 1]."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.columns import array_of, dimensions_of, gap_remedy, is_gap, names_reports
from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.core.tables import Coded
from mechdesign.core.text import outside_text, range_text
from mechdesign.core.validation import finite_array, number
from mechdesign.core.values import frozen_value, kept
from mechdesign.data.codes import NUMBERS_FOR_MISSING, missing_hint
from mechdesign.exact.numbers import number_of_text, plain, shown

Array = NDArray[np.float64]
Area = tuple[float, float, float, float]


NARROWEST, WIDEST = 1e-70, 1e70


@frozen_value()
class Domain:
    """The range [low, high] of the values; mechanisms work on u = (x - low) / (high - low).

    Parameters
    ----------
    low, high : float
        Finite, low < high.

    Examples
    --------
    >>> Domain(-1.0, 1.0).to_unit(np.array([-1.0, 0.0, 1.0]))
    array([0. , 0.5, 1. ])
    """

    low: float = kept(number)
    high: float = kept(number)

    def __attrs_post_init__(self) -> None:
        low, high = self.low, self.high
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ParameterError(
                "low, high", f"[{low:g}, {high:g}] is not a finite range", "give two finite numbers"
            )
        if low >= high:
            raise ParameterError(
                "low, high", f"low = {low:g} is not below high = {high:g}", "give low < high"
            )
        if not NARROWEST <= high - low <= WIDEST:  # its fourth power is a number of the errors
            raise ParameterError(
                "low, high",
                f"the width of {range_text(low, high)} is not within {NARROWEST:g} and {WIDEST:g}",
                "rescale the values",
            )

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The centre of the range."""
        return self.low + self.half

    @property
    def half(self) -> float:
        """Half the length of the range."""
        return self.width / 2.0

    def check(self, values: Any, clip: bool = False) -> Array:
        """Return the values as one column of floats.

        Raises
        ------
        DataError
            For NaN, and without ``clip`` for a value outside the range, naming the first row
            (counted from 1) and the remedy.
        """
        column = as_floats(values, 1, "values")
        if column.size and not (column.min() >= self.low and column.max() <= self.high):
            self._refuse(column, clip)
        return column

    def _refuse(self, column: Array, clip: bool) -> None:
        missing = np.isnan(column)
        if missing.any():
            remedy = "omit users without a value"
            raise RowError("values", _first(missing), f"NaN{_more(missing)}", remedy)
        if clip:
            return
        outside = (column < self.low) | (column > self.high)
        row = _first(outside)
        remedy = "correct it, or move values to the nearest end"
        if column[row] in NUMBERS_FOR_MISSING:
            code = f"--missing-code={column[row]:g}"
            remedy = (
                f"name it with {code} if it stands for a missing value, or move values to the nearest end"
            )
        raise RowError(
            "values",
            row,
            f"{outside_text(column[row], self.low, self.high)}{_more(outside)}",
            remedy,
            "clip",
        )

    def to_unit(self, values: Array) -> Array:
        """Return (x - low) / width, moved to [0, 1] where rounding or the value lies outside."""
        unit: Array = np.asarray(values - self.low)
        unit /= self.width
        return np.clip(unit, 0.0, 1.0, out=unit)

    def scaled(self, values: Array, factor: float) -> Array:
        """Return (x - low) / width * factor of values in the range: the doubles of these operations.

        Examples
        --------
        >>> Domain(-1.0, 1.0).scaled(np.array([-1.0, 0.0, 1.0]), 8.0)
        array([0., 4., 8.])
        """
        found: Array = np.asarray(values - self.low)
        if math.frexp(self.width)[0] == 0.5:  # a power of two: one operation gives the same doubles
            found *= factor / self.width
        else:
            found /= self.width
            found *= factor
        return found


def as_floats(values: Any, dimensions: int, what: str) -> Array:
    """Return an array of doubles of this number of dimensions, or name the row that is not a number."""
    if isinstance(values, Coded) and dimensions == 1:
        with suppress(DataError):  # said again below, with the row
            return as_floats(values.values, 1, what).take(values.codes)
    raw = array_of(values, what)
    if raw.ndim != dimensions:
        wanted = "one column of numbers" if dimensions == 1 else "a table (users x attributes)"
        raise DataError(what, f"expected {wanted}, got {dimensions_of(raw)}")
    if raw.dtype.kind in "iuf":
        floats: Array = raw.astype(np.float64, copy=False)
        return floats
    if raw.dtype.kind in "bc":
        word = "booleans" if raw.dtype.kind == "b" else "complex"
        raise DataError(what, f"are {word}", "give real numbers")
    numbers = np.empty(raw.size, dtype=np.float64)
    for place, value in enumerate(raw.ravel().tolist()):
        found = number_of_text(value) if isinstance(value, str) else _number(value)
        if found is None:
            row = place // raw.shape[1] if raw.ndim == 2 else place
            if is_gap(value):
                raise RowError(what, row, "is missing", gap_remedy(what, "omit users without a value"))
            remedy = f"correct or omit the row{missing_hint(value)}"
            remedy = "use what randomize returned" if names_reports(what) else remedy
            raise RowError(what, row, f"{shown(value)} is not a number", remedy)
        numbers[place] = found
    return numbers.reshape(raw.shape)


def _number(value: Any) -> float | None:
    found = plain(value)
    try:
        return None if found is None else float(found)
    except OverflowError:
        return None


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.argmax(mask))


def _more(mask: NDArray[np.bool_]) -> str:
    count = int(mask.sum())
    return f" ({count} such values)" if count > 1 else ""


def checked_area(area: Any) -> Area:
    """Return (x_low, y_low, x_high, y_high) with low < high, or say what is wrong."""
    numbers = finite_array("area", area, 1)
    if len(numbers) != 4 or not (numbers[0] < numbers[2] and numbers[1] < numbers[3]):
        raise ParameterError(
            "area", f"{numbers.tolist()} is not [x_low, y_low, x_high, y_high] with low < high"
        )
    x_low, y_low, x_high, y_high = numbers.tolist()
    return x_low, y_low, x_high, y_high
