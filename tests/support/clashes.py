"""What a reader could not read in a drawn figure: texts that leave the picture, or lie on one another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

SLACK = 1.0
"""Pixels that boxes of texts may overlap: they have a margin around the letters."""


def clashes(drawn: Any) -> list[str]:
    """Return the texts that are cut off, and the pairs that overlap."""
    if drawn.stale:  # changed since it was laid out
        drawn.draw_without_rendering()
    renderer = drawn.canvas.get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in _texts(drawn)]
    page = drawn.bbox
    found = [
        f"cut off: {text!r}"
        for text, box in boxes
        if box.x0 < page.x0 - SLACK
        or box.x1 > page.x1 + SLACK
        or box.y0 < page.y0 - SLACK
        or box.y1 > page.y1 + SLACK
    ]
    for (first, one), (second, other) in combinations(boxes, 2):
        if _overlap(one, other):
            found.append(f"overlap: {first!r} and {second!r}")
    return found


def _overlap(one: Bbox, other: Bbox) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(width > SLACK and height > SLACK)


def _texts(drawn: Any) -> list[Text]:
    """Return the texts that are seen: titles, labels, legends, and numbers within an axis."""
    outside = set()
    for axes in drawn.findobj(lambda artist: hasattr(artist, "get_xaxis")):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            margin = 1e-9 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low - margin <= tick.get_loc() <= high + margin:
                    outside |= {id(tick.label1), id(tick.label2)}
    return [
        text
        for text in drawn.findobj(Text)
        if text.get_visible()
        and text.get_text().strip()
        and not isinstance(text, Annotation)
        and text.get_rotation() in (0.0, 90.0)
        and id(text) not in outside
        and not _is_cell(text)
    ]


def _is_cell(text: Text) -> bool:
    """Whether it is a number in a cell of a matrix, which is drawn in the units of the axes."""
    return text.axes is not None and text.get_transform() is text.axes.transData
