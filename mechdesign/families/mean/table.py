"""A table of values, one column an attribute: checked with row and column named, mapped to [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.domain import Array, Domain, as_floats
from mechdesign.collect.labels import Codes, Labels
from mechdesign.collect.sealed import Sealed
from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.core.text import counted, outside_text
from mechdesign.core.validation import finite_array
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BitSource

ROWS = 1 << 13
"""Rows checked at a time."""


class ColumnRanges(Sealed):
    """The ranges of the columns.

    Parameters
    ----------
    size : int
        Number of columns.
    low, high : float or (size,) array
    labels : Labels
        The names of the columns, for messages.

    Examples
    --------
    >>> ranges = ColumnRanges(2, 0.0, [1.0, 10.0], Labels(2, ["share", "count"]))
    >>> ranges.check([[0.5, 11.0]])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: values: row 1, column 'count': 11 is outside [0, 10]; correct it, or ...
    """

    def __init__(self, size: int, low: Any, high: Any, labels: Labels) -> None:
        self.low, self.high = (
            self._column(name, bound, size) for name, bound in (("low", low), ("high", high))
        )
        self.labels = labels
        for first, last in zip(self.low.tolist(), self.high.tolist(), strict=True):
            Domain(first, last)
        self.width = frozen(self.high - self.low)

    @staticmethod
    def _column(name: str, bound: Any, size: int) -> Array:
        if np.ndim(bound) == 0:
            return frozen(np.full(size, finite_array(name, bound, 0)))
        column = finite_array(name, bound, 1)
        if len(column) != size:
            raise ParameterError(
                name,
                f"{counted(len(column), 'bound')} for {size} attributes",
                "give one for each, or one for all",
            )
        return frozen(column)

    def check(self, values: Any, clip: bool = False) -> Array:
        """Return the table as floats.

        Raises
        ------
        DataError
            For another number of columns, NaN, and without ``clip`` a value outside the
            range of its column, naming the first row (counted from 1), the column and the remedy.
        """
        table = as_floats(values, 2, "values")
        if table.shape[1] != self.labels.size:
            raise DataError(
                "values",
                f"{counted(table.shape[1], 'column')} for {self.labels.size} attributes",
                "give one column each",
            )
        for start in range(0, len(table), ROWS):
            part = table[start : start + ROWS]
            if not ((part.min(axis=0) >= self.low).all() and (part.max(axis=0) <= self.high).all()):
                self._refuse(part, start, clip)
        return table

    def _refuse(self, part: Array, start: int, clip: bool) -> None:
        missing = np.isnan(part)
        if missing.any():
            row, column = (int(index) for index in np.argwhere(missing)[0])
            name = self.labels.shown()[column]
            raise RowError("values", start + row, "NaN", "omit users without a value", column=name)
        if clip:
            return
        outside = (part < self.low) | (part > self.high)
        row, column = (int(index) for index in np.argwhere(outside)[0])
        raise RowError(
            "values",
            start + row,
            outside_text(part[row, column], self.low[column], self.high[column]),
            "correct it, or move values to the nearest end",
            "clip",
            self.labels.shown()[column],
        )

    def to_unit(self, values: Array, columns: NDArray[np.int64]) -> Array:
        """Return (x - low)/(high - low) for values of the given columns, moved to [0, 1]."""
        unit: Array = (values - self.low[columns]) / self.width[columns]
        return np.clip(unit, 0.0, 1.0, out=unit)


def draw_attributes(users: int, attributes: int, per_user: int, source: BitSource) -> Codes:
    """Return ``per_user`` different attributes for each user, each subset equally likely (Floyd's algorithm).

    A uniform 62-bit integer modulo j + 1 is uniform up to (j + 1)/2**62.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> sorted(draw_attributes(1, 3, 3, bit_source(1))[0].tolist())
    [0, 1, 2]
    """
    chosen = np.empty((users, per_user), dtype=np.int64)
    for place, last in enumerate(range(attributes - per_user, attributes)):
        candidate = source.integers(users) % (last + 1)
        taken = (chosen[:, :place] == candidate[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, candidate)
    return chosen
