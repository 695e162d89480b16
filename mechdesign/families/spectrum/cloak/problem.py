"""The problem ``spectrum-cloak``: how large the region is in which a channel's owner cannot be found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.fields import POSITIVE, checked, choice, frozen_problem, real
from mechdesign.core.method import Outcome
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array
from mechdesign.families.spectrum.channel_program import coordinate, positive
from mechdesign.families.spectrum.cloak.shapes import SHAPES, Shape
from mechdesign.families.spectrum.cloak_mechanism import SpectrumCloak
from mechdesign.families.spectrum.judging import rounded_down

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
class SpectrumCloakDesign(Problem[SpectrumCloak]):
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

    price: float = checked("k1: cost of a unit of area.", positive, limits=POSITIVE, form="number > 0")
    privacy_cost: float = checked(
        "kp: the owner's loss of privacy is privacy_cost / e.", positive, limits=POSITIVE, form="number > 0"
    )
    radius: float = checked(
        "r0: range that a secondary user requests.", positive, limits=POSITIVE, form="number > 0"
    )
    location_privacy: float = checked(
        "s: a secondary user's privacy radius.", positive, limits=POSITIVE, form="number > 0"
    )
    protection: float = checked(
        "r: the owner's protection radius. It is public.", positive, limits=POSITIVE, form="number > 0"
    )
    density: float = checked(
        "Secondary users per unit of area who ask for the channel.",
        positive,
        limits=POSITIVE,
        form="number > 0",
    )
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

    def slope(self, cell: float) -> float:
        """Return the derivative of the objective, which rises with the length: the objective is convex."""
        cube, square, constant = self.coefficients
        return cube * cell + square - constant / cell**2

    @cached_property
    def coefficients(self) -> tuple[float, float, float]:
        """The a, b, c of the equation a x^3 + b x^2 = c, whose root is the best length without limits."""
        figure = self.figure
        return (
            2.0 * self.density * self.revenue * figure.area,
            self.density * self.moment * figure.perimeter,
            self.privacy_cost / figure.distance,
        )

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The least and the largest length of a cell; no length is allowed where the least is the larger."""
        figure = self.figure
        least = self.least_area if self.region is None else 2.0 * self.least_area
        low = math.sqrt(least / figure.area) * (1.0 + 2.0**-50)  # an area in fractions is not below it either
        if self.region is None:
            return low, math.inf
        width, height = self.region[2] - self.region[0], self.region[3] - self.region[1]
        return low, min(width / figure.width, height / figure.height)

    def mechanism(self, solution: Solution[Any]) -> SpectrumCloak:
        """Return the tiling whose tiles owners register; its audit looks at every tile of the region."""
        if self.shape != "hexagon":
            raise MethodError(
                self.name, "tiles to register are hexagons", "set shape to 'hexagon' to build one"
            )
        cell, least = float(solution.variables["cell"]), self.least_area or None
        return SpectrumCloak(cell, self.protection, area=self.region, least_area=least)

    def objective(self, variables: Variables) -> float:
        """Return the revenue and the privacy that are lost."""
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


def outcome(problem: SpectrumCloakDesign, cell: float, solver: str) -> Outcome:
    """Return a size within the limits, with the bound of the tangent of a convex function.

    Where the slope is g at x and has the other sign at x', or x' is the end of the limits, no value is below
    f(x) - abs(g (x' - x)).
    """
    low, high = problem.limits
    cell = min(max(cell, low), high)
    slope, step = problem.slope(cell), math.ulp(cell)
    while True:
        other = cell + step if slope < 0 else cell / (1.0 + step / cell)
        other = min(max(other, low), high)
        if slope == 0 or other in (low, high) or problem.slope(other) * slope <= 0:
            break
        step *= 2.0
    cube, square, constant = problem.coefficients
    noise = 2.0**-48 * (cube * cell + square + constant / min(cell, other) ** 2)
    bound = problem.cost(cell) - (abs(slope) + noise) * (abs(other - cell) + 64.0 * math.ulp(cell))
    return Outcome(
        status="optimal",
        variables={"cell": cell, "area": problem.figure.area * cell**2},
        bound=rounded_down(bound, problem.cost(cell)),
        bound_source=f"the tangent of a convex function, for cloaks of the shape {problem.shape}",
        solver=solver,
    )


def infeasible(problem: SpectrumCloakDesign, solver: str) -> Outcome | None:
    """Return the outcome ``infeasible`` where no cloak of the least area fits into the region."""
    low, high = problem.limits
    if problem.region is None or low <= high:
        return None
    text = (
        f"no hexagon fits: least_area {problem.least_area:g} needs one of {2.0 * problem.least_area:g}, as "
        "those cut by the edge keep half of it, and the region has room for "
        f"{problem.figure.area * high**2:.4g}; reduce least_area"
    )
    return Outcome(status="infeasible", solver=solver, message=text)
