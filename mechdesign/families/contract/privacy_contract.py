"""The problem ``privacy-contract``: which privacy to buy from whom, and what to pay for it.

Its figures show epsilon and payment over the types (figures 4.4 and 4.5 of the source), and the menu.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import (
    Generators,
    Kept,
    amount,
    checked,
    choice,
    frozen_problem,
    real,
    related,
    whole,
)
from mechdesign.core.problem import Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.values import Vector
from mechdesign.families.contract.allocation import shadow_prices
from mechdesign.families.contract.incentives import audit_menu
from mechdesign.families.contract.menu import ContractMenu, MenuProblem
from mechdesign.families.contract.population import (
    MOST,
    TYPE_GENERATORS,
    Population,
    checked_amount,
    checked_cost,
    checked_counts,
    checked_floor,
    checked_noise,
    checked_types,
    population,
)

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]

INFORMATION = ("incomplete", "complete")


@frozen_problem(eq=False)
class PrivacyContract(MenuProblem):
    """The best menu of (epsilon, payment) items for buying privacy from users with private preferences.

    ::

        minimize    sum_i counts_i / eps_i^2
        subject to  sum_i counts_i p_i <= budget
                    p_i - theta_i eps_i - s_i >= 0                           individual rationality
                    p_i - theta_i eps_i >= p_j - theta_i eps_j  for all j    incentive compatibility

    With ``target_error`` in place of ``budget`` the total payment is minimised and the error is bounded.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: REAP, problems 4.3.2 and 4.3.7. ``value`` is the thesis's sum; alpha = sqrt(2) gamma
    sqrt(value) / (n sqrt(1 - delta)), eq. (4.1). Types that do not buy have epsilon = payment = 0, and the
    sum is then multiplied by (n / buyers)^2, so that alpha keeps its formula.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.PrivacyContract(types=[1, 2, 3], counts=[100, 100, 100], budget=1000))
    >>> solution.variables["epsilon"].round(6), solution.variables["payment"].round(6)
    (array([1.665528, 1.154813, 0.974007]), array([3.794348, 3.283632, 2.92202 ]))
    """

    name: ClassVar[str] = "privacy-contract"
    example: ClassVar[Mapping[str, Any]] = {
        "types": [1.0, 2.0, 3.0],
        "counts": [100, 100, 100],
        "budget": 1000.0,
    }
    sense: ClassVar[Sense] = "min"
    relaxations: ClassVar[Mapping[str, Any]] = {
        "budget": MOST,
        "target_error": MOST,
        "epsilon_min": 0.0,
        "epsilon_max": None,
        "participation_cost": 0.0,
        "minimum_buyers": None,
    }
    levers: ClassVar[tuple[str, ...]] = ("budget", "target_error", "epsilon_min", "epsilon_max")
    value_name: ClassVar[str] = "sum of the noise's losses"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "menu of privacy levels and payments for users with private preferences"
    generators: ClassVar[Generators] = {"types": TYPE_GENERATORS}

    types: Kept[Array, Vector] = checked(
        "Privacy preferences theta > 0: money per unit of epsilon. Sorted and merged where need be, "
        "with a note.",
        lambda _, types: checked_types(types),
        form="(k,) array",
    )
    counts: Kept[Array | float, Vector | float] = related(
        "Users of each type, >= 0; one number is the users in all, spread equally over the types.",
        lambda problem, _, counts: checked_counts(counts, len(problem.types)),
        form="(k,) array or number",
    )
    budget: float | None = amount(
        "Money for all users together. Exactly one of ``budget`` and ``target_error`` is given.",
        checked_amount,
        default=None,
    )
    information: Literal["incomplete", "complete"] = choice(
        "Whether the types are the users' secret or known.", INFORMATION, default="incomplete"
    )
    data_range: float = amount("Length gamma of the interval the values lie in.", checked_amount, default=1.0)
    confidence: float = real(
        "delta: the average is within alpha of the truth with at least this probability (Chebyshev).",
        low=0.0,
        high=1.0,
        high_open=True,
        form="number in [0, 1)",
        default=0.9,
    )
    noise: str | Mapping[str, Any] = checked(
        "The randomizer; count_i / eps_i^2 becomes count_i V(eps_i) / 8 with V the worst-case "
        "variance on [-1, 1].",
        checked_noise,
        form='{"laplace", "duchi", "piecewise"} or {"epsilon": [...], "variance": [...]}',
        default="laplace",
    )
    target_error: float | None = amount("Target alpha, in units of the data.", checked_amount, default=None)
    epsilon_min: float = checked(
        "Floor and cap of every epsilon that is sold.",
        checked_floor,
        limits={"minimum": 0},
        form="number",
        default=0.0,
    )
    epsilon_max: float | None = amount(
        "Floor and cap of every epsilon that is sold.", checked_amount, form="number", default=None
    )
    participation_cost: Kept[float | Array, float | Vector] = related(
        "s_i: what taking part costs a user apart from privacy.",
        lambda problem, _, cost: checked_cost(cost, len(problem.types)),
        form="number >= 0 or (k,) array",
        default=0.0,
    )
    minimum_buyers: int | None = whole(
        "Minimum number of users who buy. Only the highest types may be excluded, even where types "
        "are known, and the average is then that of the buyers. Without this option all users buy, as in "
        "the thesis.",
        low=1,
        default=None,
    )

    def __attrs_post_init__(self) -> None:
        if (self.budget is None) == (self.target_error is None):
            raise ParameterError("budget", "give either a budget or a target_error, not both and not neither")
        _ = self.population  # settles now that types, counts and costs go together
        self.require_limits()
        if self.minimum_buyers is None:
            return
        if self.minimum_buyers > self.population.users:
            raise ParameterError(
                "minimum_buyers",
                f"{self.minimum_buyers} is more than the {self.population.users:g} users",
                "lower it",
            )
        if np.ptp(self.population.cost) > 0:
            raise ParameterError(
                "minimum_buyers", "needs one participation_cost for all types", "give a number"
            )

    # Data

    @cached_property
    def population(self) -> Population:
        """Types strictly increasing, with users, and notes on what was done to the input."""
        return population(self.types, self.counts, self.participation_cost)

    @property
    def alpha_factor(self) -> float:
        """The factor of sqrt(value) in alpha, eq. (4.1): sqrt(2) gamma / (n sqrt(1 - delta))."""
        return math.sqrt(2.0 / (1.0 - self.confidence)) * self.data_range / self.population.users

    def error_allowed(self) -> float:
        """Return the largest error sum that meets ``target_error``."""
        assert self.target_error is not None
        return (self.target_error / self.alpha_factor) ** 2

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        from mechdesign.families.contract.noise import CONE_FORMS
        from mechdesign.solvers.convex import cone_form

        people, size = self.population, len(self.population.types)
        epsilon, payment = cp.Variable(size, name="epsilon", pos=True), cp.Variable(size, name="payment")
        own = payment - cp.multiply(people.types, epsilon)
        rows = [(own >= people.cost).set_label("individual rationality"), epsilon >= self.limits.low]
        if self.limits.high < math.inf:
            rows.append((epsilon <= self.limits.high).set_label("epsilon_max"))
        if self.information == "incomplete":
            others = np.ones((size, 1)) @ payment[None, :] - people.types[:, None] @ epsilon[None, :]
            rows.append((own[:, None] @ np.ones((1, size)) >= others).set_label("incentive compatibility"))
        function, unit = CONE_FORMS[self.noise_model.name]
        losses, helpers = cone_form(function, epsilon)
        error, paid = people.counts @ losses / unit, people.counts @ payment
        if self.target_error is None:
            return cp.Problem(
                cp.Minimize(error), [*rows, *helpers, (paid <= self.budget).set_label("budget")]
            )
        limit = (error <= self.error_allowed()).set_label("target error")
        return cp.Problem(cp.Minimize(paid), [*rows, *helpers, limit])

    def why_no_statement(self) -> str | None:
        from mechdesign.families.contract.noise import CONE_FORMS

        if self.minimum_buyers is not None:
            return "which types are left out is a choice next to a convex program for each choice"
        if self.noise_model.name not in CONE_FORMS:
            return f"the variance of noise '{self.noise_model.name}' has no cone form"
        return None

    def statement_size(self) -> int:
        size = len(self.population.types)
        return size * (size if self.information == "incomplete" else 2)

    # Judging candidates

    def error(self, epsilon: Array) -> float:
        """Return sum counts loss(eps) over the buyers times (n / buyers)^2; infinite when too few buy."""
        people, buys = self.population, epsilon > 0
        bought = float(people.counts[buys].sum())
        if bought < (people.users if self.minimum_buyers is None else self.minimum_buyers):
            return math.inf
        total = math.fsum(people.counts[buys] * self.noise_model.loss(epsilon[buys]))
        return total if buys.all() else total * (people.users / bought) ** 2

    def cost(self, payment: Array) -> float:
        """Return the payment of all users together."""
        return math.fsum(self.population.counts * payment)

    def value_label(self) -> str:
        return self.value_name if self.target_error is None else "sum of all payments"

    def objective(self, variables: Variables) -> float:
        if self.target_error is None:
            return self.error(np.asarray(variables["epsilon"]))
        return self.cost(np.asarray(variables["payment"]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        epsilon, payment = np.asarray(variables["epsilon"]), np.asarray(variables["payment"])
        people, buys = self.population, epsilon > 0
        utility = np.where(buys, payment - people.types * epsilon - people.cost, payment)
        worst = {"individual_rationality": max(0.0, -float(utility.min()))}
        if self.information == "incomplete":
            worst["incentive_compatibility"] = best_deviation(people, epsilon, payment)
        if self.budget is not None:
            worst["budget"] = max(0.0, self.cost(payment) - self.budget)
        if self.target_error is not None:
            worst["target_error"] = max(
                0.0, self.alpha_factor * math.sqrt(self.error(epsilon)) - self.target_error
            )
        outside = np.maximum(self.limits.low - epsilon[buys], epsilon[buys] - self.limits.high)
        worst["epsilon_limits"] = max(0.0, float(outside.max(initial=0.0)))
        least = people.users if self.minimum_buyers is None else self.minimum_buyers
        lower = np.arange(len(buys)) < np.flatnonzero(buys).max(initial=0)
        worst["buyers"] = max(
            0.0, float(least - people.counts[buys].sum()), float(people.counts[lower & ~buys].sum())
        )
        return worst

    def among(self) -> str:
        conditions = "IR and IC" if self.information == "incomplete" else "IR, types being known"
        limit = "the budget" if self.budget is not None else "the target error"
        return f"all menus, one item per type, that keep {conditions} and {limit}"

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        people, variables = self.population, solution.variables
        incentives = audit_menu(
            people.types,
            people.counts,
            variables["epsilon"],
            variables["payment"],
            self.budget,
            people.cost,
            self.information,
        )
        return (*incentives, self.optimality(solution, unproven={"value": solution.value}))

    def mechanism(self, solution: Solution[Any]) -> ContractMenu:
        people = self.population
        return self.menu(
            solution.variables,
            types=people.types,
            counts=people.counts,
            cost=people.cost,
            budget=self.budget,
            information=self.information,
            objective="error" if self.target_error is None else "payment",
            prices=self.prices(np.asarray(solution.variables["epsilon"])),
        )

    def prices(self, epsilon: Array) -> Array | None:
        """Return the shadow prices that prove the best menu for the buyers of this one optimal."""
        people, buys = self.population, epsilon > 0
        buyers = Population(people.types[buys], people.counts[buys], people.cost[buys])
        error = math.fsum(buyers.counts * self.noise_model.loss(epsilon[buys]))
        multipliers = shadow_prices(
            buyers, self.information, self.noise_model, self.limits, self.budget, error
        )
        if multipliers is None:
            return None
        prices = np.zeros(len(people.types))
        prices[buys] = multipliers
        return prices


def best_deviation(people: Population, epsilon: Array, payment: Array) -> float:
    """Return the largest gain of a type from another's item (in floating point).

    Neighbours suffice where epsilon does not increase: their rows add up to all others.
    """
    if (np.diff(epsilon) <= 0).all() and (epsilon > 0).all():
        own = payment - people.types * epsilon
        next_up = payment[1:] - people.types[:-1] * epsilon[1:] - own[:-1]
        next_down = payment[:-1] - people.types[1:] * epsilon[:-1] - own[1:]
        return max(0.0, float(next_up.max(initial=0.0)), float(next_down.max(initial=0.0)))
    certificates = audit_menu(people.types, people.counts, epsilon, payment, None, people.cost)
    return float(certificates[1].figures["worst_gain"])
