"""What the source says of ``privacy-contract-continuous``: section 4.4 as printed, and what a menu is worth.

The section is kept with both of its sign errors, for the record. The quantities are what a menu for a density
is worth: predicted error, payment, and how many items differ. The simulation draws users from the density.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.contract.noise import LAPLACE
from mechdesign.families.contract.privacy_contract_continuous import PrivacyContractContinuous, nodes

Array = NDArray[np.float64]


def published(problem: PrivacyContractContinuous) -> Outcome:
    """Evaluate eps = cbrt(2h / (c1 theta h - c1 H - c2)), p = theta eps - integral of eps from low to theta.

    c1 is what spends the budget with the printed payments. The thesis takes c2 from eq. (4.35), which its
    payments break for every c2: the highest type is left with minus the integral of eps. So c2 is 0, as the
    printed conditions have it (lambda_1 vanishes at low, where the state is free), where the root exists,
    and else -c1, with which it exists for every density.
    """
    density = problem.types
    people = problem.population(nodes(density, problem.cells)[1:])
    middles = density.quantile(np.cumsum(people.counts) - 0.5 * people.counts)
    printed, constant = middles - (density.virtual_cost(middles) - middles), 0.0
    if (printed <= 0).any():
        printed, constant = printed + 1.0 / density.pdf(middles), -1.0
    shape = 1.0 / np.cbrt(printed)
    ends = np.concatenate([[density.low], people.types])
    widths = np.diff(ends)
    until = np.cumsum(widths * shape) - 0.5 * widths * shape
    pay = middles * shape - until
    total = math.fsum(people.counts * pay)
    if total <= 0:
        return Outcome(
            "failed", message="the printed payments are negative on the whole; no c1 spends the budget"
        )
    scale = problem.budget / total
    variables = {"types": people.types, "epsilon": _tidy(scale * shape), "payment": _tidy(scale * pay)}
    notes: dict[str, Any] = {"c2_in_c1": constant}
    if (pay < 0).any():
        notes["negative_payments"] = int((pay < 0).sum())
    return Outcome("feasible", variables, solver="formula as printed", notes=notes)


def _tidy(numbers: Array) -> Array:
    """Round down to 2**-40 of the largest, so that what is equal on paper is equal here."""
    unit = 2.0 ** (math.frexp(float(np.abs(numbers).max()))[1] - 40)
    return np.floor(numbers / unit) * unit


def why_not(problem: PrivacyContractContinuous) -> str | None:
    """Return why the section does not apply, or None."""
    if problem.noise_model is not LAPLACE:
        return "the section is about Laplace noise"
    if problem.epsilon_min > 0 or problem.epsilon_max is not None or problem.participation_cost > 0:
        return "the section has no limits of epsilon and no participation cost"
    return None


METHODS = (
    Method("published", PrivacyContractContinuous, "published",
           "section 4.4 as printed, with both sign errors", published, why_not),
)  # fmt: skip


def quantities(problem: PrivacyContractContinuous, solution: Solution[Any]) -> dict[str, Any]:
    """Return alpha for ``users`` users, the payment per user, the number of items, and eq. (4.35).

    ``surplus_of_highest`` is what the highest type keeps, p - theta eps; the thesis sets it to 0.
    """
    types = np.asarray(solution.variables["types"])
    people = problem.population(types)
    epsilon, payment = (np.asarray(solution.variables[name]) for name in ("epsilon", "payment"))
    factor = math.sqrt(2.0 / ((1.0 - problem.confidence) * problem.users)) * problem.data_range
    return {
        "alpha": factor * math.sqrt(solution.value),
        "payment_per_user": math.fsum(people.counts * payment),
        "items": len(np.unique(epsilon)),
        "surplus_of_highest": float(payment[-1] - types[-1] * epsilon[-1]),
    }


def simulation(
    problem: PrivacyContractContinuous,
    solution: Solution[Any],
    users: int,
    repetitions: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return measured error and payments of users whose types are drawn from the density."""
    menu = solution.mechanism()
    values = problem.data_range * rng.beta(2.0, 5.0, size=users)
    errors, paid, outside = [], [], []
    for _ in range(repetitions):
        chosen = menu.choose(np.maximum(problem.types.draw(users, rng), np.finfo(float).tiny))
        reports = menu.randomize(values, chosen, rng=rng)
        errors.append(float(reports.mean()) - float(values[chosen >= 0].mean()))
        paid.append(float(menu.payments(chosen).mean()))
        outside.append(float((chosen < 0).mean()))
    predicted = math.sqrt(2.0 * solution.value / users) * problem.data_range
    return {
        "rmse": float(np.sqrt(np.mean(np.square(errors)))),
        "predicted_rmse": predicted,
        "alpha": predicted / math.sqrt(1.0 - problem.confidence),
        "paid": float(np.mean(paid)),
        "budget_per_user": problem.budget,
        "stayed_out": float(np.mean(outside)),
    }
