"""How texts and legends are laid out in a picture: lines of titles, columns of legends, where bars begin.

The one style of all pictures: what tells series apart in colour, in grey, and on light and dark ground.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechdesign.show.figure import Panel
from mechdesign.show.marks import Bars, Heat, Intervals, Reference, Surface

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
    said = [_shortened(label, ENTRY) for label in labels[:MOST_ENTRIES]]
    return said if len(labels) <= MOST_ENTRIES else [*said[:-1], f"... {len(labels)} in all"]


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


def legend_columns(panel: Panel) -> int:
    """Return the number of columns under a panel; each is as wide as its own longest name."""
    labels = legend_labels(panel)
    for count in range(min(4, len(labels)), 1, -1):
        columns = (max(map(len, column)) + SAMPLE for column in np.array_split(labels, count))
        if sum(columns) <= LEGEND:
            return count
    return 1


def legend_rows(panel: Panel) -> int:
    """Return the number of lines of the legend."""
    return -(-len(legend_labels(panel)) // legend_columns(panel))


def bar_floor(panel: Panel) -> float:
    """Return where bars on a logarithmic axis begin: a power of ten below the least."""
    tops = [float(mark.y.min()) for mark in panel.marks if isinstance(mark, Bars)]
    least = min(
        tops + [mark.value for mark in panel.marks if isinstance(mark, Reference) and mark.axis == "y"]
    )
    return float(10.0 ** math.floor(math.log10(least / 2.0)))


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
