"""Figures and the marks of their panels, as plain checked numbers, known to no drawing program.

A figure says what a picture shows; what it is of declares it. Its panels have marks: lines, points,
bands, bars and the like.

A mark says what is shown, never how: colours, dashes and markers follow from ``series``, the number of its
style, which marks of one thing share. Left out, marks with labels take one style after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.values import dependent_field, frozen_value, value_field

if TYPE_CHECKING:
    from mechdesign.core.problem import Problem
    from mechdesign.core.solution import Solution

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
        A text next to each point, or none at all.
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
        ``label`` names what they are, with the unit; it stands next to the scale of colours.
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


Scale = Literal["linear", "log"]


def _listed(name: str, items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(items)


@frozen_value(eq=False)
class Panel:
    """One pair of axes with its marks.

    Attributes
    ----------
    x_label, y_label : str
        What the axes are, with the unit in brackets where there is one: ``distance (km)``.
    marks : tuple of Mark
    title : str
        Over the panel, where a figure has several.
    x_scale, y_scale : {"linear", "log"}
    x_names, y_names : tuple of str
        Texts at 0, 1, 2, ... of the axis instead of numbers.
    x_limits, y_limits : (low, high) or None
        Chosen from the marks when left out.
    equal_aspect : bool
        Whether a unit is as long on both axes, as on maps.

    Raises
    ------
    ParameterError
        When nothing is shown, an axis has no label, or a logarithmic one would show numbers that are not
        positive.

    Examples
    --------
    >>> from mechdesign.show.figure import Line
    >>> panel = Panel("epsilon", "variance", [Line([1, 2], [4.0, 1.0])], y_scale="log")
    >>> Panel("epsilon", "variance", [Line([1, 2], [4.0, 0.0])], y_scale="log")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: figure: y_scale: 'log' with numbers that are not positive; ...
    """

    x_label: str
    y_label: str
    marks: Sequence[Mark] = value_field(_listed)
    title: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_names: Sequence[str] = value_field(_listed, default=())
    y_names: Sequence[str] = value_field(_listed, default=())
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    equal_aspect: bool = False

    def __attrs_post_init__(self) -> None:
        if not self.marks:
            raise ParameterError("figure", "a panel shows nothing", "give it a mark")
        for axis in ("x", "y"):
            if not getattr(self, f"{axis}_label").strip():
                raise ParameterError(
                    f"figure: {axis}_label", "is empty", "name the quantity of the axis, with its unit"
                )
            self._check_scale(axis, getattr(self, f"{axis}_scale"))
            limits = getattr(self, f"{axis}_limits")
            if limits is not None and not limits[0] < limits[1]:
                raise ParameterError(f"figure: {axis}_limits", f"{limits} are not rising", "give (low, high)")
        if any(isinstance(mark, Circles) for mark in self.marks) and not self.equal_aspect:
            raise ParameterError("figure", "circles need equal_aspect=True, or they are ellipses")

    def _check_scale(self, axis: str, scale: str) -> None:
        if scale not in get_args(Scale):
            raise ParameterError(f"figure: {axis}_scale", f"{scale!r} is not a choice", "known: linear, log")
        if scale == "linear":
            return
        if any(isinstance(mark, (Heat, Circles)) for mark in self.marks):
            raise ParameterError(
                f"figure: {axis}_scale", "'log' does not fit cells and circles", "use 'linear'"
            )
        names = [axis, "low", "high"] if axis == "y" else [axis]
        for mark in self.marks:
            values = [
                getattr(mark, name) for name in names if name in mark.columns or isinstance(mark, Surface)
            ]
            if any((numbers <= 0).any() for numbers in values):
                raise ParameterError(
                    f"figure: {axis}_scale", "'log' with numbers that are not positive", "use 'linear'"
                )


@frozen_value(eq=False, repr=False)
class Figure:
    """A picture: a title, one or more panels side by side, and a caption that says what to see in it.

    The caption is also what a screen reader says.

    Examples
    --------
    >>> from mechdesign.show.figure import Line
    >>> Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])])
    Figure('Utility', 1 panel)
    """

    title: str
    panels: Sequence[Panel] = value_field(_listed)
    caption: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.title.strip():
            raise ParameterError("figure: title", "is empty", "give one")
        if not self.panels:
            raise ParameterError(f"figure: {self.title}", "has no panel", "give one")

    def __repr__(self) -> str:
        return f"Figure({self.title!r}, {len(self.panels)} panel{'s' * (len(self.panels) > 1)})"


def design_figures(problem: Problem, solution: Solution) -> list[Figure]:
    """Return the pictures of one design, by ``figures(problem, solution)`` next to the problem; often none.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.3, 0.7], epsilon=1.0)
    >>> len(design_figures(problem, md.solve(problem))) > 0
    True
    """
    from mechdesign.core.problem import companion

    function = companion(type(problem), "figures")
    if function is None or not solution.found:
        return []
    result: list[Figure] = function(problem, solution)
    return result


def styles(panel: Panel) -> list[int]:
    """Return the number of the style of each mark: its own, or the next that no mark before it took.

    Examples
    --------
    >>> from mechdesign.show.figure import Line, Points
    >>> styles(Panel("x", "y", [Line([1], [1]), Line([1], [2]), Points([1], [3], series=0)]))
    [0, 1, 0]
    """
    chosen: list[int] = []
    following = 0
    for mark in panel.marks:
        number = following if mark.series is None else mark.series
        if not isinstance(mark, (Heat, Surface)):
            following = max(following, number + 1)
        chosen.append(number)
    return chosen


def bar_slots(panel: Panel) -> dict[int, tuple[int, int]]:
    """Return for the index of each mark that shares places with others which slot of how many it has.

    Bars stand side by side, and so do intervals of estimates, but for those that belong to bars
    (:func:`on_bars`): these have the slot of their bars.
    """
    standing = on_bars(panel)
    sharing = [
        place
        for place, mark in enumerate(panel.marks)
        if isinstance(mark, (Bars, Intervals)) and place not in standing
    ]
    slots = {place: (slot, len(sharing)) for slot, place in enumerate(sharing)}
    return slots | {place: slots[bars] for place, bars in standing.items()}


def on_bars(panel: Panel) -> dict[int, int]:
    """Return for the index of each mark of intervals that belongs to bars the index of these bars.

    They belong together when both name the same ``series``.

    Examples
    --------
    >>> bars = Bars(x=[0, 1], y=[3, 1], series=0)
    >>> ends = Intervals(x=[0, 1], y=[3, 1], low=[2, 0], high=[4, 2], series=0)
    >>> panel = Panel("answer", "users", [bars, ends])
    >>> on_bars(panel), bar_slots(panel)
    ({1: 0}, {0: (0, 1), 1: (0, 1)})
    """
    bars = {
        mark.series: place
        for place, mark in enumerate(panel.marks)
        if isinstance(mark, Bars) and mark.series is not None
    }
    return {
        place: bars[mark.series]
        for place, mark in enumerate(panel.marks)
        if isinstance(mark, Intervals) and mark.series in bars
    }
