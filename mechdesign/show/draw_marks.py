"""How each kind of mark is drawn into the axes of matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.show.covered import covered
from mechdesign.show.figure import (
    Band,
    Bars,
    Circles,
    Heat,
    Intervals,
    Line,
    Mark,
    Panel,
    Points,
    Polygon,
    Reference,
    Surface,
    bar_slots,
    on_bars,
    styles,
)
from mechdesign.show.style import INK, Style, beneath, style

BARS = 0.8
"""The part of the distance between two places that bars take together."""

MOST_DOTS = 60
"""Lines through more points have no markers: they would run into one another."""

MOST_CELLS = 144
"""Matrices with more cells show no numbers in them."""

LEVELS = 14

FAINT = "_"
"""The marker of points that are only for comparison: a short stroke."""


def draw_marks(part: Any, axes: Any, panel: Panel) -> None:
    """Draw the marks of a panel in their order; ``part`` is what scales of colours are drawn into."""
    slots, standing = bar_slots(panel), on_bars(panel)
    is_by_places = bool(panel.x_names) or any(isinstance(mark, Bars) for mark in panel.marks)
    for place, (mark, number, depth) in enumerate(
        zip(panel.marks, styles(panel), covered(panel), strict=True)
    ):
        look = beneath(style(number), depth)
        if place in standing:
            look = replace(look, colour=INK, marker="none")
        slot, count = slots.get(place, (0, 1))
        shift = BARS / count * (slot - (count - 1) / 2) if is_by_places else 0.0
        for kind, draw in DRAWN.items():
            if isinstance(mark, kind):
                draw(part, axes, mark, look, (shift, BARS / count))


Slot = tuple[float, float]


def _label(mark: Mark) -> str | None:
    """Return its name in the legend; the underscore keeps matplotlib from listing marks without a name."""
    return mark.label or "_"


def _line(part: Any, axes: Any, mark: Line, look: Style, slot: Slot) -> None:
    dots = mark.dots and len(mark.x) <= MOST_DOTS
    axes.plot(
        mark.x,
        mark.y,
        color=look.colour,
        linestyle=look.dash,
        linewidth=look.width,
        marker=look.marker if dots else None,
        markersize=look.size,
        label=_label(mark),
        zorder=3,
    )


def _points(part: Any, axes: Any, mark: Points, look: Style, slot: Slot) -> None:
    if mark.faint:
        axes.plot(mark.x, mark.y, FAINT, color=INK, alpha=0.45, markersize=16, label=_label(mark), zorder=3)
        return
    axes.plot(
        mark.x,
        mark.y,
        linestyle="none",
        marker=look.marker,
        markersize=9 if mark.open else 6.5,
        markerfacecolor="none" if mark.open else look.colour,
        markeredgecolor=INK if mark.open else look.colour,
        markeredgewidth=1.3 if mark.open else 1.0,
        label=_label(mark),
        zorder=5,
    )
    for x, y, name in zip(mark.x, mark.y, mark.names, strict=False):
        axes.annotate(name, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=9)


def _band(part: Any, axes: Any, mark: Band, look: Style, slot: Slot) -> None:
    axes.fill_between(
        mark.x, mark.low, mark.high, color=look.colour, alpha=0.22, linewidth=0, label=_label(mark)
    )


def _bars(part: Any, axes: Any, mark: Bars, look: Style, slot: Slot) -> None:
    shift, width = slot
    axes.bar(
        mark.x + shift,
        mark.y,
        width,
        color=look.colour,
        edgecolor=INK,
        linewidth=0.6,
        hatch=look.hatch,
        label=_label(mark),
        zorder=2,
    )


def _intervals(part: Any, axes: Any, mark: Intervals, look: Style, slot: Slot) -> None:
    down, up = np.maximum(mark.y - mark.low, 0.0), np.maximum(mark.high - mark.y, 0.0)
    axes.errorbar(
        mark.x + slot[0],
        mark.y,
        yerr=[down, up],
        fmt=look.marker,
        color=look.colour,
        capsize=4,
        elinewidth=1.6,
        markersize=5.5,
        label=_label(mark),
        zorder=4,
    )


def _heat(part: Any, axes: Any, mark: Heat, look: Style, slot: Slot) -> None:
    rows, columns = mark.values.shape
    mesh = axes.pcolormesh(np.arange(columns), np.arange(rows), mark.values, shading="nearest")
    axes.invert_yaxis()
    axes.grid(visible=False)
    _colour_bar(part, axes, mesh, mark.label)
    if mark.values.size <= MOST_CELLS:
        middle = (mark.values.min() + mark.values.max()) / 2
        for (row, column), value in np.ndenumerate(mark.values):
            colour = "black" if value > middle else "white"
            axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=colour, fontsize=8)


def _surface(part: Any, axes: Any, mark: Surface, look: Style, slot: Slot) -> None:
    levels, text = surface_levels(float(mark.z.min()), float(mark.z.max()))
    filled = axes.contourf(mark.x, mark.y, mark.z, levels=levels)
    axes.contour(mark.x, mark.y, mark.z, levels=levels, colors="white", linewidths=0.4, alpha=0.6)
    axes.grid(visible=False)
    _colour_bar(part, axes, filled, mark.label, text)


def surface_levels(low: float, high: float) -> tuple[list[float], list[float]]:
    """Return the levels of a surface, and which of them its scale of colours names.

    They are round numbers between the ends, which are also levels: a scale for shares must not go on to 1.02.

    Examples
    --------
    >>> levels, shown = surface_levels(0.62, 1.0)
    >>> levels[0], levels[-1], [round(level, 9) for level in shown][-2:]
    (0.62, 1.0, [0.9, 1.0])
    """
    if not high > low:
        return [low - 0.5, low + 0.5], [low]
    step = (high - low) / LEVELS
    size = 10.0 ** np.floor(np.log10(step))
    step = size * next(factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= 0.999 * step)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    rounded = step * np.arange(first, last + 1)
    inner = rounded[(rounded > low + 0.01 * step) & (rounded < high - 0.01 * step)]
    return [low, *inner.tolist(), high], rounded[::-2][::-1].tolist()


def _colour_bar(part: Any, axes: Any, coloured: Any, label: str, ticks: Any = None) -> None:
    """Draw the scale of colours, as shapes: matplotlib would put pixels into SVG files."""
    bar = part.colorbar(coloured, ax=axes, label=label, format="%.3g", ticks=ticks)
    bar.solids.set_rasterized(False)
    bar.solids.set_edgecolor("face")


def _polygon(part: Any, axes: Any, mark: Polygon, look: Style, slot: Slot) -> None:
    axes.fill(mark.x, mark.y, facecolor=look.colour, alpha=0.25, linewidth=0, label=_label(mark), zorder=1)
    axes.plot([*mark.x, mark.x[0]], [*mark.y, mark.y[0]], color=look.colour, linewidth=1.4, zorder=2)


def _circles(part: Any, axes: Any, mark: Circles, look: Style, slot: Slot) -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 121)
    for number, (x, y, radius) in enumerate(zip(mark.x, mark.y, mark.radius, strict=True)):
        around = (x + radius * np.cos(angles), y + radius * np.sin(angles))
        label = _label(mark) if number == 0 else "_"
        axes.plot(*around, color=look.colour, linestyle=look.dash, linewidth=1.6, label=label, zorder=3)
        if mark.filled:
            axes.fill(*around, facecolor=look.colour, alpha=0.15, linewidth=0, zorder=1)
    axes.plot(mark.x, mark.y, linestyle="none", marker=look.marker, markersize=4, color=look.colour, zorder=4)
    for x, y, name in zip(mark.x, mark.y, mark.names, strict=False):
        axes.annotate(name, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=9)


def _reference(part: Any, axes: Any, mark: Reference, look: Style, slot: Slot) -> None:
    across = axes.axhline if mark.axis == "y" else axes.axvline
    across(
        mark.value, color=INK, linestyle=look.dash, linewidth=1.1, alpha=0.75, label=_label(mark), zorder=2
    )


DRAWN: dict[type[Mark], Callable[[Any, Any, Any, Style, Slot], None]] = {
    Line: _line,
    Points: _points,
    Band: _band,
    Bars: _bars,
    Intervals: _intervals,
    Heat: _heat,
    Surface: _surface,
    Polygon: _polygon,
    Circles: _circles,
    Reference: _reference,
}
