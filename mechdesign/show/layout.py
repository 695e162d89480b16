"""How texts and legends are laid out in a picture: lines of titles, columns of legends, where bars begin."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence

import numpy as np

from mechdesign.show.figure import Bars, Heat, Intervals, Panel, Reference, Surface

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
