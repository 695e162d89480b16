"""The noun *figure*: what a picture shows, declared beside what it is of, and known to no drawing program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from mechdesign.core.errors import ParameterError
from mechdesign.core.values import frozen_value, value_field
from mechdesign.show.marks import Bars, Circles, Heat, Intervals, Mark, Surface

if TYPE_CHECKING:
    from mechdesign.core.problem import Problem
    from mechdesign.core.solution import Solution

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
    >>> from mechdesign.show.marks import Line
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
    >>> from mechdesign.show.marks import Line
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
    >>> from mechdesign.show.marks import Line, Points
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
