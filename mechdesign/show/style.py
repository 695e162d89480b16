"""The one style of all pictures: what tells series apart in colour, in grey, and on light and dark ground."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
