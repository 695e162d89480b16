"""Further numbers of direct mechanisms that claims may name, and a method that is kept to be refuted."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.incentives.direct_mechanism import DirectMechanism


def quantities(problem: DirectMechanism, solution: Solution[Any]) -> dict[str, Any]:
    """Return expected revenue and welfare, the first best, and how many profiles have a real lottery."""
    environment = problem.environment
    rule = problem.rule_of(solution.variables)
    lotteries, payments = rule.lottery_fractions(), rule.payment_fractions()
    prior = environment.prior
    surplus = environment.surplus()
    cost = np.array(environment.cost, dtype=object)
    return {
        "exact_value": str(problem.exact_value(rule)),
        "revenue": float((prior * (payments.sum(axis=-1) - (lotteries * cost).sum(axis=-1))).sum()),
        "welfare": float((prior * (lotteries * surplus).sum(axis=-1)).sum()),
        "first_best": float((prior * surplus.max(axis=-1)).sum()),
        "random_profiles": int(((lotteries > 0).sum(axis=-1) > 1).sum()),
    }
