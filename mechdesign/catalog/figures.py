"""The figures of a model: what its ``[[figure]]`` tables declare, or its sweep as it is.

What the figures of a model show, at each point of its sweep: the quantities, not the picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.catalog.curves import COUNTED, CurvePoints
from mechdesign.catalog.figure_table import METHOD, Axis, FigureTable, axis_of, by_places
from mechdesign.catalog.load import Model
from mechdesign.catalog.sweeping import SweepRow, run_sweep
from mechdesign.core.errors import MechDesignError, ParameterError, UnknownNameError, counted, suggestion
from mechdesign.core.extensions import in_papers
from mechdesign.core.solution import Solution
from mechdesign.core.values import changed, encode
from mechdesign.show import figure as marks
from mechdesign.solvers.solve import solve

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure, Panel

MOST_METHODS = 7
"""Largest number of methods in a figure that the model file does not declare."""

FROM_SURFACE = 5
"""Sweeps over two numbers with at least this many values each are drawn as a surface."""

MEASURED = ("measured_value", "measured_utility")
"""What a simulation calls the measured ``value``; it stands next to a ``standard_error``."""

SURE = 1.96
"""Standard errors on each side of what was measured: 95 % of normal errors are smaller."""


def model_figures(
    model: Model, rows: Sequence[SweepRow] | None = None, runs: Sequence[Solution] = ()
) -> list[Figure]:
    """Return the figures of a model; none of one that has neither a sweep, nor a figure, nor methods.

    Parameters
    ----------
    model : Model
    rows : sequence of SweepRow, optional
        What :func:`run_sweep` gave for this model; it is run otherwise.
    runs : sequence of Solution, optional
        Solutions of the model itself by several methods, of its check for instance, which need not be
        found again.

    Raises
    ------
    MechDesignError
        When a declared quantity does not exist, naming the model, the figure and the closest names.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> model_figures(load_model("mean/rcp2023_single"))[0].panels[0].x_label
    'epsilon'
    """
    tables = figure_tables(model)
    if not tables:
        return []
    if rows is None:
        rows = list(run_sweep(model)) if model.sweep else [SweepRow({}, solve(model.problem), {})]
    points = CurvePoints(model, rows, runs)
    result = []
    for number, table in enumerate(tables, 1):
        try:
            result.append(_figure(points, table if model.figures else _with_default_y(points, table)))
        except MechDesignError as error:
            raise error.inside(f"{model.slug}: [figure {number}]") from None
    return result


def figure_tables(model: Model) -> tuple[FigureTable, ...]:
    """Return the contents of a model's figures: as it declares, or of its sweep or its methods."""
    return model.figures or _default(model)


def _default(model: Model) -> tuple[FigureTable, ...]:
    """Return the figure of a sweep that declares none: the longest parameter on the axis, one in curves."""
    methods = model.methods[:MOST_METHODS]
    if not model.sweep or all(len(values) == 1 for values in model.sweep.values()):
        return (FigureTable(x=METHOD, methods=methods),) if len(methods) > 1 else ()
    axes = {name: axis_of(name, values) for name, values in model.sweep.items()}
    order = sorted(axes, key=lambda name: (axes[name].is_named, -len(axes[name].numbers)))
    x, series = order[0], (order[1] if len(order) > 1 else "")
    long = series and min(len(axes[name].numbers) for name in (x, series)) >= FROM_SURFACE
    surface = bool(long) and not any(axes[name].is_named for name in (x, series))
    scale = "log" if _spans_decades(axes[x]) else "linear"
    kind = "surface" if surface else ""
    return (FigureTable(x=x, series=series, methods=methods, kind=kind, x_scale=scale),)


def _spans_decades(axis: Axis) -> bool:
    """Whether the values are better looked at by their ratios: over a factor of 50, none 0 or below."""
    return not axis.is_named and min(axis.numbers) > 0 and max(axis.numbers) >= 50 * min(axis.numbers)


def _with_default_y(points: CurvePoints, table: FigureTable) -> FigureTable:
    """Return the table with the bound, where it is not the value, and with what was measured."""
    runs = [row.solution for row in points.rows if row.solution.found]
    y = ["value"]
    if not table.methods and not table.kind:
        if any(run.bound is not None and run.gap > 1e-3 * abs(run.value) for run in runs):
            y.append("bound")
        y += [name for name in MEASURED if any(name in row.measured for row in points.rows)]
    several = [
        points.number(row.parameters, method, "value") for row in points.rows for method in table.methods
    ]
    values = [value for value in several or [run.value for run in runs] if math.isfinite(value)]
    log = bool(values) and min(values) > 0 and max(values) >= 50 * min(values) and not table.kind
    return changed(table, y=tuple(y), y_scale="log" if log else "linear")


def _figure(points: CurvePoints, table: FigureTable) -> Figure:
    from mechdesign.show.figure import Figure

    model = points.model
    if table.x == METHOD:
        panel = _over_methods(points, table)
    elif table.x not in model.sweep:
        panel = _over_entries(points, table)
    elif table.kind == "surface":
        panel = _surface(points, table)
    else:
        panel = _over_sweep(points, table)
    caption = table.caption or f"{model.title}. {panel.y_label} over {panel.x_label}."
    return Figure(table.title or model.title, [panel], caption)


def _over_sweep(points: CurvePoints, table: FigureTable) -> Panel:
    """Return the panel with quantities over a swept parameter."""
    from mechdesign.show.figure import Panel

    values = points.model.sweep[table.x]
    axis = axis_of(table.x, values, table.x_path)
    if table.kind == "bars":
        axis = by_places(axis)
    text: list[marks.Mark] = []
    taken: dict[tuple[str, str | None, str], int] = {}
    for series, entry, order in _courses(points, table, axis):
        x = np.asarray(axis.numbers)[order]
        at = [{**points.fixed(table), **series, table.x: values[place]} for place in order]
        for method in table.methods or (None,):
            for name in table.y:
                y = np.array([points.number(point, method, name) for point in at])
                label = _label(points, table, name, method, entry)
                # what was measured has the style of the value that it is a measurement of
                key = (entry, method, "value" if name in MEASURED else name)
                style = taken.setdefault(key, len(taken))
                text += _curve(points, table, axis, x, y, name, label, at, style)
    order = _rising(axis, range(len(values)))
    x = np.asarray(axis.numbers)[order]
    for name in table.once:
        at = [{**_first(points, table), table.x: values[place]} for place in order]
        y = np.array([_number_once(points, table, point, name) for point in at])
        label = table.labels.get(name, _name(points, name))
        text += _curve(points, table, axis, x, y, name, label, at, len(taken))
        taken[name, None, ""] = len(taken)
    if not text:
        raise ParameterError("y", "has no number anywhere", "see the table of the sweep")
    if table.claims:
        for home in in_papers("claims.stated"):
            text += home.stated_points(points.model, table, axis, points.fixed(table))
    return Panel(
        table.x_label or axis.label,
        table.y_label or _y_label(points, table),
        text,
        x_scale="log" if table.x_scale == "log" else "linear",
        y_scale="log" if table.y_scale == "log" else "linear",
        x_names=tuple(axis.names[place] for place in order) if axis.is_named else (),
    )


def _courses(
    points: CurvePoints, table: FigureTable, axis: Axis
) -> list[tuple[dict[str, Any], str, list[int]]]:
    """Return for each entry of the series its parameters, its name, and the places of its values of ``x``."""
    places = range(len(axis.numbers))
    if table.series != table.x:
        return [(series, entry, _rising(axis, places)) for series, entry in _entries(points, table)]
    entries = [entry for _, entry in _entries(points, table)]
    return [
        ({}, entry, _rising(axis, [place for place in places if entries[place] == entry]))
        for entry in dict.fromkeys(entries)
    ]


def _rising(axis: Axis, places: Sequence[int]) -> list[int]:
    """Return places of values by their numbers."""
    return sorted(places, key=lambda place: axis.numbers[place])


def _first(points: CurvePoints, table: FigureTable) -> dict[str, Any]:
    """Return the values of the swept parameters but ``x`` where quantities are taken that are drawn once."""
    series = {table.series: points.model.sweep[table.series][0]} if table.series else {}
    return {**points.fixed(table), **series}


def _number_once(points: CurvePoints, table: FigureTable, at: Mapping[str, Any], name: str) -> float:
    """Return a quantity by the first method that has it."""
    numbers = (points.number(at, method, name) for method in table.methods or (None,))
    return next((number for number in numbers if math.isfinite(number)), math.nan)


def _curve(
    points: CurvePoints,
    table: FigureTable,
    axis: Axis,
    x: Any,
    y: Any,
    name: str,
    label: str,
    at: Sequence[Mapping[str, Any]],
    style: int,
) -> list[marks.Mark]:
    """Return the marks of one curve; infinite and missing numbers are gaps."""
    y = np.where(np.isfinite(y), y, math.nan)
    there = np.isfinite(y)
    if not there.any():
        return []
    if name in MEASURED:
        rows = [points.row(point) for point in at]
        error = np.array([SURE * row.measured.get("standard_error", 0.0) if row else 0.0 for row in rows])
        low, high = (y - error)[there], (y + error)[there]
        return [marks.Intervals(x=x[there], y=y[there], low=low, high=high, label=label, series=style)]
    if table.kind == "bars" or (axis.is_named and table.kind != "lines"):
        return [marks.Bars(x=x[there], y=y[there], label=label, series=style)]
    # what was measured has the markers where both are shown, and the value is the line that it lies on
    dots = name != "value" or not any(measured in table.y for measured in MEASURED)
    return [marks.Line(x=x, y=y, gaps=True, dots=dots, label=label, series=style)]


def _entries(points: CurvePoints, table: FigureTable) -> list[tuple[dict[str, Any], str]]:
    """Return the values of the series with their names; one without any where there is no series."""
    if not table.series:
        return [({}, "")]
    values = points.model.sweep[table.series]
    axis = axis_of(table.series, values, table.series_path)
    names = axis.names if axis.is_named else [f"{axis.label} = {text}" for text in axis.names]
    return [({table.series: value}, name) for value, name in zip(values, names, strict=True)]


def _label(points: CurvePoints, table: FigureTable, name: str, method: str | None, entry: str) -> str:
    """Return the name of a curve in the legend: what tells it from the others."""
    parts = []
    if len(table.y) > 1 or not (entry or method):
        parts.append(table.labels.get(name, _name(points, name)))
    if method is not None:
        parts.append(table.labels.get(method, method))
    if entry:
        parts.append(table.labels.get(entry, entry))
    return ", ".join(parts)


def _name(points: CurvePoints, name: str) -> str:
    """Return a quantity in words."""
    if name == "value":
        runs = [row.solution for row in points.rows if row.solution.found]
        if any(not run.claims_optimality for run in runs):
            return "found"
        return "best found" if any(run.gap > 1e-3 * abs(run.value) for run in runs) else "optimum"
    if name == "bound":
        return "proven bound"
    if name in MEASURED:
        return "measured, 95 % intervals"
    return name.replace("_", " ")


def _y_label(points: CurvePoints, table: FigureTable) -> str:
    """Return the axis of a figure that names none."""
    usual = ("value", "bound", *MEASURED)
    if any(name in usual for name in table.y):
        return points.model.problem.value_label()
    return ", ".join(name.replace("_", " ") for name in table.y[:3])


def _surface(points: CurvePoints, table: FigureTable) -> Panel:
    """Return the panel with one quantity over two parameters."""
    from mechdesign.show.figure import Panel

    sweep = points.model.sweep
    across = axis_of(table.x, sweep[table.x], table.x_path)
    up = axis_of(table.series, sweep[table.series], table.series_path)
    if across.is_named or up.is_named:
        name = table.x if across.is_named else table.series
        raise ParameterError("kind", f"a surface needs numbers, and '{name}' has none", "set x_path")
    columns, rows = np.argsort(across.numbers), np.argsort(up.numbers)
    z = [
        [
            points.number(
                {
                    **points.fixed(table),
                    table.x: sweep[table.x][column],
                    table.series: sweep[table.series][row],
                },
                table.methods[0] if table.methods else None,
                table.y[0],
            )
            for column in columns
        ]
        for row in rows
    ]
    label = points.model.problem.value_label() if table.y[0] == "value" else table.y[0].replace("_", " ")
    surface = marks.Surface(
        x=np.asarray(across.numbers)[columns],
        y=np.asarray(up.numbers)[rows],
        z=z,
        label=table.labels.get(table.y[0], label),
    )
    return Panel(table.x_label or across.label, table.y_label or up.label, [surface])


def _over_methods(points: CurvePoints, table: FigureTable) -> Panel:
    """Return the panel with bars for each method."""
    from mechdesign.show.figure import Panel

    text: list[marks.Mark] = []
    for series, entry in _entries(points, table):
        for name in table.y:
            at = {**points.fixed(table), **series}
            y = np.array([points.number(at, method, name) for method in table.methods])
            there = np.isfinite(y)
            if there.any():
                label = _label(points, table, name, None, entry) if len(table.y) > 1 or entry else ""
                text.append(marks.Bars(x=np.flatnonzero(there), y=y[there], label=label))
    for name in table.once:
        number = _number_once(points, table, _first(points, table), name)
        if math.isfinite(number):
            label = table.labels.get(name, _name(points, name))
            text.append(marks.Reference(value=number, label=label))
    if not text:
        raise ParameterError("methods", "none of them applies", "name others")
    names = tuple(table.labels.get(method, method) for method in table.methods)
    return Panel(
        table.x_label or "method",
        table.y_label or _y_label(points, table),
        text,
        x_names=names,
        y_scale="log" if table.y_scale == "log" else "linear",
    )


def _places(points: CurvePoints, solution: Solution, name: str) -> NDArray[np.float64]:
    """Return the list that others are drawn over."""
    try:
        return points.vector(solution, name)
    except UnknownNameError:
        known = suggestion(name, [*points.model.sweep, COUNTED])
        raise UnknownNameError(
            "x", f"'{name}' is neither a parameter of the sweep nor a list of numbers", known
        ) from None


def _over_entries(points: CurvePoints, table: FigureTable) -> Panel:
    """Return the panel with quantities that are lists over another one, or over their number."""
    from mechdesign.show.figure import Panel

    text: list[marks.Mark] = []
    for series, entry in _entries(points, table):
        for method in table.methods or (None,):
            solution = points.solution({**points.fixed(table), **series}, method)
            if solution is None:
                continue
            for name in table.y:
                places = None if table.x == COUNTED else _places(points, solution, table.x)
                y = points.vector(solution, name)
                x = np.arange(len(y)) if places is None else places
                if len(x) != len(y):
                    raise ParameterError(
                        "y", f"'{name}' has {counted(len(y), 'number')}, and '{table.x}' {len(x)}"
                    )
                label = _label(points, table, name, method, entry)
                kind = marks.Bars if table.kind == "bars" else marks.Line
                dots = {} if kind is marks.Bars else {"dots": True, "gaps": True}
                text.append(kind(x=x, y=np.where(np.isfinite(y), y, math.nan), label=label, **dots))
    if not text:
        raise ParameterError("y", "nothing was found to be drawn", "see the output of solve")
    return Panel(
        table.x_label or ("number, from 0" if table.x == COUNTED else table.x.replace("_", " ")),
        table.y_label or ", ".join(name.replace("_", " ") for name in table.y[:3]),
        text,
        x_scale="log" if table.x_scale == "log" else "linear",
        y_scale="log" if table.y_scale == "log" else "linear",
    )


KNOWN = ("value", "bound")
"""Quantities of the method that solved a point, which every table of a sweep has."""


def plotted_quantities(model: Model, rows: Sequence[SweepRow]) -> list[dict[str, Any]]:
    """Return for each point of a sweep the quantities that the model's figures show there, by name.

    A quantity by a method that the figure names is called ``quantity by method``. Points that no figure
    shows have None, and so have those where a method does not apply.

    Parameters
    ----------
    model : Model
    rows : sequence of SweepRow
        What :func:`run_sweep` gave for this model.

    Raises
    ------
    MechDesignError
        When a declared quantity does not exist, naming the model, the figure and the closest names.
    """
    points, values = CurvePoints(model, rows), [dict[str, Any]() for _ in rows]
    for number, table in enumerate(figure_tables(model), 1):
        try:
            for place, row in enumerate(rows):
                _add(points, table, row, values[place])
        except MechDesignError as error:
            raise error.inside(f"{model.slug}: [figure {number}]") from None
    names = list(dict.fromkeys(name for each in values for name in each))
    return [{name: each.get(name) for name in names} for each in values]


def _add(points: CurvePoints, table: FigureTable, row: SweepRow, into: dict[str, Any]) -> None:
    """Add what a figure shows at a point; nothing where it does not lie in the figure."""
    fixed = points.fixed(table)
    if any(row.parameters.get(name) != value for name, value in fixed.items()):
        return
    is_listed = table.x != METHOD and table.x not in points.model.sweep
    names = [*table.y, *table.once]
    if is_listed and table.x != COUNTED:
        names.insert(0, table.x)
    for method in table.methods or (None,):
        for name in names:
            key = name if method is None else f"{name} by {method}"
            is_known = method is None and (name in KNOWN or name in row.measured)
            if key not in into and not is_known:
                into[key] = _quantity(points, row, method, name, is_listed)


def _quantity(points: CurvePoints, row: SweepRow, method: str | None, name: str, is_listed: bool) -> Any:
    if is_listed:
        solution = points.solution(row.parameters, method)
        return None if solution is None else encode(points.quantity(solution, name, row.measured))
    number = points.number(row.parameters, method, name)
    return None if math.isnan(number) else number
