"""The problem ``spectrum-cloak``: how large the region is in which a channel's owner cannot be found.

A shape of a cloak has an area, a perimeter and a mean distance from the center, each for a cell of length 1.
A polygon is cut into triangles from its center. In the triangle over an edge at distance h, whose ends are at
h t1 and h t2 from the foot of the perpendicular, the integral of the distance from the center is
h^3 / 6 (F(t2) - F(t1)) with F(t) = t sqrt(1 + t^2) + arsinh t: the integral over r of r * r dr up to
h / cos(phi) is h^3 / (3 cos^3 phi), and F / 2 is the integral of 1 / cos^3 in t = tan(phi).

Its methods are those of every best length, in ``length``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.fields import amount, checked, choice, frozen_problem, real
from mechdesign.core.problem import Outcome, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array
from mechdesign.families.spectrum.cloak_mechanism import SpectrumCloak
from mechdesign.families.spectrum.geometry import coordinate, positive, rounded_down
from mechdesign.families.spectrum.length import LengthProblem, Terms
from mechdesign.families.spectrum.tiling import WIDTH
from mechdesign.show.figure import Figure, Line, Panel, Points

if TYPE_CHECKING:
    import cvxpy

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


ROUNDING = 2.0**-40
"""What evaluating a ratio of two losses in doubles may lose, with room to spare."""

LARGEST_AREA = 1e100
"""Larger areas have sums beyond double precision."""


def _corners(field: str, region: Any) -> tuple[float, ...]:
    numbers = finite_array(field, region, 1).tolist()
    if len(numbers) != 4 or not (numbers[0] < numbers[2] and numbers[1] < numbers[3]):
        raise ParameterError(
            field, f"expected [x_low, y_low, x_high, y_high] with low < high, got {numbers}", "correct it"
        )
    return tuple(coordinate(field, number) for number in numbers)


@frozen_problem()
class SpectrumCloakDesign(LengthProblem[SpectrumCloak]):
    """The best area A of the cloak of a channel's owner: the region that its database answers from.

    ::

        minimize  density (A T(radius) + P M) + privacy_cost / e   over the size of the cloak

        T(R) = (price pi / radius) R (s + R)^2,   M = integral of T'(R) (protection + s + R) dR over [0,
        radius]

    P is the perimeter of the cloak and e the mean error of the best guess of a place that is uniform in it.
    The first term is the revenue that is lost against a database that knows the owner's place: all users
    within protection + s + R of the cloak get less than R.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: docs/families/spectrum_cloak.md. ``cell`` is the side of the hexagon or square, or the radius of
    the disc; ``area`` is the area of the cloak. The hexagon is the rational one, with vertices (0, +-1) and
    (+-97/112, +-1/2) times its side. Conflicts between users and users beyond the map's edge are not modeled.
    Where no cloak of the least area fits into the region the status is ``infeasible``.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.SpectrumCloakDesign(
    ...     price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, protection=1.0, density=0.005
    ... )
    >>> solution = md.solve(problem)
    >>> print(round(solution.variables["area"], 4), round(solution.quantities["mean_error"], 4))
    4.7289 0.8203
    """

    name: ClassVar[str] = "spectrum-cloak"
    example: ClassVar[Mapping[str, Any]] = {
        "price": 0.1,
        "privacy_cost": 2.0,
        "radius": 5.0,
        "location_privacy": 0.5,
        "protection": 1.0,
        "density": 0.005,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = (
        "price",
        "privacy_cost",
        "radius",
        "location_privacy",
        "protection",
        "density",
        "least_area",
    )
    compared_with: ClassVar[str] = "all sizes of tiles of this shape"
    value_name: ClassVar[str] = "revenue and privacy lost"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "how large the public tile is in which a channel's owner cannot be found"

    price: float = amount("k1: cost of a unit of area.", positive)
    privacy_cost: float = amount("kp: the owner's loss of privacy is privacy_cost / e.", positive)
    radius: float = amount("r0: range that a secondary user requests.", positive)
    location_privacy: float = amount("s: a secondary user's privacy radius.", positive)
    protection: float = amount("r: the owner's protection radius. It is public.", positive)
    density: float = amount("Secondary users per unit of area who ask for the channel.", positive)
    shape: Literal["hexagon", "square", "disc"] = choice(
        "Of the cloak. Hexagons and squares are tiles of a public map; a disc is drawn once around "
        "the owner.",
        tuple(SHAPES),
        default="hexagon",
    )
    least_area: float = real(
        "The cloak is at least this large.", low=0.0, high=LARGEST_AREA, form="number >= 0", default=0.0
    )
    region: Sequence[float] | None = checked(
        "The map on which the owner may be, for hexagons. One whole hexagon has to fit into it; those "
        "that are cut by its edge to less than half are merged with a neighbor, so a hexagon has at "
        "least twice the least area. Without it the plane.",
        _corners,
        form="[x_low, y_low, x_high, y_high]",
        default=None,
    )

    def __attrs_post_init__(self) -> None:
        if self.region is not None and self.shape != "hexagon":
            raise ParameterError("region", "is for hexagons", f"omit it for the shape '{self.shape}'")

    @cached_property
    def figure(self) -> Shape:
        """The shape with a cell of length 1."""
        return SHAPES[self.shape]

    @cached_property
    def revenue(self) -> float:
        """T(r0): what a user pays who gets the radius that it wants."""
        return self.price * math.pi * (self.location_privacy + self.radius) ** 2

    @cached_property
    def moment(self) -> float:
        """M: by parts (protection + s + r0) T(r0) less the integral of T over [0, r0]."""
        s, r0 = self.location_privacy, self.radius
        area = self.price * math.pi * (s * s * r0 / 2.0 + 2.0 * s * r0**2 / 3.0 + r0**3 / 4.0)
        return (self.protection + s + r0) * self.revenue - area

    def lost(self, area: float, perimeter: float) -> float:
        """Return the revenue that a convex cloak of this area and perimeter costs."""
        return self.density * (area * self.revenue + perimeter * self.moment)

    def cost(self, cell: float) -> float:
        """Return the objective for a cell of this length."""
        figure = self.figure
        privacy = self.privacy_cost / (figure.distance * cell)
        return self.lost(figure.area * cell**2, figure.perimeter * cell) + privacy

    @cached_property
    def terms(self) -> Terms:
        figure = self.figure
        area = self.density * figure.area * self.revenue
        return area, self.density * figure.perimeter * self.moment, self.privacy_cost / figure.distance

    @cached_property
    def cubic(self) -> Terms:
        figure = self.figure
        return (
            2.0 * self.density * self.revenue * figure.area,
            self.density * self.moment * figure.perimeter,
            self.privacy_cost / figure.distance,
        )

    @property
    def start(self) -> float:
        return self.radius

    def slope(self, length: float) -> float:
        cube, square, constant = self.cubic
        return cube * length + square - constant / length**2

    @cached_property
    def limits(self) -> tuple[float, float]:
        figure = self.figure
        least = self.least_area if self.region is None else 2.0 * self.least_area
        low = math.sqrt(least / figure.area) * (1.0 + 2.0**-50)  # an area in fractions is not below it either
        if self.region is None:
            return low, math.inf
        width, height = self.region[2] - self.region[0], self.region[3] - self.region[1]
        return low, min(width / figure.width, height / figure.height)

    def refusal(self, solver: str) -> Outcome | None:
        """Return the outcome ``infeasible`` where no cloak of the least area fits into the region."""
        low, high = self.limits
        if self.region is None or low <= high:
            return None
        text = (
            f"no hexagon fits: least_area {self.least_area:g} needs one of {2.0 * self.least_area:g}, as "
            "those cut by the edge keep half of it, and the region has room for "
            f"{self.figure.area * high**2:.4g}; reduce least_area"
        )
        return Outcome(status="infeasible", solver=solver, message=text)

    def outcome(self, length: float, solver: str) -> Outcome:
        low, high = self.limits
        cell = min(max(length, low), high)
        cost = self.cost(cell)
        return Outcome(
            status="optimal",
            variables={"cell": cell, "area": self.figure.area * cell**2},
            bound=rounded_down(cost - self.error(cell), cost),
            bound_source=f"the tangent of a convex function, for cloaks of the shape {self.shape}",
            solver=solver,
        )

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        cell, figure = cp.Variable(name="cell", pos=True), self.figure
        area, perimeter = figure.area * cp.square(cell), figure.perimeter * cell
        lost = self.density * (area * self.revenue + perimeter * self.moment)
        low, high = self.limits
        rows = [(cell >= low).set_label("least area")]
        rows += [(cell <= high).set_label("region")] if math.isfinite(high) else []
        return cp.Problem(cp.Minimize(lost + self.privacy_cost / figure.distance * cp.inv_pos(cell)), rows)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        return self.outcome(float(values["cell"]), "").variables

    def mechanism(self, solution: Solution[Any]) -> SpectrumCloak:
        """Return the tiling whose tiles owners register; its audit looks at every tile of the region."""
        if self.shape != "hexagon":
            raise MethodError(
                self.name, "tiles to register are hexagons", "set shape to 'hexagon' to build one"
            )
        cell, least = float(solution.variables["cell"]), self.least_area or None
        return SpectrumCloak(cell, self.protection, area=self.region, least_area=least)

    def objective(self, variables: Variables) -> float:
        return self.cost(float(variables["cell"]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much the cell is out of its limits, and the area off that of the cell (relative)."""
        cell, area = float(variables["cell"]), float(variables["area"])
        low, high = self.limits
        true = self.figure.area * cell**2
        return {"cell": max(0.0, low - cell, cell - high), "area": abs(area - true) / true}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return that no other size is better, and how far any database may be below at this area."""
        cost = self.cost(float(solution.variables["cell"]))
        return self.optimality(solution, scale=cost), self.isoperimetry(solution)

    def isoperimetry(self, solution: Solution[Any]) -> Certificate:
        """Return the revenue that every database loses whose posterior density is at most 1 / area.

        The loss of the shape is at most ``roundness`` times that, as P <= roundness times the disc's.
        """
        area, cell = float(solution.variables["area"]), float(solution.variables["cell"])
        own, least = self.lost(area, self.figure.perimeter * cell), self.least_lost(area)
        proven = self.figure.roundness - 1.0
        holds = -ROUNDING <= own / least - 1.0 <= proven + ROUNDING
        figures = {"revenue_lost": own, "any_database": least, "excess": own / least - 1.0, "at_most": proven}
        note = "lower bound for all databases whose posterior density stays below 1 / area"
        return Certificate("isoperimetry", holds, False, figures, note=note)

    def least_lost(self, area: float) -> float:
        """Return the loss of a disc: no database with posterior density at most 1 / area loses less."""
        return self.lost(area, 2.0 * math.sqrt(math.pi * area))


def figures(problem: SpectrumCloakDesign, solution: Solution[Any]) -> list[Figure]:
    """Return the losses around the optimum, and the least revenue lost by any database."""
    best = float(solution.variables["cell"])
    low, high = problem.limits
    cells = np.linspace(max(low, 0.3 * best), min(high, 2.0 * best), 120)
    areas = problem.figure.area * cells**2
    revenue = [
        problem.lost(float(area), problem.figure.perimeter * float(cell))
        for area, cell in zip(areas, cells, strict=True)
    ]
    marks = [
        Line(x=areas, y=[problem.cost(float(cell)) for cell in cells], label="revenue and privacy lost"),
        Line(x=areas, y=revenue, label="revenue lost"),
        Line(x=areas, y=[problem.least_lost(float(area)) for area in areas], label="least of any database"),
        Points(x=[problem.figure.area * best**2], y=[problem.cost(best)], label="best size"),
    ]
    panel = Panel("area of the cloak (units of distance squared)", "money", marks)
    caption = "A larger cloak hides the owner better and closes more of the map to users."
    return [Figure("How large the cloak of an owner is", [panel], caption)]
