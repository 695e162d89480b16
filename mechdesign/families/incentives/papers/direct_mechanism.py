"""Further numbers of direct mechanisms that claims may name, and a method that is kept to be refuted."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.incentives.closed_forms import (
    best_outcomes,
    ironed_lines,
    threshold_rule,
    upward_lines,
    virtual_surplus,
)
from mechdesign.families.incentives.direct_mechanism import DirectMechanism, variables_of
from mechdesign.families.incentives.direct_mechanism_methods import why_not_one_dimension


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


def without_ironing(problem: DirectMechanism) -> Outcome:
    """Give each profile to the largest virtual value as it is, with payments by thresholds.

    It is optimal where virtual values do not fall. Where they do, chances fall in the type, so that the
    payments that bind downwards let a lower type gain by a higher report.
    """
    environment = problem.environment
    lines = upward_lines(environment)
    assert lines is not None
    virtual = [line.virtual for line in ironed_lines(environment, lines)]
    lotteries, _ = best_outcomes(environment, virtual_surplus(environment, lines, virtual))
    rule = threshold_rule(environment, lines, lotteries)
    return Outcome("feasible", variables_of(rule), solver="closed form")


METHODS = (
    Method("without-ironing", DirectMechanism, "published",
           "the largest virtual value wins, without ironing", without_ironing, why_not_one_dimension),
)  # fmt: skip
