"""A counting protocol on drawn data: the measured error next to the predicted one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.counting.problem import ShuffleCounting
from mechdesign.families.shuffle.papers.experiment import measured, ones_and_zeros, require_users
from mechdesign.families.shuffle.tasks import CountProtocol


def simulation(
    problem: ShuffleCounting, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users of whom a share holds 1, half of them where the problem names none.

    Returns
    -------
    dict
        ``rmse`` and ``predicted_rmse`` on these data.
    """
    require_users(users, problem.users)
    protocol, share = problem.built(solution.variables), 0.5 if problem.ones is None else problem.ones
    values = ones_and_zeros(users, share)
    predicted = protocol.rmse_at(share) if isinstance(protocol, CountProtocol) else protocol.rmse
    data = [(values, int(values.sum()))] * repetitions
    return {"rmse": measured(protocol, data, rng), "predicted_rmse": predicted}
