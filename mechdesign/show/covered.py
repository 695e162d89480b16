"""Which curves of a panel lie under later ones: they are drawn wider, to be seen around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.show.figure import Line, Panel, Scale

Array = NDArray[np.float64]

NEAR = 0.01
"""Points are one on paper when their distance is less than this part of the axis."""


def covered(panel: Panel) -> list[int]:
    """Return for each mark how many curves in a row lie on it; 0 where it is seen.

    A curve lies on an earlier one that has the same points, up to what can be told apart on paper.

    Examples
    --------
    >>> first, second = Line([1, 2], [3.0, 4.0]), Line([1, 2], [3.001, 4.0])
    >>> covered(Panel("x", "y", [first, second, Line([1, 2], [3.0, 9.0])]))
    [1, 0, 0]
    """
    x_range, y_range = _length(panel, "x", panel.x_scale), _length(panel, "y", panel.y_scale)
    points = [
        _points(mark, panel, x_range, y_range) if isinstance(mark, Line) else None for mark in panel.marks
    ]
    depths = [0] * len(points)
    for place in reversed(range(len(points))):
        own = points[place]
        if own is None:
            continue
        above = [
            depths[later] + 1
            for later in range(place + 1, len(points))
            if (other := points[later]) is not None and _is_same(own, other)
        ]
        depths[place] = max(above, default=0)
    return depths


def _points(mark: Line, panel: Panel, x_range: float, y_range: float) -> Array:
    there = np.isfinite(mark.y)
    x, y = _scaled(mark.x[there], panel.x_scale) / x_range, _scaled(mark.y[there], panel.y_scale) / y_range
    return np.column_stack([x, y])


def _is_same(first: Array, second: Array) -> bool:
    return first.shape == second.shape and bool((np.abs(first - second) < NEAR).all())


def _scaled(values: Array, scale: Scale) -> Array:
    return np.log(values) if scale == "log" else values


def _length(panel: Panel, axis: str, scale: Scale) -> float:
    """Return the length of an axis in its own units; 1 where all is at one place."""
    found = [getattr(mark, axis) for mark in panel.marks if isinstance(mark, Line)]
    values = np.concatenate([numbers[np.isfinite(numbers)] for numbers in found]) if found else np.zeros(0)
    return float(np.ptp(_scaled(values, scale))) or 1.0 if len(values) else 1.0
