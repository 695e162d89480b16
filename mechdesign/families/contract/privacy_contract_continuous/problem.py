"""The problem ``privacy-contract-continuous``: privacy preferences with a density."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.incentives import audit_menu
from mechdesign.collect.noise import NumberNoise, noise_of
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import POSITIVE, checked, frozen_problem, real, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS
from mechdesign.families.contract.allocation import EpsilonLimits
from mechdesign.families.contract.menu import ContractMenu, Terms
from mechdesign.families.contract.population import Population, checked_amount, checked_floor, checked_noise
from mechdesign.families.contract.privacy_contract.problem import best_deviation
from mechdesign.families.contract.privacy_contract_continuous.curve import ironed_virtual_cost
from mechdesign.families.contract.privacy_contract_continuous.densities import Density, density_of

Array = NDArray[np.float64]


def _density(field: str, value: Any) -> Any:
    density_of(value)
    return value


@frozen_problem(eq=False)
class PrivacyContractContinuous(Problem[ContractMenu]):
    """The best menu when preferences have a density h with cdf H on [low, high].

    minimize    integral of h / eps^2
    subject to  integral of h p <= budget,  IR and IC for every pair of types

    The variables are a menu that can be posted: types theta_1 < ... < theta_m = high with one item each,
    meant
    for all users between the type before and this one. Such a menu is feasible for the continuum, so its
    value is also one.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: REAP section 4.4, with the signs corrected: eps = G v^(-1/3), v = theta + H/h ironed,
    p(theta) = theta eps + integral of eps from theta to high.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContractContinuous(density={"name": "uniform", "low": 5, "high": 15}, budget=5)
    >>> exact = (0.03 * (25 ** (5 / 3) - 5 ** (5 / 3))) ** 3 / 25  # v = 2 theta - 5
    >>> abs(md.solve(problem).value / exact - 1) < 1e-6
    True
    """

    name: ClassVar[str] = "privacy-contract-continuous"
    example: ClassVar[Mapping[str, Any]] = {
        "density": {"name": "uniform", "low": 5.0, "high": 15.0},
        "budget": 5.0,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("budget",)
    value_name: ClassVar[str] = "mean loss of a user"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "menu of privacy levels and payments for preferences with a density"
    compared_with: ClassVar[str] = "all menus for this density that keep IR, IC and the budget"
    optimal_within: ClassVar[float] = 1e-4
    """A menu is optimal for the continuum when having finitely many items costs less than this part."""

    density: Mapping[str, Any] = checked(
        '``{name = "uniform", low, high}``, ``{name = "truncated-normal", low, high, mean, '
        'deviation}``, ``{name = "beta", a, b, low, high}``, ``{name = "histogram", edges, shares}`` '
        'or ``{name = "empirical", sample, method = "histogram" / "kernel", bins, bandwidth}``.',
        _density,
        form="mapping",
    )
    budget: float = checked("Money per user.", checked_amount, limits=POSITIVE, form="number > 0")
    data_range: float = checked(
        "As those of ``privacy-contract``.", checked_amount, limits=POSITIVE, form="", default=1.0
    )
    confidence: float = real(
        "As those of ``privacy-contract``.", low=0.0, high=1.0, high_open=True, form="", default=0.9
    )
    noise: str | Mapping[str, Any] = checked(
        "As those of ``privacy-contract``.", checked_noise, form="", default="laplace"
    )
    epsilon_min: float = checked(
        "As those of ``privacy-contract``.", checked_floor, limits={"minimum": 0}, form="", default=0.0
    )
    epsilon_max: float | None = checked(
        "As those of ``privacy-contract``.", checked_amount, limits=POSITIVE, form="", default=None
    )
    participation_cost: float = checked(
        "What taking part costs a user besides privacy.",
        checked_floor,
        limits={"minimum": 0},
        form="number >= 0",
        default=0.0,
    )
    users: int = whole(
        "Number of users of the predicted error and the menu.", low=1, high=MOST_USERS, default=1000
    )
    cells: int = whole(
        "Approximate number of items of the menu; the value tends to the continuum's as their number grows.",
        low=2,
        high=1_000_000,
        default=1000,
    )

    def __attrs_post_init__(self) -> None:
        if self.limits.low > self.limits.high:
            raise ParameterError(
                "epsilon_max",
                f"{self.limits.high:g} is below the floor {self.limits.low:g}",
                "raise it or lower epsilon_min",
            )
        _ = self.types

    @cached_property
    def types(self) -> Density:
        """The density as an object."""
        return density_of(self.density)

    @cached_property
    def noise_model(self) -> NumberNoise:
        """The noise as an object."""
        return noise_of(self.noise)

    @property
    def limits(self) -> EpsilonLimits:
        """Floor and cap of epsilon, those of the noise included."""
        high = math.inf if self.epsilon_max is None else self.epsilon_max
        return EpsilonLimits(
            max(self.epsilon_min, self.noise_model.lowest), min(high, self.noise_model.highest)
        )

    def ironed_virtual_cost(self, theta: Any) -> Array:
        """Return the ironed virtual cost at any types."""
        return ironed_virtual_cost(self.types, np.asarray(theta, dtype=np.float64))

    def population(self, upper: Array) -> Population:
        """Return the shares of users between neighbouring types, each counted at its upper end."""
        shares = np.diff(self.types.cdf(upper), prepend=0.0)
        kept = shares > 0
        return Population(upper[kept], shares[kept], np.full(int(kept.sum()), self.participation_cost))

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return sum of share * loss(epsilon) over the items."""
        people = self.population(np.asarray(variables["types"]))
        return math.fsum(people.counts * self.noise_model.loss(np.asarray(variables["epsilon"])))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violation of each group of constraints (in floating point)."""
        epsilon, payment = np.asarray(variables["epsilon"]), np.asarray(variables["payment"])
        people = self.population(np.asarray(variables["types"]))
        utility = payment - people.types * epsilon - people.cost
        outside = np.maximum(self.limits.low - epsilon, epsilon - self.limits.high)
        return {
            "individual_rationality": max(0.0, -float(utility.min())),
            "incentive_compatibility": best_deviation(people, epsilon, payment),
            "budget": max(0.0, math.fsum(people.counts * payment) - self.budget),
            "epsilon_limits": max(0.0, float(outside.max())),
            "coverage": self.types.high - float(people.types[-1]),
        }

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return IR, IC, budget and monotonicity, exact, and optimality for the continuum."""
        variables = solution.variables
        people = self.population(np.asarray(variables["types"]))
        incentives = audit_menu(
            people.types, people.counts, variables["epsilon"], variables["payment"], self.budget, people.cost
        )
        return (*incentives, self.optimality(solution, unproven={"value": solution.value}))

    def mechanism(self, solution: Solution[Any]) -> ContractMenu:
        """Return the menu for ``users`` users; refused when its exact audit fails."""
        people = self.population(np.asarray(solution.variables["types"]))
        terms = Terms(
            types=people.types,
            counts=np.array([_times_down(share, self.users) for share in people.counts.tolist()]),
            cost=people.cost,
            budget=_times_down(self.budget, self.users),
            data_range=self.data_range,
            confidence=self.confidence,
            noise=self.noise,
            epsilon_min=self.limits.low,
            epsilon_max=None if self.limits.high == math.inf else self.limits.high,
        )
        return ContractMenu(solution.variables["epsilon"], solution.variables["payment"], terms)


def _times_down(number: float, count: int) -> float:
    """Return number * count rounded down, so that a budget kept per user is kept for all of them."""
    product = number * count
    return product if Fraction(product) <= Fraction(number) * count else math.nextafter(product, 0.0)
