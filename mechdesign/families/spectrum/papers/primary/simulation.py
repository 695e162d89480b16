"""The owner's utility when widenings are drawn, slot after slot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.papers.primary.attack import attack_errors
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary


def simulation(
    problem: SpectrumPrimary, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the mean utility of ``users`` slots, ``repetitions`` times, with exponential widenings.

    ``attack_error`` is the median error of an attacker who locates the owner from eight places, a widening
    drawn for each, ``common_attack_error`` with one for all (section 6.3.2).
    """
    level = float(solution.variables["privacy"])
    drawn = rng.exponential(level, size=users * repetitions)
    radii = np.clip(float(problem.widened.room) - drawn, 0.0, problem.radius)
    paid = problem.factor * radii * (problem.location_privacy + radii) ** 2
    spread = float(np.std(paid, ddof=1)) / math.sqrt(len(paid)) if len(paid) > 1 else math.nan
    return {
        "measured_value": float(np.mean(paid)) - problem.privacy_cost / level,
        "standard_error": spread,
        "attack_error": float(np.median(attack_errors(level, rng))),
        "common_attack_error": float(np.median(attack_errors(level, rng, draw="common"))),
    }
