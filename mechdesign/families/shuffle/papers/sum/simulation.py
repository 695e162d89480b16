"""A protocol for sums on drawn data: the measured error next to the predicted one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.papers.experiment import measured, normal_numbers, require_users
from mechdesign.families.shuffle.papers.sum.printed import normal_rmse
from mechdesign.families.shuffle.sum.problem import ShuffleSum


def simulation(
    problem: ShuffleSum, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users whose numbers are normal around 1/2, drawn again each time.

    Returns
    -------
    dict
        ``rmse``, and ``predicted_rmse`` where it is known for such numbers.
    """
    require_users(users, problem.users)
    protocol, data = problem.built(solution.variables), []
    for _ in range(repetitions):
        values = normal_numbers(users, rng)
        data.append((values, math.fsum(values.tolist())))
    found, predicted = {"rmse": measured(protocol, data, rng)}, normal_rmse(protocol)
    return found if predicted is None else {**found, "predicted_rmse": predicted}
