"""The menu on simulated users whose types are drawn from the density."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous


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
