"""Theorems inverted for local budgets, a published formula that is no theorem, and quantities of claims.

Theorems next to each other, and what an attack leaves open. The last method is never a default, and not
counted for agreement.
"""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.amplification import proven_delta
from mechdesign.families.shuffle.judge import attacked
from mechdesign.families.shuffle.local_budget import ShuffleLocalBudget, why_not_channel
from mechdesign.families.shuffle.papers.amplification import THEOREM_2
from mechdesign.families.shuffle.papers.theorems import (
    RELAXED_3,
    THEOREM_3,
    THEOREM_4,
    TheoremSetting,
    theorem_method,
    theorem_methods,
)

METHODS = (
    *theorem_methods(ShuffleLocalBudget, why_not_channel),
    # The constant 1 makes it no theorem.
    theorem_method(
        ShuffleLocalBudget, THEOREM_2, "theorem 2 of the survey, asymptotic, with the constant 1, inverted"
    ),
)


def quantities(problem: ShuffleLocalBudget, solution: Solution[Any]) -> dict[str, Any]:
    """Return numbers about a solution.

    ``theorem_4_minus_theorem_3`` compares the local epsilons of two theorems for binary randomized response,
    ``theorem_4_minus_theorem_3_relaxed`` with eq. (7) in place of eq. (6);
    ``theorem_4_loss_to_binary`` compares that of theorem 4 for two values with that for the problem's. A
    theorem that does not apply counts as 0. ``relative_gap`` is the part that the attack leaves open.
    """
    case, central = TheoremSetting.of(problem.setting), problem.central_epsilon
    setting = problem.setting_with(problem.objective(solution.variables))
    binary = TheoremSetting(case.users, case.delta, 2)

    def number(answer: float | str) -> float:
        return 0.0 if isinstance(answer, str) else answer

    figures: dict[str, Any] = {
        "proven_delta": proven_delta(setting, central),
        "attacked_delta": attacked(setting, central)[0],
        "relative_gap": solution.gap / solution.value,
        "theorem_4_minus_theorem_3": number(THEOREM_4.local(binary, central))
        - number(THEOREM_3.local(binary, central)),
        "theorem_4_minus_theorem_3_relaxed": number(THEOREM_4.local(binary, central))
        - number(RELAXED_3.local(binary, central)),
        "honest_users": setting.users,
    }
    if case.size >= 2:
        figures["theorem_4_loss_to_binary"] = number(THEOREM_4.local(binary, central)) - number(
            THEOREM_4.local(case, central)
        )
    return figures
