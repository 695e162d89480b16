"""Closed forms for ``shuffle-amplification``, formulas that are no bounds, and numbers that claims may name.

The last two methods are never a default, and not counted for agreement. Theorem 2 of the survey is an O(...)
read with the constant 1: no theorem, and refuted by an attack. The "variation ratio" of k-ary response is no
bound either (docs/families/shuffle.md): C ~ Bin(n-1, 2a) others report one of two values, A ~ Bin(C, 1/2) of
them the first; the victim adds one to the first with probability E a, to the second with a, to neither else;
a = 1/(E + k - 1), E = e^eps0. The formula is the divergence of (A, C - A) with the victim from that with the
two values exchanged. It forgets that the other reports of the victim are seen as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.amplification import (
    ShuffleAmplification,
    proven_delta,
)
from mechdesign.families.shuffle.enumeration import exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import attacked, least_epsilon
from mechdesign.families.shuffle.papers.theorems import (
    Answer,
    Theorem,
    TheoremSetting,
    theorem_method,
    theorem_methods,
)


def theorem_2_epsilon(case: TheoremSetting, local: float) -> Answer:
    """Return min(1, local) e^local sqrt(ln(1/delta) / n), or why it does not apply."""
    logarithm = math.log(1.0 / case.delta)
    if logarithm >= case.users:
        return f"its range is ln(1/delta) < n, not {logarithm:.4g} and {case.users}"
    largest = math.log(case.users / logarithm) / 2.0
    if local > largest:
        return f"its range is local epsilon <= ln(n / ln(1/delta)) / 2 = {largest:.4g}, not {local:g}"
    return min(1.0, local) * math.exp(local) * math.sqrt(logarithm / case.users)


def _of_all_randomizers(case: TheoremSetting) -> None:
    """Return None: it is about every randomizer."""


THEOREM_2 = Theorem(
    "theorem-2",
    "published",
    "theorem 2 of the survey: asymptotic, O(...) read with the constant 1, which is not a theorem",
    _of_all_randomizers,
    theorem_2_epsilon,
)


Doubles = NDArray[np.float64]

MOST_USERS = 10**8
"""The most users for whom it is evaluated."""

SPREAD = 9.0
"""How many standard deviations of C are summed."""


def variation_ratio(users: int, local_epsilon: float, size: int) -> Callable[[float], float]:
    """Return the formula: delta as a function of the central epsilon, in doubles.

    Examples
    --------
    >>> delta = variation_ratio(4, math.log(3.0), 3)(math.log(2.0))
    >>> round(delta * 625, 9)  # 33/625 is true
    27.0
    """
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    grown = math.exp(local_epsilon)
    each = 1.0 / (grown + size - 1.0)
    rest = (size - 2) * each
    others, chance = users - 1, 2.0 * each
    mean, reach = others * chance, SPREAD * math.sqrt(others * chance * (1.0 - chance)) + 40.0
    c = np.arange(
        max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach)) + 1, dtype=np.float64
    )
    logarithm = gammaln(others + 1.0) - gammaln(c + 1.0) - gammaln(others - c + 1.0)
    weight = np.exp(logarithm + xlogy(c, chance) + xlog1py(others - c, -chance))

    def tail(least: Doubles) -> Doubles:
        """Return Pr[A >= least] for A ~ Bin(c, 1/2)."""
        inside = np.clip(least, 1.0, np.maximum(c, 1.0))
        values = betainc(inside, np.maximum(c - inside + 1.0, 1.0), 0.5)
        return np.where(least <= 0.0, 1.0, np.where(least > c, 0.0, values))

    def delta(epsilon: float) -> float:
        e = math.exp(epsilon)
        high, low = grown * each, each

        def least(total: Doubles) -> Doubles:
            """Return the least number of first values, out of ``total``, with a ratio above e."""
            free = rest * (users - total) * each / (1.0 - 2.0 * each)
            ratio = ((e * high - low) * total + (e - 1.0) * free) / ((high - low) * (1.0 + e))
            return np.floor(ratio) + 1.0

        added, same = least(c + 1.0), least(c)
        inner = (high - e * low) * tail(added - 1.0) + (low - e * high) * tail(added)
        inner += (1.0 - e) * rest * tail(same)
        return float((weight * inner).sum())

    return delta


GRADE = "the literature's variation ratio for k-ary response: refuted by exact counterexamples"


def variation_epsilon(problem: ShuffleAmplification) -> Outcome:
    """Return the central epsilon at which the formula says delta."""
    setting = problem.setting
    curve = variation_ratio(setting.users, setting.local_epsilon, setting.randomizer.size)
    epsilon = least_epsilon(curve, setting.delta, setting.local_epsilon)
    result = problem.outcome(epsilon, GRADE, "closed form")
    return Outcome("feasible", result.variables, result.bound, result.bound_source, "sum", "", result.notes)


def why_no_variation(problem: ShuffleAmplification) -> str | None:
    """Return why the method does not apply, or None."""
    setting = problem.setting
    if setting.randomizer.kind != "k-ary" or setting.randomizer.size < 3:
        return "it is for k-ary response with three values or more"
    if setting.users > MOST_USERS:
        return f"it is evaluated for {MOST_USERS} honest users at most"
    return "its range is local epsilon > 0" if setting.local_epsilon == 0.0 else None


METHODS = (
    *theorem_methods(ShuffleAmplification, lambda problem: None),
    # The constant 1 makes it no theorem.
    theorem_method(ShuffleAmplification, THEOREM_2,
                   "theorem 2 of the survey, asymptotic, with the constant 1"),
    Method("variation-ratio", ShuffleAmplification, "published",
           "the variation ratio of k-ary response as published", variation_epsilon, why_no_variation),
)  # fmt: skip


def quantities(problem: ShuffleAmplification, solution: Solution[Any]) -> dict[str, Any]:
    """Return numbers about a solution.

    ``proven_delta`` and ``attacked_delta`` are those at the value, ``exact_delta`` the true one where it can
    be enumerated. ``amplification`` is the local epsilon divided by the central one, ``relative_gap`` the
    part of the value that the attack leaves open, ``honest_users`` how many users are counted on.
    """
    setting, epsilon = problem.setting, problem.objective(solution.variables)
    figures: dict[str, Any] = {
        "proven_delta": proven_delta(setting, epsilon),
        "attacked_delta": attacked(setting, epsilon)[0],
        "amplification": problem.local_epsilon / epsilon if epsilon > 0.0 else math.inf,
        "relative_gap": solution.gap / epsilon if epsilon > 0.0 else solution.gap,
        "honest_users": setting.users,
    }
    if why_not_exact(setting) is None:
        figures["exact_delta"] = exact_delta(setting, epsilon)
    return figures
