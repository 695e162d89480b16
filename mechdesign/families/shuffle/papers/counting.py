"""Counting protocols next to their papers: with their constants, by other means, and on drawn data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.counts import ShuffleCounting
from mechdesign.families.shuffle.papers.choosing import (
    figures_of,
    measured,
    ones_and_zeros,
    require_users,
)
from mechdesign.families.shuffle.tasks import CountProtocol


def count_quantities(problem: ShuffleCounting, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is randomized response without a shuffler, ``laplace_rmse`` one Laplace number by a trusted
    server, ``geometric_rmse`` the discrete one; ``over_...`` the value as a multiple of it, of another
    protocol's as well.
    """
    grown, ratio = math.exp(problem.epsilon), math.exp(-problem.epsilon)
    return figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users * grown) / (grown - 1.0),
            "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
            "geometric_rmse": math.sqrt(2.0 * ratio) / (1.0 - ratio),
        },
    )


def count_simulation(
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
