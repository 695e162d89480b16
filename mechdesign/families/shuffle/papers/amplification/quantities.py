"""Further numbers of shuffled reports: what is proven and what is attacked at the value, and the gain."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.families.shuffle.enumeration import exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import attacked
from mechdesign.families.shuffle.shuffling import proven_delta


def quantities(problem: ShuffleAmplification, solution: Solution[Any]) -> dict[str, Any]:
    """Return numbers about a solution.

    ``proven_delta`` and ``attacked_delta`` are those at the value, ``exact_delta`` the true one where it can
    be enumerated. ``amplification`` is the local epsilon divided by the central one, ``relative_gap`` the
    part of the value that the attack leaves open, ``honest_users`` how many users are counted on.
    """
    setting, epsilon = problem.setting, problem.objective(solution.variables)
    found: dict[str, Any] = {
        "proven_delta": proven_delta(setting, epsilon),
        "attacked_delta": attacked(setting, epsilon)[0],
        "amplification": problem.local_epsilon / epsilon if epsilon > 0.0 else math.inf,
        "relative_gap": solution.gap / epsilon if epsilon > 0.0 else solution.gap,
        "honest_users": setting.users,
    }
    if why_not_exact(setting) is None:
        found["exact_delta"] = exact_delta(setting, epsilon)
    return found
