"""Each kind of mark in the axes of matplotlib, in the one style of all pictures, and lines of texts.

The style tells series apart in colour, in grey, and on light and dark ground. Curves that lie under later
ones are drawn wider, to be seen around them.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    Scale,
    Surface,
    bar_slots,
    on_bars,
    styles,
)

INK = "#010203"
"""The colour of text, axes and level lines; SVG files have ``currentColor`` in its place."""


@dataclass(frozen=True)
class Style:
    """Look of one series: dash, marker and hatch tell it apart without colors."""

    colour: str
    dash: Any
    marker: str
    hatch: str
    width: float = 1.8
    size: float = 5.5


STYLES = (
    Style("#0072b2", "solid", "o", ""),
    Style("#d55e00", (0, (6, 2)), "s", "///"),
    Style("#009e73", (0, (2, 1.5)), "^", "..."),
    Style("#cc79a7", (0, (7, 2, 1.5, 2)), "D", "\\\\\\"),
    Style("#e69f00", (0, (1, 1)), "v", "xxx"),
    Style("#56b4e9", (0, (10, 3)), "P", "---"),
    Style("#8c8c8c", (0, (4, 1.5, 1, 1.5, 1, 1.5)), "X", "+++"),
)
"""Okabe and Ito's colours that can be told apart on white and on black, and a grey; see :func:`style`."""

SCALE = "cividis"
"""Colours of surfaces and cells: even steps of lightness, the same for all readers."""

PANEL = (6.0, 4.0)
"""Inches of a panel, without its legend."""

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.6,
    "figure.titlesize": 12.0,
    "lines.linewidth": Style.width,
    "lines.markersize": Style.size,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "legend.handlelength": 3.2,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "image.cmap": SCALE,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "mechdesign",
    **{
        name: INK
        for name in (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "axes.titlecolor",
            "xtick.color",
            "xtick.labelcolor",
            "ytick.color",
            "ytick.labelcolor",
            "grid.color",
            "hatch.color",
        )
    },
}
"""Matplotlib's settings while a picture is drawn; what the user has set otherwise does not matter."""


def style(number: int) -> Style:
    """Return the style of a number: after the seventh colours begin again, with other dashes and markers.

    Examples
    --------
    >>> style(0).colour == style(7).colour, style(0).dash == style(7).dash
    (True, False)
    """
    count = len(STYLES)
    own, other = STYLES[number % count], STYLES[(number + number // count) % count]
    return Style(own.colour, other.dash, other.marker, other.hatch)


def beneath(look: Style, depth: int) -> Style:
    """Return the style of a curve with ``depth`` others on it: wider, so that its rim is seen around them.

    Examples
    --------
    >>> style(0) == beneath(style(0), 0), beneath(style(0), 1).size > style(0).size
    (True, True)
    """
    return replace(look, width=look.width + 2.2 * depth, size=look.size + 4.0 * depth)


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
    lines = [getattr(mark, axis) for mark in panel.marks if isinstance(mark, Line)]
    values = np.concatenate([numbers[np.isfinite(numbers)] for numbers in lines]) if lines else np.zeros(0)
    return float(np.ptp(_scaled(values, scale))) or 1.0 if len(values) else 1.0


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


def _points_draw_marks(part: Any, axes: Any, mark: Points, look: Style, slot: Slot) -> None:
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
    Points: _points_draw_marks,
    Band: _band,
    Bars: _bars,
    Intervals: _intervals,
    Heat: _heat,
    Surface: _surface,
    Polygon: _polygon,
    Circles: _circles,
    Reference: _reference,
}


LEGEND = 80
"""Letters in a line of a legend under one panel."""

SAMPLE = 9
"""Letters in whose place the sample of a line stands, with the space around it."""

LINES, ENTRY, NAME, MOST_NAMES, MOST_ENTRIES = 4, 70, 40, 40, 40
"""Lines of a title or a label, letters of an entry of the legend and of a place on an axis, how many of each:
what is longer would leave no room for the picture. Screen readers are told all of the title."""


def even_lines(text: str, width: int) -> list[str]:
    """Return a text in as few lines as the width allows, which are about as long as one another.

    Beyond a few lines the rest is left out.

    Examples
    --------
    >>> even_lines("Order times noise error by the size of a view (figure 3.3)", 54)
    ['Order times noise error by the', 'size of a view (figure 3.3)']
    """
    whole = re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NO-BREAK SPACE}", text)  # 10 000 is one word
    lines = textwrap.wrap(whole[: 2 * LINES * width], width)
    if len(lines) > LINES:
        return textwrap.wrap(whole[: 2 * LINES * width], width, max_lines=LINES, placeholder=" ...")
    while width > 1 and len(narrower := textwrap.wrap(whole, width - 1)) == len(lines):
        lines, width = narrower, width - 1
    return lines


def legend_labels(panel: Panel) -> list[str]:
    """Return the names in the legend of a panel, in its order; scales of colours bear their own."""
    named = [mark for mark in panel.marks if mark.label and not isinstance(mark, (Heat, Surface))]
    # matplotlib lists bars and intervals last, as they are drawn from several parts
    ordered = sorted(named, key=lambda mark: isinstance(mark, (Bars, Intervals)))
    return entries([mark.label for mark in ordered])


def entries(labels: Sequence[str]) -> list[str]:
    """Return the entries of a legend for these labels: each shortened, and of very many the first.

    Examples
    --------
    >>> entries(["optimum", "bound"]), entries(["a"] * 41)[-1]
    (['optimum', 'bound'], '... 41 in all')
    """
    texts = [_shortened(label, ENTRY) for label in labels[:MOST_ENTRIES]]
    return texts if len(labels) <= MOST_ENTRIES else [*texts[:-1], f"... {len(labels)} in all"]


def _shortened(text: str, most: int) -> str:
    """Return the text, cut to at most ``most`` letters.

    Examples
    --------
    >>> _shortened("randomized", 8)
    'rando...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def named_places(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the named positions of an axis and their names: all of them, or some at even distances.

    Examples
    --------
    >>> named_places(["no", "yes"]), named_places(["x"] * 80)[0][:3]
    (([0, 1], ['no', 'yes']), [0, 2, 4])
    """
    places = list(range(0, len(names), -(-len(names) // MOST_NAMES)))
    return places, [_shortened(names[place], NAME) for place in places]


def legend_columns(panel: Panel, part: float = 1.0) -> int:
    """Return the number of columns under a panel; each is as wide as its own longest name."""
    labels = legend_labels(panel)
    for count in range(min(4, len(labels)), 1, -1):
        columns = (max(map(len, column)) + SAMPLE for column in np.array_split(labels, count))
        if sum(columns) <= part * LEGEND:
            return count
    return 1


def legend_rows(panel: Panel, part: float = 1.0) -> int:
    """Return the number of lines of the legend."""
    return -(-len(legend_labels(panel)) // legend_columns(panel, part))


def bar_floor(panel: Panel) -> float:
    """Return where bars on a logarithmic axis begin: a power of ten below the least."""
    tops = [float(mark.y.min()) for mark in panel.marks if isinstance(mark, Bars)]
    least = min(
        tops + [mark.value for mark in panel.marks if isinstance(mark, Reference) and mark.axis == "y"]
    )
    return float(10.0 ** math.floor(math.log10(least / 2.0)))
