"""What pictures of mechanisms share: errors by users, channels, names on axes, several panels.

Pictures of estimates: bars with confidence intervals; tables over two attributes in groups of bars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError, printable
from mechdesign.core.values import Forecast, changed
from mechdesign.show.figure import Bars, Figure, Heat, Intervals, Line, Mark, Panel, Points

Array = NDArray[np.float64]

MOST_NAMES = 40
"""Axes with more names show numbers instead."""

LONGEST_NAME = 24

MOST_PANELS = 6
"""A picture has no more panels."""

MOST_HEAT = 120
"""Channels with more answers or reports are not drawn as cells."""

USERS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Numbers of users that errors are drawn for."""


def forecast_figures(quantity: str, forecast: Callable[[int], Forecast | None]) -> list[Figure]:
    """Return the standard error that is to be expected over the number of users; none where there is none.

    Parameters
    ----------
    quantity : str
        What the mechanism is, for the title.
    forecast : callable
        Of the mechanism.
    """
    forecasts = [(users, _possible(forecast, users)) for users in USERS]
    there = [(users, item) for users, item in forecasts if item is not None and item.largest]
    if len(there) < 2:
        return []
    users = [number for number, _ in there]
    marks: list[Mark] = [Line(x=users, y=[item.largest for _, item in there], label="at most", dots=True)]
    if all(item.typical for _, item in there):
        label = there[0][1].typical_data or "typical"
        marks.append(Line(x=users, y=[item.typical for _, item in there], label=label, dots=True))
    panel = Panel("users", f"standard error ({there[0][1].quantity})", marks, x_scale="log", y_scale="log")
    caption = f"{quantity}: the standard error falls with the square root of the number of users."
    return [Figure("Users needed for a target error", [panel], caption)]


def _possible(forecast: Callable[[int], Forecast | None], users: int) -> Forecast | None:
    """Return the forecast; None where nothing can be estimated, or not from ``users`` users."""
    try:
        result = forecast(users)
    except MechDesignError:
        return None
    usable = (
        result is not None and result.possible and result.users == users
    )  # a protocol is for its own users
    return result if usable else None


def channel_figures(channel: Any, answers: Sequence[str], reports: Sequence[str]) -> list[Figure]:
    """Return a channel as coloured cells, a row for each true answer; nothing of large ones."""
    matrix = np.asarray(channel, dtype=np.float64)
    if max(matrix.shape) > MOST_HEAT:
        return []
    panel = Panel(
        "report",
        "true answer",
        [Heat(values=matrix, label="probability of the report")],
        x_names=axis_names(reports),
        y_names=axis_names(answers),
    )
    return [
        Figure(
            "Effect of the mechanism on an answer", [panel], "Each row is one answer; its entries sum to 1."
        )
    ]


def together(title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Return one figure with the panels of all, each under its own title; none of none."""
    panels = [changed(panel, title=figure.title) for figure in figures for panel in figure.panels]
    return [Figure(title, panels)] if panels else []


def in_pictures(title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Return the panels of all figures in as many pictures as they fill, a few panels each."""
    return [
        picture
        for start in range(0, len(figures), MOST_PANELS)
        for picture in together(title, figures[start : start + MOST_PANELS])
    ]


def axis_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names that fit on an axis: printable and short; none where they are too many.

    Examples
    --------
    >>> axis_names(["no", "a very long answer that nobody reads"])
    ('no', 'a very long answer th...')
    """
    if len(names) > MOST_NAMES:
        return ()
    texts = [printable(name) for name in names]
    return tuple(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..." for text in texts)


Ends = tuple[Any, Any]

ANYTHING = (-np.inf, np.inf)
SHARE = (0.0, 1.0)
"""The numbers that a share can be."""

INTERVAL = "95% confidence interval"
UNBIASED = "95% confidence interval (of the unbiased estimate)"
EXPLAINED = "{} are estimates; the line at each is its {}."
RAW_REPORTS = "share among the randomized reports"

MOVED = (
    "An estimate that is impossible by chance is drawn at the nearest possible number; "
    "tables have it as it is."
)

MOST_GROUPS = 6
"""The most bars side by side over one place."""

MOST_BARS = 60
"""Tables with more cells are drawn with a bar a place."""


def interval_figures(
    title: str,
    names: Sequence[str],
    value: Any,
    interval: Ends,
    x_label: str,
    y_label: str,
    naive: Any = None,
    possible: tuple[Any, Any] = ANYTHING,
    bars: bool = True,
    interval_label: str = INTERVAL,
) -> list[Figure]:
    """Return estimates with their intervals; what the reports would say as they came is faint next to them.

    Parameters
    ----------
    title : str
    names : sequence of str
        What is estimated, one a value.
    value : (n,) array
    interval : (low, high)
        Of the same shape.
    x_label, y_label : str
    naive : (n,) array, optional
        Shares of the reports themselves.
    possible : (low, high)
        The numbers that the truth can be; see :func:`cut_ends`.
    bars : bool
        Whether zero is a natural beginning: so for shares and counts, not so for means.
    interval_label : str
        What the intervals are, in the legend.
    """
    estimates = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    ends = cut_ends(estimates, (np.ravel(interval[0]), np.ravel(interval[1])), possible)
    inside, low, high = within_possible(estimates, ends, possible)
    moved = "" if np.array_equal(inside, estimates, equal_nan=True) else f" {MOVED}"
    estimates = inside
    there = np.isfinite(estimates) & np.isfinite(low) & np.isfinite(high)
    if not there.any():
        return []
    places = np.arange(len(estimates))
    if bars:
        marks = _bars(places[there], estimates[there], low[there], high[there], 0, "estimate", interval_label)
    else:
        label = f"estimate with its {interval_label}"
        marks = [Intervals(places[there], estimates[there], low[there], high[there], label=label)]
    if naive is not None:
        marks.append(Points(x=places, y=naive, label=RAW_REPORTS, faint=True))
    caption = EXPLAINED.format("Bars" if bars else "Points", interval_label) + moved
    return [Figure(title, [Panel(x_label, y_label, marks, x_names=axis_names(names))], caption)]


def table_figures(
    title: str,
    attributes: Sequence[str],
    labels: Sequence[Sequence[str]],
    value: Array,
    interval: Ends | None,
    interval_label: str = INTERVAL,
) -> list[Figure]:
    """Return the shares of a table; over two attributes, bars of the one with fewer values in groups.

    Parameters
    ----------
    title : str
    attributes : sequence of str
    labels : sequence of sequence of str
        The values of each attribute.
    value : array
        One axis an attribute; NaN where there is no estimate.
    interval : (low, high) or None
        Of the same shape.
    interval_label : str
        What the intervals are, in the legend.

    Examples
    --------
    >>> shares = np.array([[0.4, 0.1], [0.3, 0.2]])
    >>> names = [["no", "yes"], ["town", "country"]]
    >>> (figure,) = table_figures("t", ["smokes", "home"], names, shares, None)
    >>> [mark.label for mark in figure.panels[0].marks]
    ['smokes: no', 'smokes: yes']
    """
    ends = None if interval is None else cut_ends(value, interval, SHARE)
    moved = ""
    if ends is not None:
        inside, *ends_inside = within_possible(value, ends, SHARE)
        moved = "" if np.array_equal(inside, value, equal_nan=True) else f" {MOVED}"
        value, ends = inside, (ends_inside[0], ends_inside[1])
    grouped = len(attributes) == 2 and value.size <= MOST_BARS and min(value.shape) <= MOST_GROUPS
    if not grouped:
        names = [", ".join(cell) for cell in product(*labels)]
        label = ", ".join(attributes) if axis_names(names) else "cell"
        if ends is None:
            alone = Bars(x=np.arange(value.size), y=value.ravel(), label="estimate")
            return [Figure(title, [Panel(label, "share", [alone], x_names=axis_names(names))])]
        return [
            changed(figure, caption=figure.caption + moved)
            for figure in interval_figures(
                title, names, value, ends, label, "share", interval_label=interval_label
            )
        ]
    series = int(value.shape[1] < value.shape[0])  # the attribute with fewer values, the first of equals
    other = 1 - series
    kinds = [f"{attributes[series]}: {printable(text)}" for text in labels[series]]
    turned = [np.moveaxis(array, series, 0) for array in (value, *(ends or ()))]
    marks = _grouped(kinds, turned, interval_label)
    if not marks:
        return []
    panel = Panel(attributes[other], "share", marks, x_names=axis_names(labels[other]))
    return [Figure(title, [panel], EXPLAINED.format("Bars", interval_label) + moved if ends else "")]


def _grouped(kinds: Sequence[str], rows: Sequence[Array], interval_label: str) -> list[Mark]:
    """Return bars for each row of shares, with the intervals of the other arrays where there are any."""
    marks: list[Mark] = []
    for number, (kind, *row) in enumerate(zip(kinds, *rows, strict=True)):
        there = np.all(np.isfinite(row), axis=0)
        places = np.flatnonzero(there)
        if not len(places):
            continue
        if len(row) == 1:
            marks.append(Bars(x=places, y=row[0][there], label=kind))
            continue
        shares, low, high = (array[there] for array in row)
        explained = interval_label if number == len(kinds) - 1 else ""
        marks += _bars(places, shares, low, high, number, kind, explained)
    return marks


def cut_ends(value: Any, interval: Ends, possible: tuple[Any, Any]) -> tuple[Array, Array]:
    """Return the ends of intervals, cut off at what is possible where the estimate is possible.

    That loses no coverage: the truth is possible. Where an estimate lies outside, its interval stays whole,
    so that the picture does not show an interval without its estimate.

    Examples
    --------
    >>> low, high = cut_ends([0.01, -0.02], ([-0.01, -0.04], [0.03, 0.0]), (0.0, 1.0))
    >>> low.tolist(), high.tolist()
    ([0.0, -0.04], [0.03, 0.0])
    """
    estimates = np.atleast_1d(np.asarray(value, dtype=np.float64))
    low, high = (
        np.broadcast_to(np.asarray(end, dtype=np.float64).reshape(np.shape(end) or (1,)), estimates.shape)
        for end in interval
    )
    least, most = possible
    fits = (estimates >= least) & (estimates <= most)
    return np.where(fits, np.clip(low, least, most), low), np.where(fits, np.clip(high, least, most), high)


def within_possible(value: Array, interval: Ends, possible: tuple[Any, Any]) -> tuple[Array, Array, Array]:
    """Return estimates and the ends of their intervals, moved to the nearest possible number.

    Pictures show them so; tables have the unbiased estimates.

    Examples
    --------
    >>> parts = within_possible(np.array([-0.02, 0.3]), ([-0.04, 0.2], [0.01, 0.4]), (0.0, 1.0))
    >>> [part.tolist() for part in parts]
    [[0.0, 0.3], [0.0, 0.2], [0.01, 0.4]]
    """
    least, most = possible
    inside, low, high = (np.clip(part, least, most) for part in (value, *interval))
    return inside, low, high


def _bars(
    places: NDArray[np.int64],
    value: Array,
    low: Array,
    high: Array,
    series: int,
    label: str,
    interval_label: str,
) -> list[Mark]:
    """Return bars with lines from one end of their intervals to the other."""
    middle = np.clip(value, low, high)
    return [
        Bars(x=places, y=value, label=label, series=series),
        Intervals(x=places, y=middle, low=low, high=high, label=interval_label, series=series),
    ]
