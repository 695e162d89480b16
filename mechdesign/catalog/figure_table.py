"""The table ``[[figure]]`` of a model file: which numbers of a sweep are drawn over which parameter.

The values of a swept parameter on an axis: as numbers where they are, or differ in one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import attrs

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import (
    MechDesignError,
    ModelFileError,
    ParameterError,
    UnknownNameError,
    suggestion,
)
from mechdesign.core.fields import fields_of
from mechdesign.core.values import changed, frozen_value, value_field

METHOD = "method"
"""The name of an axis with a place for each method."""

KINDS = ("lines", "bars", "surface")
SCALES = ("linear", "log")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(text, str) and text for text in listed):
        raise ParameterError(name, f"{value!r} is not a list of names", 'write it as ["value", "bound"]')
    return tuple(listed)


def _path(name: str, value: Any) -> tuple[Any, ...]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(step, (str, int)) and not isinstance(step, bool) for step in listed):
        raise ParameterError(name, f"{value!r} is not a list of numbers and keys", 'write it as [1, "x"]')
    return tuple(listed)


@frozen_value()
class FigureTable:
    """Content of one figure of a model.

    Attributes
    ----------
    x : str
        A swept parameter; or a quantity with a number for each type, cell or slot, such as ``types``, or
        ``number`` for counting them from 0; or ``method``, for bars side by side. By default the first
        swept parameter.
    y : tuple of str
        Quantities as claims name them, and what the simulation measures. By default ``value``.
    once : tuple of str
        Quantities that neither methods nor ``series`` change, such as a lower bound: a single curve each.
    methods : tuple of str
        The methods whose solutions are drawn; by default the one that each point is solved by.
    series : str
        A swept parameter with a curve for each of its values.
    at : mapping
        Which values the other swept parameters have; by default those of the model.
    kind : {"lines", "bars", "surface"}
        By default lines over numbers and bars over names. A surface is over ``x`` and ``series``.
    title, x_label, y_label, caption : str
        With units. By default the model's title and the names of what is drawn.
    labels : mapping
        Names for the legend: of quantities, of methods and of values of ``series``.
    x_scale, y_scale : {"linear", "log"}
    x_path, series_path : tuple
        Where the number stands in values that are lists or tables: ``[1, "x"]``. With both, ``x`` and
        ``series`` may be the same parameter.
    claims : bool
        Whether what the source states at single points is drawn as open markers.

    Examples
    --------
    >>> FigureTable(y=("value", "bound"), x_scale="log").y
    ('value', 'bound')
    """

    x: str = ""
    y: tuple[str, ...] = value_field(_texts, default=("value",))
    once: tuple[str, ...] = value_field(_texts, default=())
    methods: tuple[str, ...] = value_field(_texts, default=())
    series: str = ""
    at: Mapping[str, Any] = attrs.field(factory=dict)
    kind: str = ""
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    caption: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict)
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_path: tuple[Any, ...] = value_field(_path, default=())
    series_path: tuple[Any, ...] = value_field(_path, default=())
    claims: bool = True

    def __attrs_post_init__(self) -> None:
        for name in ("x", "series", "kind", "title", "x_label", "y_label", "caption"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(name, f"{getattr(self, name)!r} is not a string", "put quotes around it")
        for name, known in (("x_scale", SCALES), ("y_scale", SCALES), ("kind", ("", *KINDS))):
            if getattr(self, name) not in known:
                hint = suggestion(str(getattr(self, name)), [word for word in known if word])
                raise ParameterError(name, f"{getattr(self, name)!r} is not a choice", hint)
        for name in ("at", "labels"):
            if not isinstance(getattr(self, name), Mapping):
                raise ParameterError(name, "is not a table", "write it as { epsilon = 2.0 }")
        if not all(isinstance(text, str) for text in self.labels.values()):
            raise ParameterError("labels", "has a value that is not a string", "put quotes around it")
        if not isinstance(self.claims, bool):
            raise ParameterError("claims", f"{self.claims!r} is neither true nor false")
        if not self.y:
            raise ParameterError("y", "is empty", "name a quantity, for instance value")
        if self.kind == "surface" and not (self.series and len(self.y) == 1):
            raise ParameterError("kind", "a surface needs one y over x and series", "name both")
        if self.kind == "surface" and self.once:
            raise ParameterError("once", "a surface shows one quantity", "draw a second figure")

    def checked(self, sweep: Mapping[str, Sequence[Any]], methods: Sequence[str]) -> FigureTable:
        """Return it with ``x`` filled in, when it fits the sweep and the methods of its model.

        Raises
        ------
        UnknownNameError
            For a parameter that is not swept, or an unknown method; with a suggestion.
        ParameterError
            For a value that the sweep does not have.
        """
        for name in self.methods:
            if name not in methods:
                raise UnknownNameError("methods", f"no '{name}'", suggestion(name, methods))
        for key, name in [("series", self.series), *(("at", name) for name in self.at)]:
            if name and name not in sweep:
                raise UnknownNameError(key, f"no '{name}' in [sweep]", suggestion(name, sweep))
        for name, value in self.at.items():
            if value not in sweep[name]:
                raise ParameterError(
                    f"at: {name}", f"{value!r} is not among its values in [sweep]", "name one"
                )
        if self.once and self.x and self.x not in (METHOD, *sweep):
            raise ParameterError(
                "once", "needs a parameter of the sweep or 'method' on the axis", "put it into y"
            )
        x = self.x or next((name for name in sweep if name not in (self.series, *self.at)), "")
        if x == METHOD and not self.methods:
            raise ParameterError("methods", "is missing", "'method' on the axis needs those to be compared")
        if not x:
            raise ParameterError(
                "x", "is missing", "name a quantity with a number for each type, cell or slot"
            )
        if x == self.series and self.x_path and self.series_path and self.x_path != self.series_path:
            return changed(self, x=x)  # two numbers of the same values
        if x in (self.series, *self.at):
            raise ParameterError(
                "x", f"'{x}' is also in {'series' if x == self.series else 'at'}", "drop one of them"
            )
        return changed(self, x=x)


KEYS = tuple(entry.name for entry in fields_of(FigureTable))


def read_figures(
    entries: Any, sweep: Mapping[str, Sequence[Any]], methods: Sequence[str]
) -> tuple[FigureTable, ...]:
    """Return the figures of a model file, checked.

    Raises
    ------
    MechDesignError
        The text names the figure, counted from 1, the key, and what to do.
    """
    if not isinstance(entries, list):
        raise ModelFileError("[[figure]]", "is a single table", "write it with double brackets")
    tables = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise ModelFileError(f"[figure {number}] is not a table", remedy="write it under [[figure]]")
        for key in entry:
            if key not in KEYS:
                raise UnknownNameError(f"[figure {number}] unknown key '{key}'", remedy=suggestion(key, KEYS))
        try:
            tables.append(FigureTable(**entry).checked(sweep, methods))
        except MechDesignError as error:
            raise error.inside(f"[figure {number}]") from None
    return tuple(tables)


@dataclass(frozen=True)
class Axis:
    """Placement of the values of a parameter on an axis.

    Attributes
    ----------
    label : str
        The parameter, and where in it the number stands.
    numbers : tuple of float
        A number for each value; 0, 1, 2, ... where they have names.
    names : tuple of str
        A text for each value; for the axis only where ``is_named``, for legends always.
    is_named : bool
    """

    label: str
    numbers: tuple[float, ...]
    names: tuple[str, ...]
    is_named: bool


def axis_of(parameter: str, values: Sequence[Any], path: Sequence[Any] = ()) -> Axis:
    """Return the axis of a parameter's values.

    Parameters
    ----------
    parameter : str
    values : sequence
    path : sequence of int and str
        Where the number stands in values that are lists or tables; found where they differ in just one.

    Raises
    ------
    ParameterError
        When there is no number at the end of the path.

    Examples
    --------
    >>> axis_of("types", [{"name": "even", "size": 5}, {"name": "even", "size": 8}]).label
    'types: size'
    >>> axis_of("noise", ["laplace", "duchi"]).names
    ('laplace', 'duchi')
    """
    name = parameter.replace("_", " ")
    if not path and all(map(_is_number, values)):
        return Axis(name, tuple(map(float, values)), tuple(map(format_figure, values)), False)
    places = [tuple(path)] if path else _differing(values)
    if len(places) == 1:
        numbers = [_at(parameter, value, places[0]) for value in values]
        if all(map(_is_number, numbers)):
            label = name + "".join(f": {step}" for step in places[0] if isinstance(step, str))
            return Axis(label, tuple(map(float, numbers)), tuple(map(format_figure, numbers)), False)
    texts = [_text(value, places) for value in values]
    return Axis(name, tuple(map(float, range(len(values)))), tuple(texts), True)


def by_places(axis: Axis) -> Axis:
    """Return an axis with a place for each number, in rising order: bars over numbers would overlap.

    Examples
    --------
    >>> by_places(axis_of("cost", [4.0, 0.5, 1.0]))
    Axis(label='cost', numbers=(2.0, 0.0, 1.0), names=('4', '0.5', '1'), is_named=True)
    """
    order = sorted(range(len(axis.numbers)), key=lambda place: axis.numbers[place])
    ranks = {place: float(rank) for rank, place in enumerate(order)}
    return Axis(axis.label, tuple(ranks[place] for place in range(len(order))), axis.names, True)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at(parameter: str, value: Any, path: Sequence[Any]) -> Any:
    """Return the entry at the end of a path through lists and tables."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise ParameterError(parameter, f"has nothing at {step!r} of the path {list(path)}") from None
    return value


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _leaves(entry, (*path, key))
    elif isinstance(value, (list, tuple)):
        for number, entry in enumerate(value):
            yield from _leaves(entry, (*path, number))
    else:
        yield path, value


def _differing(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the paths whose ends are not the same in all values."""
    tables = [dict(_leaves(value)) for value in values]
    paths = dict.fromkeys(path for table in tables for path in table)
    missing = object()
    return [
        path
        for path in paths
        if any(table.get(path, missing) != tables[0].get(path, missing) for table in tables)
    ]


def _text(value: Any, places: Sequence[tuple[Any, ...]]) -> str:
    """Return a value by what tells it from the others."""
    if not isinstance(value, (Mapping, list, tuple)):
        return format_figure(value)
    leaves = dict(_leaves(value))
    return ", ".join(format_figure(leaves[place]) for place in places if place in leaves)
