"""The shapes of a cloak: area, perimeter and mean distance from the center, each for a cell of length 1.

A polygon is cut into triangles from its center. In the triangle over an edge at distance h, whose ends are at
h t1 and h t2 from the foot of the perpendicular, the integral of the distance from the center is
h^3 / 6 (F(t2) - F(t1)) with F(t) = t sqrt(1 + t^2) + arsinh t: the integral over r of r * r dr up to
h / cos(phi) is h^3 / (3 cos^3 phi), and F / 2 is the integral of 1 / cos^3 in t = tan(phi).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.families.spectrum.tile import WIDTH

Point = tuple[float, float]


@dataclass(frozen=True)
class Shape:
    """Cost and protection of a cloak of one shape, for a cell of length 1.

    Parameters
    ----------
    area, perimeter : float
    distance : float
        Mean distance between a point of the shape, uniform, and its center: by symmetry and convexity no
        guess is nearer on average.
    width, height : float
        Of the box around it.
    """

    area: float
    perimeter: float
    distance: float
    width: float
    height: float

    @property
    def roundness(self) -> float:
        """The perimeter as a multiple of that of a disc of the same area: 1 for a disc, more for all else."""
        return self.perimeter / (2.0 * math.sqrt(math.pi * self.area))


def polygon(corners: Sequence[Point]) -> Shape:
    """Return the figures of a convex polygon around the origin, which is its center of symmetry.

    Examples
    --------
    >>> square = polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    >>> square.area, square.perimeter, round(square.distance, 6)
    (1.0, 4.0, 0.382598)
    """
    area = perimeter = distance = 0.0
    for (x, y), (u, v) in zip(corners, [*corners[1:], corners[0]], strict=True):
        length = math.hypot(u - x, v - y)
        height = (x * v - y * u) / length
        first, last = ((a * (u - x) + b * (v - y)) / (length * height) for a, b in ((x, y), (u, v)))
        area += height * length / 2.0
        perimeter += length
        distance += height**3 / 6.0 * (_secants(last) - _secants(first))
    width, height = (max(values) - min(values) for values in zip(*corners, strict=True))
    return Shape(area, perimeter, distance / area, width, height)


def _secants(t: float) -> float:
    return t * math.sqrt(1.0 + t * t) + math.asinh(t)


def hexagon(half_width: float = float(WIDTH)) -> Shape:
    """Return the hexagon with vertices (0, +-1) and (+-half_width, +-1/2)."""
    w = half_width
    return polygon([(0.0, -1.0), (w, -0.5), (w, 0.5), (0.0, 1.0), (-w, 0.5), (-w, -0.5)])


SHAPES = {
    "hexagon": hexagon(),
    "square": polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]),
    "disc": Shape(math.pi, 2.0 * math.pi, 2.0 / 3.0, 2.0, 2.0),
}
"""The length of a cell is the side of a hexagon or a square, and the radius of a disc."""
