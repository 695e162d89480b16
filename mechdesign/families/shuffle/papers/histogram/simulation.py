"""A protocol for histograms on drawn data: the measured error next to the predicted one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.families.shuffle.papers.experiment import measured, normal_categories, require_users
from mechdesign.families.shuffle.papers.histogram.printed import normal_counts
from mechdesign.families.shuffle.tasks import HistogramProtocol


def simulation(
    problem: ShuffleHistogram, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users whose categories are normal around the middle, drawn again each time.

    Returns
    -------
    dict
        ``rmse`` over all categories, and ``predicted_rmse`` for the expected counts.
    """
    require_users(users, problem.users)
    protocol, data = problem.built(solution.variables), []
    for _ in range(repetitions):
        values = normal_categories(users, problem.categories, rng)
        data.append((values, np.bincount(values, minlength=problem.categories)))
    found = {"rmse": measured(protocol, data, rng)}
    if isinstance(protocol, HistogramProtocol):
        squares = protocol.squares_at(normal_counts(users, problem.categories))
        found["predicted_rmse"] = math.sqrt(float(squares.mean()))
    return found
