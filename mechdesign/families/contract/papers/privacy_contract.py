"""What the source says of ``privacy-contract``: a theorem as printed, quantities, and a simulation.

Theorem 4.3.12 as printed is right only where virtual costs do not decrease. The quantities are what a menu is
worth: the predicted error, and the cost of not knowing the types. The simulation runs the whole loop on users
who choose, randomize and are paid, and measures what misreporting would have gained.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.contract.allocation import best_within_budget, own_costs, virtual_costs
from mechdesign.families.contract.menu import NOT_BUYING, ContractMenu
from mechdesign.families.contract.noise import LAPLACE
from mechdesign.families.contract.payments import post_within_budget
from mechdesign.families.contract.privacy_contract import PrivacyContract
from mechdesign.families.contract.privacy_contract_methods import outcome_of, rules_of


def published(problem: PrivacyContract) -> Outcome:
    """Evaluate eps_i = G (lambda_i / H_i)^(1/3) and the printed payments.

    The recursion p_i = p_{i+1} + theta_i (eps_i - eps_{i+1}) is the printed sum; it spends the budget
    exactly and makes every type indifferent to the next one, but not to the one before unless epsilon
    decreases.
    """
    assert problem.budget is not None
    people = problem.population
    roots = np.cbrt(virtual_costs(people))
    scale = problem.budget / math.fsum(people.counts * roots * roots)
    posted = post_within_budget(rules_of(problem, people, printed=True), scale / roots, problem.budget)
    if posted is None:
        return Outcome("failed", message="the printed payments do not keep the budget")
    return outcome_of(problem, posted, status="feasible", solver="formula as printed")


def why_not(problem: PrivacyContract) -> str | None:
    """Return why the theorem does not apply, or None."""
    if problem.information == "complete":
        return "the theorem is about incomplete information"
    if problem.budget is None:
        return "the theorem is about a given budget"
    if problem.noise_model is not LAPLACE:
        return "the theorem is about Laplace noise"
    extras = {
        "epsilon_min": problem.epsilon_min > 0,
        "epsilon_max": problem.epsilon_max is not None,
        "participation_cost": bool(problem.population.cost.any()),
        "minimum_buyers": problem.minimum_buyers is not None,
    }
    used = [name for name, present in extras.items() if present]
    return f"the theorem has no {used[0]}" if used else None


METHODS = (
    Method("published", PrivacyContract, "published",
           "theorem 4.3.12 as printed, without the monotonicity it needs", published, why_not),
)  # fmt: skip


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
    values: dict[str, Any] = {
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
        surplus_with_item = payment - people.types[place] * epsilon - people.cost[place]
        values[f"kept_by_{name}"] = np.where(buys, surplus_with_item, 0.0)
    if problem.budget is not None and buys.all():
        values["error_ratio"] = math.sqrt(error / complete_error(problem, problem.budget))
    return values


def complete_error(problem: PrivacyContract, budget: float) -> float:
    """Return the least error when the same users' types are known (nan where the budget is too small)."""
    people, noise, limits = problem.population, problem.noise_model, problem.limits
    left = budget - math.fsum(people.counts * people.cost)
    costs = own_costs(people)
    if left <= 0 or left < limits.low * math.fsum(costs.weights * costs.prices):
        return math.nan
    allocation = best_within_budget(costs, noise, left, limits)
    return math.fsum(costs.weights * noise.loss(allocation.epsilon))


Array = NDArray[np.float64]
Items = NDArray[np.int64]

MAX_CHECKED = 100
"""Types whose every deviation is tried out."""


def simulation(
    problem: PrivacyContract, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the menu on users with private types and skewed values, many times.

    Every user picks the best item for the type it has, randomizes its value at that item's epsilon and is
    paid. Values are the same in every repetition (Beta(2, 5) on the data range), types are dealt
    again in the proportions of the counts.

    Parameters
    ----------
    users : int
        Simulated users; the predictions below are for that many.
    repetitions : int

    Returns
    -------
    dict
        ``rmse`` and ``predicted_rmse`` of the average; ``alpha`` and the share ``exceeded`` of averages
        further
        off than it; ``paid`` per user and the ``budget_per_user`` (where there is one); ``misreport_gain``,
        the
        most any user could have gained by taking another item than the one it chose (exact); ``stayed_out``,
        a share.
    """
    menu = solution.mechanism()
    people = problem.population
    values = problem.data_range * rng.beta(2.0, 5.0, size=users)
    errors, paid, outside, gain = [], [], [], 0.0
    for turn in range(repetitions):
        theta = rng.permutation(_dealt(people.types, people.counts, users))
        chosen = menu.choose(theta)
        buys = chosen != NOT_BUYING
        reports = menu.randomize(values, chosen, rng=rng)
        errors.append(float(reports.mean()) - float(values[buys].mean()))
        paid.append(float(menu.payments(chosen).mean()))
        outside.append(1.0 - float(buys.mean()))
        gain = max(gain, _gain(menu, theta, chosen)) if turn == 0 else gain
    scale = users / people.users
    alpha = menu.alpha() / math.sqrt(scale)
    measured = {
        "rmse": float(np.sqrt(np.mean(np.square(errors)))),
        "predicted_rmse": alpha * math.sqrt(1.0 - problem.confidence),
        "alpha": alpha,
        "exceeded": float(np.mean(np.abs(errors) > alpha)),
        "paid": float(np.mean(paid)),
        "misreport_gain": gain,
        "stayed_out": float(np.mean(outside)),
    }
    if problem.budget is not None:
        measured["budget_per_user"] = problem.budget / people.users
    return measured


def _dealt(types: Array, counts: Array, users: int) -> Array:
    """Return the types of ``users`` users, as near to the proportions of the counts as whole users allow."""
    ends = np.rint(np.cumsum(counts) / counts.sum() * users).astype(np.int64)
    return np.repeat(types, np.diff(ends, prepend=0))


def _gain(menu: ContractMenu, theta: Array, chosen: Items) -> float:
    """Return the most that a user would gain by another item than the chosen one, in rational arithmetic."""
    if menu.terms.information == "complete":
        return 0.0  # there is nothing to report
    people, first = np.unique(theta, return_index=True)
    some = np.unique(np.linspace(0, len(people) - 1, MAX_CHECKED).astype(np.int64))
    items = [(Fraction(level), Fraction(pay)) for level, pay in menu.items.tolist()]
    worst = Fraction(0)
    for person in some.tolist():
        price, own = Fraction(float(people[person])), int(chosen[first[person]])
        if own != NOT_BUYING:
            values = [pay - price * level for level, pay in items]
            worst = max(worst, max(values) - values[own])
    return float(worst)
