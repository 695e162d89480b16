"""Distances for metric privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.pairs import needed_pairs
from mechdesign.core.errors import ParameterError, suggestion
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, integer

__all__ = ["GENERATORS", "distance_matrix", "grid", "needed_pairs"]

Array = NDArray[np.float64]


def distance_matrix(distance: str | Array, size: int) -> Array:
    """Return the (n, n) matrix of a distance given as "line", a matrix or points in the plane.

    Raises
    ------
    ParameterError
        For a wrong shape, a negative or asymmetric entry, or a diagonal that is not zero.

    Examples
    --------
    >>> distance_matrix("line", 3)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if isinstance(distance, str):
        if distance != "line":
            raise ParameterError("distance", f"'{distance}' is not a choice", suggestion(distance, ["line"]))
        places = np.arange(size, dtype=np.float64)
        line: Array = np.abs(places[:, None] - places)
        return line
    if distance.shape == (size, size) and _looks_like_matrix(distance, size):
        return _checked(distance)
    if distance.shape == (size, 2):
        return _between_points(distance)
    raise ParameterError(
        "distance",
        f"has shape {distance.shape[0]} x {distance.shape[1]} for {size} answers",
        f"give {size} x {size}, {counted(size, 'point')} (x, y), or 'line'",
    )


LONGEST_STEP = 1e100
"""The squares of longer steps are beyond double precision."""

MOST_PLACES = 4096
"""Places of a generated grid; all their distances are computed."""


def grid(rows: int, columns: int, step: float = 1.0) -> Array:
    """Return the places (x, y) of a grid, shape (rows columns, 2): x changes first.

    Examples
    --------
    >>> grid(2, 3, 0.5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]
    """
    high, wide = (integer(f"distance.{name}", n, 1) for name, n in (("rows", rows), ("columns", columns)))
    if high * wide > MOST_PLACES:
        raise ParameterError(
            "distance", f"{high} x {wide} places are more than {MOST_PLACES}", "give a coarser grid"
        )
    apart = in_range("distance.step", step, 0.0, LONGEST_STEP, low_open=True)
    up, across = np.divmod(np.arange(high * wide), wide)
    places: Array = np.column_stack([across, up]) * apart
    return places


GENERATORS: Mapping[str, Callable[..., Any]] = {"grid": grid}


def _looks_like_matrix(distance: Array, size: int) -> bool:
    return size != 2 or (not distance.diagonal().any() and bool(distance[0, 1] == distance[1, 0]))


def _checked(matrix: Array) -> Array:
    if (matrix < 0).any():
        row, column = np.argwhere(matrix < 0)[0]
        raise ParameterError("distance", f"entry ({row}, {column}) is negative", "give distances >= 0")
    if matrix.diagonal().any():
        raise ParameterError(
            "distance", f"entry {int(np.argmax(matrix.diagonal() != 0))} of the diagonal is not 0"
        )
    if (matrix != matrix.T).any():
        row, column = np.argwhere(matrix != matrix.T)[0]
        raise ParameterError(
            "distance", f"entries ({row}, {column}) and ({column}, {row}) differ", "give a symmetric matrix"
        )
    return matrix


def _between_points(points: Array) -> Array:
    """Return Euclidean distances rounded down, so that a certificate also holds for the true distance."""
    size = len(points)
    matrix = np.zeros((size, size))
    ratios = [[float(number).as_integer_ratio() for number in place] for place in points]
    unit = max((bottom for place in ratios for _, bottom in place), default=1)  # each is a power of two
    whole = [[top * (unit // bottom) for top, bottom in place] for place in ratios]
    for first in range(size):
        for second in range(first):
            across, up = (a - b for a, b in zip(whole[first], whole[second], strict=True))
            square = across * across + up * up
            length = math.hypot(across / unit, up / unit)
            while _is_longer(length, square, unit):
                length = math.nextafter(length, 0.0)
            matrix[first, second] = matrix[second, first] = length
    return matrix


def _is_longer(length: float, square: int, unit: int) -> bool:
    """Whether a length is above the root of a square that is counted in units of ``1 / unit**2``."""
    top, bottom = length.as_integer_ratio()
    return (top * unit) ** 2 > square * bottom**2
