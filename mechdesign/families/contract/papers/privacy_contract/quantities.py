"""What a menu is worth: predicted error, and the cost of not knowing the types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.contract.allocation import best_within_budget, own_costs
from mechdesign.families.contract.privacy_contract.problem import PrivacyContract


def quantities(problem: PrivacyContract, solution: Solution[Any]) -> dict[str, Any]:
    """Return alpha, total payment, buyers, users' surplus, and the ratio of errors to full information.

    ``surplus_of_highest`` is what a user of the highest type keeps, ``surplus_spread`` by how much what one
    user keeps differs between types, and ``next_item_gap`` the largest distance from indifference to the
    next item, eq. (4.18). ``kept_by_lowest``, ``kept_by_middle`` and ``kept_by_highest`` are what a user of
    one of these types would keep with the item of each type (figure 4.5); 0 for types that do not buy.
    """
    epsilon = np.asarray(solution.variables["epsilon"])
    payment = np.asarray(solution.variables["payment"])
    people, buys = problem.population, epsilon > 0
    error = problem.error(epsilon)
    surplus = payment - people.types * epsilon - np.where(buys, people.cost, 0.0)
    of_next = payment[1:] - people.types[:-1] * epsilon[1:]
    gaps = np.abs(payment[:-1] - people.types[:-1] * epsilon[:-1] - of_next)
    found: dict[str, Any] = {
        "alpha": problem.alpha_factor * math.sqrt(error),
        "error": error,
        "total_payment": problem.cost(payment),
        "buyers": float(people.counts[buys].sum()),
        "surplus": math.fsum(people.counts * surplus),
        "surplus_of_highest": float(surplus[-1]),
        "surplus_spread": float(np.ptp(surplus)),
        "next_item_gap": float(gaps.max(initial=0.0)),
    }
    for name, place in (("lowest", 0), ("middle", len(people.types) // 2), ("highest", -1)):
        kept = payment - people.types[place] * epsilon - people.cost[place]
        found[f"kept_by_{name}"] = np.where(buys, kept, 0.0)
    if problem.budget is not None and buys.all():
        found["error_ratio"] = math.sqrt(error / complete_error(problem, problem.budget))
    return found


def complete_error(problem: PrivacyContract, budget: float) -> float:
    """Return the least error when the same users' types are known (nan where the budget is too small)."""
    people, noise, limits = problem.population, problem.noise_model, problem.limits
    left = budget - math.fsum(people.counts * people.cost)
    costs = own_costs(people)
    if left <= 0 or left < limits.low * math.fsum(costs.weights * costs.prices):
        return math.nan
    found = best_within_budget(costs, noise, left, limits)
    return math.fsum(costs.weights * noise.loss(found.epsilon))
