"""What the optimum is worth next to fixed privacy levels, when the widening is drawn, and to an attacker."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mechdesign.core.parameters import replace_parameters
from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.papers.baseline import FIXED_PRIMARY, FIXED_SECONDARY
from mechdesign.families.spectrum.papers.primary.attack import attack_errors
from mechdesign.families.spectrum.papers.primary.printed import printed_slope, stationary_points
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary

DECIMALS = 12
"""An error that is rounding alone is 0 in these."""

SEED, ATTACKS, EXACT_ATTACKS = 1, 100, 20
"""Of the attacks, which are simulated with the same places whatever the widening is."""


def quantities(problem: SpectrumPrimary, solution: Solution[Any]) -> dict[str, Any]:
    """Return the utility at fixed levels, the gain over it, the expected utility, and the attacker's errors.

    ``fixed_utility`` has the owner's widening 1 of section 6.6.1 and the user's privacy radius as given, and
    ``gain`` is how much more the solution has; ``both_fixed_utility`` and ``gain_over_both_fixed`` have the
    user's privacy radius 2 of section 6.6.1, too. ``revenue`` is what the user pays, ``full_payment`` its
    cost (6.5) for all that it wants. ``expected_utility`` is that of the solution when the widening is drawn,
    whatever was maximised. ``printed_slope`` is the derivative of theorem 6.4.6 at the solution,
    ``real_roots`` how many zeros it has, ``stationary_points`` how many of them are admitted.

    Where the widening is drawn there are the median errors of attacks that maximise the likelihood, for L to
    four digits, in units of distance, to twelve decimals:
    ``plain_attack_error`` from four places without a widening, ``common_attack_error`` from four with one
    widening for all, ``attack_error`` from eight with a new widening for each, ``attack_error_of_100`` and
    ``attack_error_of_1000`` from a hundred and a thousand; ``attack_error_constant`` is the last of these in
    units of L / 1000.
    """
    level = float(solution.variables["privacy"])
    fixed = problem.utility(FIXED_PRIMARY)
    both_fixed = replace_parameters(problem, {"location_privacy": FIXED_SECONDARY}).utility(FIXED_PRIMARY)
    real, admitted = stationary_points(problem)
    return {
        "fixed_utility": fixed,
        "gain": solution.value - fixed,
        "both_fixed_utility": both_fixed,
        "gain_over_both_fixed": solution.value - both_fixed,
        "revenue": problem.revenue(level),
        "full_payment": problem.factor * problem.radius * (problem.location_privacy + problem.radius) ** 2,
        "expected_utility": replace_parameters(problem, {"widening": "exponential"}).utility(level),
        "printed_slope": printed_slope(problem, level),
        "real_roots": real,
        "stationary_points": admitted,
        **(attacks(float(f"{level:.4g}")) if problem.widening == "exponential" else {}),
    }


@cache
def attacks(level: float) -> dict[str, float]:
    """Return the attacker's median errors at a mean widening."""

    def median(draw: Any, queries: int) -> float:
        rng, times = np.random.default_rng(SEED), ATTACKS if draw == "each" else EXACT_ATTACKS
        return round(float(np.median(attack_errors(level, rng, queries, times, draw))), DECIMALS)

    of_1000 = median("each", 1000)
    return {
        "plain_attack_error": median("none", 4),
        "common_attack_error": median("common", 4),
        "attack_error": median("each", 8),
        "attack_error_of_100": median("each", 100),
        "attack_error_of_1000": of_1000,
        "attack_error_constant": 1000.0 * of_1000 / level,
    }
