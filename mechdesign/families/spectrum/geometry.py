"""Exact geometry: convex polygons, and the check that nobody interferes, in rational arithmetic.

A polygon is a sequence of vertices in counterclockwise order. Its area, what a half-plane or a rectangle
leaves of it, and squared distances to it are not rounded.

The check compares distances of positions with sums of radii. Two users keep apart when
d >= s_i + R_i + s_j + R_j, and a user keeps away from the owner when d >= s_j + R_j + protection + widening,
or from convex polygons in which the owner may be anywhere when their distance is at least
s_j + R_j + protection. Distances are square roots; squares of both sides are compared, so nothing is rounded.
Pairs that doubles settle by a wide margin are not computed again in fractions.

Amounts of moderate size, and bounds that rounding cannot break.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range
from mechdesign.core.values import TextInNotebooks

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
    vertices: list[Vertex] = []
    for one, two in pairwise([*polygon, polygon[0]]):
        here, there = (across * x + up * y - most for x, y in (one, two))
        if here <= 0:
            vertices.append(one)
        if (here < 0 < there) or (there < 0 < here):
            part = here / (here - there)
            vertices.append((one[0] + part * (two[0] - one[0]), one[1] + part * (two[1] - one[1])))
    return vertices


def in_rectangle(polygon: Polygon, rectangle: Rectangle) -> list[Vertex]:
    """Return the part of a convex polygon inside a rectangle."""
    one, none = Fraction(1), Fraction(0)
    x_low, y_low, x_high, y_high = rectangle
    part = half_plane(polygon, -one, none, -x_low)
    part = half_plane(part, one, none, x_high)
    part = half_plane(part, none, -one, -y_low)
    return half_plane(part, none, one, y_high)


def common_part(one: Polygon, other: Polygon) -> list[Vertex]:
    """Return the intersection of two convex polygons."""
    part = list(one)
    for (x, y), (x_next, y_next) in pairwise([*other, other[0]]):
        across, up = y_next - y, x - x_next  # outward normal of a counterclockwise side
        part = half_plane(part, across, up, across * x + up * y)
    return part


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


Array = NDArray[np.float64]

MARGIN = 2.0**-40
"""Doubles settle a pair when the sides differ by more than this part: their own error is below 2^-49."""


@dataclass(frozen=True)
class InterferenceAudit(TextInNotebooks):
    """Result of the check of interference.

    Attributes
    ----------
    pairs : int
        How many distances were compared.
    violated : int
        How many of them are too short.
    witness : dict
        The first of those; empty where there is none.
    """

    pairs: int
    violated: int
    witness: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Whether nobody interferes."""
        return not self.violated

    def certificate(self) -> Certificate:
        """Return the check as a certificate of the property ``interference``."""
        figures = {"distances": self.pairs, "violated": self.violated}
        return Certificate("interference", self.holds, True, figures, self.witness)


def audit_interference(
    x: Sequence[float] | Array,
    y: Sequence[float] | Array,
    reach: Sequence[Sequence[float]],
    owner: tuple[float, float] | None = None,
    owner_reach: Sequence[float] = (),
    widening: Sequence[float] | Array | None = None,
    regions: Sequence[Polygon] = (),
    region_reach: Sequence[float] = (),
) -> InterferenceAudit:
    """Check that circles around users, and around the owner of the channel, do not overlap; they may touch.

    Parameters
    ----------
    x, y : (n,) numbers
        Positions of the users that are served.
    reach : n sequences of numbers
        What adds up to each user's circle: its privacy radius and its granted radius.
    owner : (x, y), optional
    owner_reach : sequence of numbers
        What adds up to the owner's circle: its protection radius, a widening.
    widening : (n,) numbers, optional
        A further widening of the owner's circle towards each user.
    regions : sequence of polygons, optional
        Where the owner may be: rational vertices, counterclockwise.
    region_reach : sequence of numbers
        What adds up to the distance to keep from the regions: the protection radius.

    Examples
    --------
    >>> audit_interference([0.0, 3.0], [0.0, 4.0], [[1.0, 1.5], [0.5, 2.0]]).holds  # 5 apart: they touch
    True
    >>> print(audit_interference([0.0, 3.0], [0.0, 4.0], [[1.0, 1.5], [0.5, 2.0000001]]).certificate())
    interference: FAILS (exact); distances = 1, violated = 1; witness users = [0, 1], ...
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sums = [sum(map(Fraction, parts), Fraction(0)) for parts in reach]
    sizes = np.array([float(part) for part in sums])
    pairs, wrong = 0, list[dict[str, Any]]()
    for one in range(len(xs)):
        far = np.hypot(xs[one + 1 :] - xs[one], ys[one + 1 :] - ys[one])
        needed = sizes[one + 1 :] + sizes[one]
        pairs += len(far)
        for offset in np.flatnonzero(far * (1.0 - MARGIN) <= needed).tolist():
            other = one + 1 + offset
            total = sums[one] + sums[other]
            if not _apart((xs[one], ys[one]), (xs[other], ys[other]), total):
                wrong.append({"users": [one, other], "distance": far[offset], "needed": float(total)})
    if owner is not None:
        ring = sum(map(Fraction, owner_reach), Fraction(0))
        for user, size in enumerate(sums):
            total = size + ring + (0 if widening is None else Fraction(float(widening[user])))
            if not _apart((xs[user], ys[user]), owner, total):
                wrong.append({"user": user, "of": "the owner", "needed": float(total)})
        pairs += len(sums)
    ring = sum(map(Fraction, region_reach), Fraction(0))
    for user, size in enumerate(sums):
        place = Fraction(xs[user]), Fraction(ys[user])
        for number, polygon in enumerate(regions):
            if not _away(place, polygon, (size + ring) ** 2):
                wrong.append({"user": user, "of": "the owner", "tile": number, "needed": float(size + ring)})
        pairs += len(regions)
    return InterferenceAudit(pairs, len(wrong), wrong[0] if wrong else {})


def _away(place: Vertex, polygon: Polygon, square: Fraction) -> bool:
    """Return whether a place is far enough from a polygon; most are settled by the box around it."""
    box = Fraction(0)
    for part in (0, 1):
        low, high = min(vertex[part] for vertex in polygon), max(vertex[part] for vertex in polygon)
        box += max(low - place[part], place[part] - high, Fraction(0)) ** 2
    return box >= square or squared_distance_to(place, polygon) >= square


def _apart(first: tuple[float, float], second: tuple[float, float], needed: Fraction) -> bool:
    return squared_distance(first, second) >= needed * needed


def squared_distance(
    first: tuple[float | Fraction, float | Fraction], second: tuple[float | Fraction, float | Fraction]
) -> Fraction:
    """Return the squared distance of two points, exactly.

    Examples
    --------
    >>> squared_distance((0.0, 0.0), (3.0, 4.0))
    Fraction(25, 1)
    """
    across = Fraction(first[0]) - Fraction(second[0])
    up = Fraction(first[1]) - Fraction(second[1])
    return across * across + up * up


FARTHEST = 1e9
"""Coordinates and radii are at most this large: squares and cubes stay far from the ends of doubles."""


def coordinate(field: str, value: Any) -> float:
    """Return a finite coordinate of moderate size."""
    return in_range(field, value, -FARTHEST, FARTHEST)


def positive(field: str, value: Any) -> float:
    """Return a number above 0 of moderate size.

    Examples
    --------
    >>> positive("price", 0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: price: 0 is not positive; give a number above 0
    """
    result = in_range(field, value, -math.inf, math.inf)
    if result <= 0:
        raise ParameterError(field, f"{result:g} is not positive", "give a number above 0")
    return in_range(field, result, 1.0 / FARTHEST, FARTHEST)


def rounded_up(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a bound enlarged by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_up(Fraction(1), 2.0) > 1.0
    True
    """
    return float(bound) + terms * sys.float_info.epsilon * scale


def rounded_down(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a lower bound reduced by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_down(Fraction(1), 2.0) < 1.0
    True
    """
    return rounded_up(bound, -scale, terms)
