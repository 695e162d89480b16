"""What a panel of a figure shows: lines, points, bands, bars and the like, as plain checked numbers.

A mark says what is shown, never how: colours, dashes and markers follow from ``series``, the number of its
style, which marks of one thing share. Left out, marks with labels take one style after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.core.values import dependent_field, frozen_value

Array = NDArray[np.float64]


@frozen_value(eq=False, kw_only=True)
class Mark:
    """Base class of the marks: a label for the legend and the number of a style.

    Attributes
    ----------
    label : str
        Its name in the legend; without one it is not named there.
    series : int or None
        Which of the styles; None takes the next one.
    """

    label: str = ""
    series: int | None = None

    columns: ClassVar[tuple[str, ...]] = ()
    """The fields that are vectors of one length."""

    def __attrs_post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in self.columns}
        if len(set(lengths.values())) > 1:
            raise ParameterError(
                f"{type(self).__name__}: lengths differ", lengths, "give vectors of one length"
            )
        if self.series is not None and self.series < 0:
            raise ParameterError(self._place("series"), f"{self.series} is negative", "count styles from 0")

    def _place(self, name: str) -> str:
        return (
            f"{type(self).__name__} {self.label!r}: {name}"
            if self.label
            else f"{type(self).__name__}: {name}"
        )


def _vector(place: str, values: Any, gaps: bool = False) -> Array:
    """Return a copy of the numbers that cannot be written to."""
    array = _numbers(place, values, 1)
    wrong = np.isinf(array) if gaps else ~np.isfinite(array)
    if wrong.any():
        raise ParameterError(
            place,
            f"entry {int(np.argmax(wrong)) + 1} is not a finite number",
            "omit it, or set gaps=True for a line and put NaN",
        )
    if not len(array):
        raise ParameterError(place, "is empty", "leave the mark out")
    return array


def _matrix(place: str, values: Any) -> Array:
    array = _numbers(place, values, 2)
    if not array.size or not np.isfinite(array).all():
        raise ParameterError(place, "is empty or has a number that is not finite", "give a full matrix")
    return array


def _numbers(place: str, values: Any, dimensions: int) -> Array:
    try:
        array: Array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(place, "are not numbers", "give numbers") from None
    if array.ndim != dimensions:
        raise ParameterError(place, f"has {array.ndim} dimensions", f"give {dimensions}")
    array.flags.writeable = False
    return array


def _column(mark: Mark, name: str, values: Any) -> Array:
    return _vector(mark._place(name), values)


def _with_gaps(mark: Mark, name: str, values: Any) -> Array:
    return _vector(mark._place(name), values, gaps=True)


def _rising(mark: Mark, name: str, values: Any) -> Array:
    axis = _column(mark, name, values)
    if len(axis) < 2 or (np.diff(axis) <= 0).any():
        raise ParameterError(mark._place(name), "needs two or more rising numbers")
    return axis


def _cells(mark: Mark, name: str, values: Any) -> Array:
    return _matrix(mark._place(name), values)


def _single(mark: Mark, name: str, value: Any) -> float:
    return float(_column(mark, name, [value])[0])


@frozen_value(eq=False)
class Line(Mark):
    """A curve through points in the order given.

    Attributes
    ----------
    x, y : (n,) arrays
    gaps : bool
        Whether NaN in ``y`` interrupts the line; without it NaN is an error.
    dots : bool
        Whether its points are marked: those were computed, what lies between was not.

    Examples
    --------
    >>> Line([1, 2, 4], [0.5, 0.7, 0.8], label="optimum").y
    array([0.5, 0.7, 0.8])
    >>> Line([1, 2], [0.5, float("nan")])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: Line: y: entry 2 is not a finite number; ...
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_with_gaps)
    gaps: bool = False
    dots: bool = False
    columns = ("x", "y")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not self.gaps:
            _column(self, "y", self.y)


@frozen_value(eq=False)
class Points(Mark):
    """Single points; ``open`` ones are stated by a source, filled ones were found.

    Attributes
    ----------
    x, y : (n,) arrays
    open : bool
    faint : bool
        Whether they are only for comparison and recede behind the rest.
    names : tuple of str
        A text beside each point, or none at all.
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_column)
    open: bool = False
    names: Sequence[str] = ()
    faint: bool = False
    columns = ("x", "y")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.names and len(self.names) != len(self.x):
            raise ParameterError(
                self._place("names"), f"{len(self.names)} for {counted(len(self.x), 'point')}", "name each"
            )


@frozen_value(eq=False)
class Band(Mark):
    """The region between two curves.

    Attributes
    ----------
    x, low, high : (n,) arrays
    """

    x: Any = dependent_field(_column)
    low: Any = dependent_field(_column)
    high: Any = dependent_field(_column)
    columns = ("x", "low", "high")


@frozen_value(eq=False)
class Bars(Mark):
    """A bar a place; several of these in one panel stand side by side.

    Attributes
    ----------
    x, y : (n,) arrays
        Places, usually 0, 1, ..., and signed heights.
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_column)
    columns = ("x", "y")


@frozen_value(eq=False)
class Intervals(Mark):
    """Vertical intervals with a value in each, as of estimates.

    With the ``series`` of bars of the same panel they are drawn on these bars.

    Attributes
    ----------
    x, y, low, high : (n,) arrays
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_column)
    low: Any = dependent_field(_column)
    high: Any = dependent_field(_column)
    columns = ("x", "y", "low", "high")


@frozen_value(eq=False)
class Heat(Mark):
    """A matrix as coloured cells: the first row at the top, the first column at the left.

    Attributes
    ----------
    values : (rows, columns) array
        ``label`` names what they are, with the unit; it stands beside the scale of colours.
    """

    values: Any = dependent_field(_cells)


@frozen_value(eq=False)
class Surface(Mark):
    """A function of two numbers as filled level lines.

    Attributes
    ----------
    x : (n,) array
        Rising.
    y : (m,) array
        Rising.
    z : (m, n) array
        A row for each ``y``. ``label`` names it, with the unit.
    """

    x: Any = dependent_field(_rising)
    y: Any = dependent_field(_rising)
    z: Any = dependent_field(_cells)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        values = self.z
        if values.shape != (len(self.y), len(self.x)):
            raise ParameterError(
                self._place("z"),
                f"is {values.shape[0]} x {values.shape[1]}",
                f"a row for each of the {len(self.y)} y, a column for each of the {len(self.x)} x",
            )


@frozen_value(eq=False)
class Polygon(Mark):
    """A filled region by its corners in order.

    Attributes
    ----------
    x, y : (n,) arrays
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_column)
    columns = ("x", "y")


@frozen_value(eq=False)
class Circles(Mark):
    """Circles with their centres; panels that show them have ``equal_aspect``.

    Attributes
    ----------
    x, y, radius : (n,) arrays
    filled : bool
    names : tuple of str
        A text at each centre, or none at all.
    """

    x: Any = dependent_field(_column)
    y: Any = dependent_field(_column)
    radius: Any = dependent_field(_column)
    filled: bool = True
    names: Sequence[str] = ()
    columns = ("x", "y", "radius")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if (self.radius < 0).any():
            raise ParameterError(self._place("radius"), "is negative", "give numbers >= 0")
        if self.names and len(self.names) != len(self.x):
            raise ParameterError(
                self._place("names"), f"{len(self.names)} for {counted(len(self.x), 'circle')}", "name each"
            )


@frozen_value(eq=False)
class Reference(Mark):
    """A thin line across the panel at one value: a bound, a budget, a threshold.

    Attributes
    ----------
    value : float
    axis : {"y", "x"}
        The axis that the value is read on.
    """

    value: float = dependent_field(_single)
    axis: Literal["x", "y"] = "y"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.axis not in ("x", "y"):
            raise ParameterError(self._place("axis"), f"{self.axis!r} is not a choice", "known: x, y")
