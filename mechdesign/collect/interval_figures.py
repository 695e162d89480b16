"""Pictures of estimates: bars with confidence intervals; tables over two attributes in groups of bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.figures import axis_names
from mechdesign.core.printable import printable
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars, Intervals, Mark, Points

Array = NDArray[np.float64]
Ends = tuple[Any, Any]

ANYTHING = (-np.inf, np.inf)
SHARE = (0.0, 1.0)
"""The numbers that a share can be."""

INTERVAL = "95% confidence interval"
UNBIASED = "95% confidence interval (of the unbiased estimate)"
EXPLAINED = "{} are estimates; the line at each is its {}."
RAW_REPORTS = "share among the randomized reports"

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
    said: str = INTERVAL,
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
    said : str
        What the intervals are, in the legend.
    """
    estimates = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    low, high = cut_ends(estimates, (np.ravel(interval[0]), np.ravel(interval[1])), possible)
    there = np.isfinite(estimates) & np.isfinite(low) & np.isfinite(high)
    if not there.any():
        return []
    places = np.arange(len(estimates))
    if bars:
        marks = _bars(places[there], estimates[there], low[there], high[there], 0, "estimate", said)
    else:
        label = f"estimate with its {said}"
        marks = [Intervals(places[there], estimates[there], low[there], high[there], label=label)]
    if naive is not None:
        marks.append(Points(x=places, y=naive, label=RAW_REPORTS, faint=True))
    caption = EXPLAINED.format("Bars" if bars else "Points", said)
    return [Figure(title, [Panel(x_label, y_label, marks, x_names=axis_names(names))], caption)]


def table_figures(
    title: str,
    attributes: Sequence[str],
    labels: Sequence[Sequence[str]],
    value: Array,
    interval: Ends | None,
    said: str = INTERVAL,
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
    said : str
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
    grouped = len(attributes) == 2 and value.size <= MOST_BARS and min(value.shape) <= MOST_GROUPS
    if not grouped:
        names = [", ".join(cell) for cell in product(*labels)]
        label = ", ".join(attributes) if axis_names(names) else "cell"
        if ends is None:
            alone = Bars(x=np.arange(value.size), y=value.ravel(), label="estimate")
            return [Figure(title, [Panel(label, "share", [alone], x_names=axis_names(names))])]
        return interval_figures(title, names, value, ends, label, "share", said=said)
    series = int(value.shape[1] < value.shape[0])  # the attribute with fewer values, the first of equals
    other = 1 - series
    kinds = [f"{attributes[series]}: {printable(text)}" for text in labels[series]]
    turned = [np.moveaxis(array, series, 0) for array in (value, *(ends or ()))]
    marks = _grouped(kinds, turned, said)
    if not marks:
        return []
    panel = Panel(attributes[other], "share", marks, x_names=axis_names(labels[other]))
    return [Figure(title, [panel], EXPLAINED.format("Bars", said) if ends else "")]


def _grouped(kinds: Sequence[str], rows: Sequence[Array], said: str) -> list[Mark]:
    """Return bars for each row of shares, with the intervals of the other arrays where there are any."""
    marks: list[Mark] = []
    for number, (kind, *found) in enumerate(zip(kinds, *rows, strict=True)):
        there = np.all(np.isfinite(found), axis=0)
        places = np.flatnonzero(there)
        if not len(places):
            continue
        if len(found) == 1:
            marks.append(Bars(x=places, y=found[0][there], label=kind))
            continue
        shares, low, high = (array[there] for array in found)
        explained = said if number == len(kinds) - 1 else ""
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


def _bars(
    places: NDArray[np.int64], value: Array, low: Array, high: Array, series: int, label: str, said: str
) -> list[Mark]:
    """Return bars with lines from one end of their intervals to the other."""
    middle = np.clip(value, low, high)
    return [
        Bars(x=places, y=value, label=label, series=series),
        Intervals(x=places, y=middle, low=low, high=high, label=said, series=series),
    ]
