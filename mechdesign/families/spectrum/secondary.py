"""The problem ``spectrum-secondary``: how much location privacy a secondary user takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from mechdesign.collect.codec import checked_area
from mechdesign.core.certificate import Certificate
from mechdesign.core.fields import POSITIVE, checked, frozen_problem, real
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.spectrum import SpectrumUser
from mechdesign.families.spectrum.numbers import positive, rounded_up
from mechdesign.show.figure import Figure, Line, Panel, Points


@frozen_problem()
class SpectrumSecondary(Problem[SpectrumUser]):
    """The best privacy radius L of a user who rents spectrum.

    ::

        maximize  reward pi radius^2 - price pi (L + radius)^2 - privacy_cost / L   over  L > 0

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, problem 6.4.3, eqs. (6.4) to (6.6). The variable ``privacy`` is L, a length.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=1.0, radius=5.0)
    >>> solution = md.solve(problem)
    >>> print(round(solution.variables["privacy"], 6), round(solution.value, 6))
    0.536173 4.21416
    """

    name: ClassVar[str] = "spectrum-secondary"
    example: ClassVar[Mapping[str, Any]] = {"price": 0.1, "reward": 0.2, "privacy_cost": 1.0, "radius": 5.0}
    sense: ClassVar[Sense] = "max"
    levers: ClassVar[tuple[str, ...]] = ("price", "reward", "privacy_cost", "radius")
    value_name: ClassVar[str] = "user's utility"
    summary: ClassVar[str] = "location privacy that a user who rents spectrum chooses"
    compared_with: ClassVar[str] = "all privacy radii L > 0"

    price: float = checked(
        "k1: cost of a unit of area. The privacy circle also costs this.",
        positive,
        limits=POSITIVE,
        form="number > 0",
    )
    reward: float = checked(
        "k2: what a unit of area is worth to the user.", positive, limits=POSITIVE, form="number > 0"
    )
    privacy_cost: float = checked(
        "ks: the loss of privacy is privacy_cost / L.", positive, limits=POSITIVE, form="number > 0"
    )
    radius: float = checked("r0: range that the user requests.", positive, limits=POSITIVE, form="number > 0")
    beta: float = real(
        "In (0, 1): the probability that a report may be farther than L from the true location.",
        low=0.0,
        high=1.0,
        low_open=True,
        high_open=True,
        default=0.05,
    )
    area: Sequence[float] | None = checked(
        "Where users of the client are; by default a square around (0, 0), 40 radii wide or less.",
        lambda _, area: checked_area(area),
        form="(x_low, y_low, x_high, y_high)",
        default=None,
    )

    def mechanism(self, solution: Solution[Any]) -> SpectrumUser:
        """Return the client: exact noise that stays within L of the place, and queries for a database."""
        return SpectrumUser.of(float(solution.variables["privacy"]), self.radius, self.area, self.beta)

    def utility(self, level: float) -> float:
        """Return the user's utility at a privacy radius."""
        income, paid = self.reward * self.radius**2, self.price * (level + self.radius) ** 2
        return math.pi * (income - paid) - self.privacy_cost / level

    def slope(self, level: float) -> float:
        """Return the derivative of the utility."""
        return self.privacy_cost / level**2 - 2.0 * math.pi * self.price * (level + self.radius)

    def objective(self, variables: Variables) -> float:
        """Return the utility."""
        return self.utility(float(variables["privacy"]))

    def objective_scale(self) -> float:
        """Return the size of the terms at the optimum, whose loss of privacy is at most twice their sum."""
        return 4.0 * math.pi * (self.reward + self.price) * self.radius**2 + 8.0 * self._turn()

    def _turn(self) -> float:
        """Return the scale of privacy losses: ks^(2/3) (k1 pi)^(1/3)."""
        return float(self.privacy_cost ** (2.0 / 3.0) * (self.price * math.pi) ** (1.0 / 3.0)) + math.sqrt(
            self.privacy_cost * self.price * math.pi * self.radius
        )

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much L is below 0."""
        return {"privacy": max(0.0, -float(variables["privacy"]))}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return that no other privacy radius is better."""
        return (self.optimality(solution, scale=self.objective_scale()),)


def outcome(problem: SpectrumSecondary, level: float, solver: str) -> Outcome:
    """Return a privacy radius with its bound.

    The utility is strictly concave, so it lies below its tangent: where the slope is g at L and has the other
    sign at L', no value exceeds U(L) + abs(g (L' - L)). A step that changes the sign is found by doubling.
    """
    slope = problem.slope(level)
    step = math.ulp(level)
    while True:
        other = max(level + (step if slope > 0 else -step), level / 2.0)
        if slope == 0 or problem.slope(other) * slope <= 0:
            break
        step *= 2.0
    noise = (
        16.0
        * 2.0**-52
        * (
            problem.privacy_cost / min(level, other) ** 2
            + 2.0 * math.pi * problem.price * (max(level, other) + problem.radius)
        )
    )
    bound = problem.utility(level) + (abs(slope) + noise) * (abs(other - level) + 64.0 * math.ulp(level))
    return Outcome(
        status="optimal",
        variables={"privacy": level},
        bound=rounded_up(bound, problem.objective_scale()),
        bound_source="the tangent of a concave function",
        solver=solver,
    )


def figures(problem: SpectrumSecondary, solution: Solution[Any]) -> list[Figure]:
    """Return the utility around the optimum, which stands out."""
    best = float(solution.variables["privacy"])
    levels = np.linspace(0.3 * best, 2.5 * best, 120)
    marks = [
        Line(x=levels, y=[problem.utility(float(level)) for level in levels], label="utility"),
        Points(x=[best], y=[problem.utility(best)], label="best level"),
    ]
    panel = Panel("location privacy: radius of uncertainty (units of distance)", "user's utility", marks)
    return [
        Figure("Location privacy that a user chooses", [panel], "Too little reveals, too much costs rent.")
    ]
