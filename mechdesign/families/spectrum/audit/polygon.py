"""Convex polygons in rational arithmetic: area, what a half-plane or a rectangle leaves, squared distances.

A polygon is a sequence of vertices in counterclockwise order; nothing here is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

Vertex = tuple[Fraction, Fraction]
Polygon = Sequence[Vertex]
Rectangle = tuple[Fraction, Fraction, Fraction, Fraction]
"""(x_low, y_low, x_high, y_high)."""


def polygon_area(polygon: Polygon) -> Fraction:
    """Return the area of a polygon by its vertices; 0 for fewer than three of them.

    Examples
    --------
    >>> polygon_area([(Fraction(0), Fraction(0)), (Fraction(2), Fraction(0)), (Fraction(0), Fraction(3))])
    Fraction(3, 1)
    """
    if len(polygon) < 3:
        return Fraction(0)
    sides = pairwise([*polygon, polygon[0]])
    return sum((one[0] * two[1] - two[0] * one[1] for one, two in sides), Fraction(0)) / 2


def half_plane(polygon: Polygon, across: Fraction, up: Fraction, most: Fraction) -> list[Vertex]:
    """Return the part of a convex polygon with ``across * x + up * y <= most``.

    Examples
    --------
    >>> square = [(Fraction(x), Fraction(y)) for x, y in ((0, 0), (2, 0), (2, 2), (0, 2))]
    >>> polygon_area(half_plane(square, Fraction(1), Fraction(1), Fraction(1)))
    Fraction(1, 2)
    """
    if not polygon:
        return []
    kept: list[Vertex] = []
    for one, two in pairwise([*polygon, polygon[0]]):
        here, there = (across * x + up * y - most for x, y in (one, two))
        if here <= 0:
            kept.append(one)
        if (here < 0 < there) or (there < 0 < here):
            part = here / (here - there)
            kept.append((one[0] + part * (two[0] - one[0]), one[1] + part * (two[1] - one[1])))
    return kept


def in_rectangle(polygon: Polygon, rectangle: Rectangle) -> list[Vertex]:
    """Return the part of a convex polygon inside a rectangle."""
    one, none = Fraction(1), Fraction(0)
    x_low, y_low, x_high, y_high = rectangle
    kept = half_plane(polygon, -one, none, -x_low)
    kept = half_plane(kept, one, none, x_high)
    kept = half_plane(kept, none, -one, -y_low)
    return half_plane(kept, none, one, y_high)


def common_part(one: Polygon, other: Polygon) -> list[Vertex]:
    """Return the intersection of two convex polygons."""
    kept = list(one)
    for (x, y), (x_next, y_next) in pairwise([*other, other[0]]):
        across, up = y_next - y, x - x_next  # outward normal of a counterclockwise side
        kept = half_plane(kept, across, up, across * x + up * y)
    return kept


def squared_distance_to(point: tuple[Fraction, Fraction], polygon: Polygon) -> Fraction:
    """Return the squared distance from a point to a closed convex polygon; 0 inside.

    Examples
    --------
    >>> square = [(Fraction(x), Fraction(y)) for x, y in ((0, 0), (2, 0), (2, 2), (0, 2))]
    >>> squared_distance_to((Fraction(5), Fraction(6)), square)
    Fraction(25, 1)
    """
    inside, best = True, None
    for one, two in pairwise([*polygon, polygon[0]]):
        along = (two[0] - one[0], two[1] - one[1])
        away = (point[0] - one[0], point[1] - one[1])
        if along[0] * away[1] - along[1] * away[0] < 0:
            inside = False
        length = along[0] ** 2 + along[1] ** 2
        part = min(max((along[0] * away[0] + along[1] * away[1]) / length, Fraction(0)), Fraction(1))
        apart = (away[0] - part * along[0]) ** 2 + (away[1] - part * along[1]) ** 2
        best = apart if best is None else min(best, apart)
    return Fraction(0) if inside or best is None else best
