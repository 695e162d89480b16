"""Simulated users: the variance that a category which nobody has is really estimated with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle


def simulation(
    problem: FrequencyOracle, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return users times the measured mean squared error of the last category, which nobody has.

    The others are equally frequent. ``standard_error`` is that of the measured value.
    """
    mechanism = solution.mechanism()
    answers = mechanism.labels.decode(np.arange(users, dtype=np.int64) % (problem.categories - 1))
    squares = [
        users * float(mechanism.estimate(mechanism.randomize(answers, rng=rng)).value[-1]) ** 2
        for _ in range(repetitions)
    ]
    spread = float(np.std(squares, ddof=1)) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    return {"measured_value": float(np.mean(squares)), "standard_error": spread}
