"""Both ends of ``weekly`` next to what others have there, and a simulation of many weeks.

The quantities are exact fractions of the integer weights that run. The rivals are those of Arcolezi et al.
(2022), k-ary and unary reports in two rounds (L-GRR, L-OSUE), in their closed forms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.weekly import Weekly


def kary_variance(problem: Weekly) -> float:
    """Return n Var of a k-ary response that is kept, and one of it every week (L-GRR).

    With the weekly response as large as the promise for a week allows, which the formula of Arcolezi et al.
    misses for more than two answers, to their disadvantage.
    """
    last, one = problem.spread("answers", problem.categories, 1, np.array([1]))
    return float(problem.mean_of(last, one[0]))


def unary_variance(problem: Weekly) -> float:
    """Return n Var of optimized unary bits that are kept, flipped symmetrically every week (L-OSUE)."""
    both, week = math.exp(problem.epsilon_all), math.exp(problem.epsilon_week)
    own, other = 0.5, 1.0 / (both + 1.0)
    keep = (week * both - 1.0) / (week * both + both - week - 1.0)
    seen = other * keep + (1.0 - other) * (1.0 - keep)
    last = other * (1.0 - other) / (own - other) ** 2
    one = seen * (1.0 - seen) / ((own - other) * (2.0 * keep - 1.0)) ** 2
    return float(problem.mean_of(last, one))


def quantities(problem: Weekly, solution: Solution[Any]) -> dict[str, float]:
    """Return V and V' of what runs, their excess over the bounds, and what rivals have over all weeks."""
    mechanism = solution.mechanism()
    last, one = (float(mechanism.law_variance(weeks)) for weeks in (None, 1))
    least, best_week = problem.bounds()
    return {
        "permanent_variance": last,
        "weekly_variance": one,
        "permanent_excess": last / least - 1.0,
        "weekly_excess": one / best_week - 1.0,
        "kary_variance": kary_variance(problem),
        "unary_variance": unary_variance(problem),
    }


def simulation(
    problem: Weekly, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> float:
    """Return users times the mean squared error of a rare answer over all weeks."""
    mechanism = solution.mechanism()
    errors = []
    for _ in range(repetitions):
        memory = mechanism.remember(np.zeros(users, dtype=np.int64), rng=rng)
        answers = None if problem.distinct == 1 else np.zeros(users, dtype=np.int64)
        tables = [memory.report(answers, rng=rng) for _ in range(problem.weeks)]
        errors.append(float(mechanism.estimate_weeks(tables).value[-1]))
    return users * float(np.mean(np.square(errors)))
