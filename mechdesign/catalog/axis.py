"""The values of a swept parameter on an axis: as numbers where they are, or differ in one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import ParameterError


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
    found = dict(_leaves(value))
    return ", ".join(format_figure(found[place]) for place in places if place in found)
