"""The optimal menu in closed form: theorem 4.3.5, and theorem 4.3.12 with ironed virtual costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.noise import LAPLACE
from mechdesign.core.problem import Outcome
from mechdesign.families.contract.allocation import (
    Allocation,
    Costs,
    best_within_budget,
    for_error,
    ironed_costs,
    least_cost,
    least_error,
    own_costs,
)
from mechdesign.families.contract.payments import Posted, Rules, post, post_enough, post_within_budget
from mechdesign.families.contract.population import Population
from mechdesign.families.contract.privacy_contract import PrivacyContract

Array = NDArray[np.float64]

BOUND_SOURCE = "Lagrangian dual with ironed virtual costs"


@dataclass(frozen=True, eq=False)
class SizedMenu:
    """The best menu when exactly the lowest ``size`` types buy, and the bound for that case."""

    size: int
    posted: Posted
    value: float
    bound: float


def rules_of(problem: PrivacyContract, people: Population, printed: bool = False) -> Rules:
    """Return the constraints on the payments of the problem."""
    limits = problem.limits
    return Rules(
        people.types, people.counts, people.cost, problem.information, limits.low, limits.high, printed
    )


def fixed_cost(problem: PrivacyContract, people: Population) -> float:
    """Return the participation costs in the budget: each user's own, or with private types the highest."""
    if problem.information == "complete":
        return math.fsum(people.counts * people.cost)
    return people.users * float(people.cost.max())


def unit_costs(problem: PrivacyContract, people: Population) -> Costs:
    """Return the costs that a unit of epsilon has for each type."""
    return own_costs(people) if problem.information == "complete" else ironed_costs(people)


def _candidate(problem: PrivacyContract, people: Population) -> SizedMenu | None:
    """Return the best menu for exactly these buyers, or None where there is none."""
    return (
        _cheapest(problem, people)
        if problem.budget is None
        else _most_accurate(problem, people, problem.budget)
    )


def _most_accurate(problem: PrivacyContract, people: Population, budget: float) -> SizedMenu | None:
    costs, noise, limits = unit_costs(problem, people), problem.noise_model, problem.limits
    left = budget - fixed_cost(problem, people)
    # A floor that costs just the budget is settled by the exact rounding, hence "less than", not "at most".
    if left <= 0 or left < limits.low * math.fsum(costs.weights * costs.prices) * (1 - 2.0**-40):
        return None
    found: Allocation = best_within_budget(costs, noise, left, limits)
    posted = post_within_budget(rules_of(problem, people), found.epsilon, budget)
    if posted is None:
        return None
    share = (problem.population.users / people.users) ** 2
    bound = share * least_error(costs, noise, left, limits, found.multiplier)
    return SizedMenu(len(people.types), posted, problem.error(padded(problem, posted.epsilon)), bound)


def _cheapest(problem: PrivacyContract, people: Population) -> SizedMenu | None:
    costs, noise, limits = unit_costs(problem, people), problem.noise_model, problem.limits
    allowed = problem.error_allowed() * (people.users / problem.population.users) ** 2
    if people.users * least_loss(problem) > allowed:
        return None
    found = for_error(costs, noise, allowed, limits)

    def enough(epsilon: Array) -> bool:
        return problem.error(padded(problem, epsilon)) <= problem.error_allowed()

    posted = post_enough(rules_of(problem, people), found.epsilon, enough)
    if posted is None:
        return None
    bound = fixed_cost(problem, people) + least_cost(costs, noise, allowed, limits, found.multiplier)
    return SizedMenu(len(people.types), posted, float(posted.total), bound)


def least_loss(problem: PrivacyContract) -> float:
    """Return the loss at the cap of epsilon; 0 where nothing caps it (Laplace's variance tends to 0)."""
    high = problem.limits.high
    return float(problem.noise_model.loss(np.array([high]))[0]) if high < math.inf else 0.0


def padded(problem: PrivacyContract, array: Array) -> Array:
    """Return an array over the buying types with zeros for the others."""
    return np.concatenate([array, np.zeros(len(problem.population.types) - len(array))])


def sizes(problem: PrivacyContract) -> range:
    """Return the possible numbers of types that buy; those are always the lowest types."""
    people = problem.population
    if problem.minimum_buyers is None:
        return range(len(people.types), len(people.types) + 1)
    fewest = int(np.searchsorted(people.cumulative, problem.minimum_buyers)) + 1
    return range(fewest, len(people.types) + 1)


def infeasible(problem: PrivacyContract) -> Outcome:
    """Return an infeasible outcome with the change that would help: the least budget, or the least error."""
    people = problem.population.first(sizes(problem)[0])
    if problem.budget is not None:
        floor = problem.limits.low
        if floor > 0:
            least = _float_up(post(rules_of(problem, people), np.full(len(people.types), floor)).total)
            text = (
                f"budget: {problem.budget:.17g} does not pay for epsilon >= {floor:g}; the "
                f"least budget that does is {least!r}"
            )
            return Outcome("infeasible", message=text, notes={"least_budget": least})
        least = fixed_cost(problem, people)
        text = (
            f"budget: {problem.budget:g} is used up by the participation costs; the budget "
            f"must exceed {least!r}"
        )
        return Outcome("infeasible", message=text, notes={"least_budget": least})
    users = [float(problem.population.counts[:size].sum()) for size in sizes(problem)]
    best = problem.alpha_factor * problem.population.users * math.sqrt(least_loss(problem) / max(users))
    own = problem.limits.high == problem.noise_model.highest
    whose = f"the most that noise '{problem.noise_model.name}' is sold at" if own else "the epsilon_max"
    text = (
        f"target_error: {problem.target_error:g} cannot be had with epsilon at most {problem.limits.high:g}"
        f", {whose}; the least error is {best:.10g}"
    )
    return Outcome("infeasible", message=text, notes={"least_error": best})


def _float_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def outcome_of(problem: PrivacyContract, posted: Posted, **rest: object) -> Outcome:
    """Return an outcome with the variables of a posted menu and the notes on the input."""
    notes = dict(rest.pop("notes", {}))  # type: ignore[call-overload]
    if problem.population.notes:
        notes["input"] = "; ".join(problem.population.notes)
    variables = {
        "epsilon": padded(problem, posted.epsilon),
        "payment": padded(problem, posted.payment),
        "types": problem.population.types,
    }
    return Outcome(variables=variables, notes=notes, **rest)  # type: ignore[arg-type]


def menu_in_closed_form(problem: PrivacyContract) -> Outcome:
    """Solve exactly: iron, allocate, price, round."""
    found = [_candidate(problem, problem.population.first(size)) for size in sizes(problem)]
    menus = [menu for menu in found if menu is not None]
    if not menus:
        return infeasible(problem)
    best = min(menus, key=lambda menu: menu.value)
    notes: dict[str, object] = {}
    if problem.information == "incomplete":
        prices = ironed_costs(problem.population.first(best.size)).prices
        notes["ironed_types"] = int(len(prices) - len(np.unique(prices)))
    solver = "closed form" if problem.noise_model is LAPLACE else "one-dimensional root of the budget"
    bound = min(menu.bound for menu in menus)
    proven = best.value - bound <= problem.optimal_within * best.value
    return outcome_of(
        problem,
        best.posted,
        status="optimal" if proven else "feasible",
        bound=bound,
        message="" if proven else "epsilons of such different sizes do not all fit on one exact grid",
        bound_source=BOUND_SOURCE if problem.information == "incomplete" else "Lagrangian dual",
        solver=solver,
        notes=notes,
    )


def why_not_closed_form(problem: PrivacyContract) -> str | None:
    """Participation costs must be the highest for the highest type."""
    cost = problem.population.cost
    if problem.information == "incomplete" and cost[-1] < cost.max():
        return "participation costs are not the highest for the highest type, so more than one IR row binds"
    return None
