"""Simulated surveys: the utility that reports of people drawn from the prior really have (figures 4, 8)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.collect.kary import KaryResponse
from mechdesign.core.errors import MethodError
from mechdesign.core.solution import Solution
from mechdesign.families.response.randomized_response.problem import RandomizedResponse


def simulation(
    problem: RandomizedResponse,
    solution: Solution[Any],
    users: int,
    repetitions: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return the measured utility of simulated users next to its standard error.

    Raises
    ------
    MethodError
        For a utility that is not a sum over users.
    """
    if not problem.is_linear:
        raise MethodError(
            problem.name, f"'{problem.utility}' is not an average over users", "drop the table 'simulation'"
        )
    mechanism = solution.mechanism()
    table = None if isinstance(mechanism, KaryResponse) else problem.utility_matrix()
    averages = []
    for _ in range(repetitions):
        answers = rng.choice(problem.size, size=users, p=problem.prior)
        names = mechanism.labels.decode(answers)
        reports = mechanism.report_labels.encode(mechanism.randomize(names, rng=rng, anyway=True), "reports")
        gained = (answers == reports) if table is None else table[answers, reports]
        averages.append(float(np.mean(gained)))
    spread = float(np.std(averages, ddof=1)) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    return {"measured_utility": float(np.mean(averages)), "standard_error": spread}
