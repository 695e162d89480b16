"""Theorem 4.3.12 as printed: right only where virtual costs do not decrease."""

from __future__ import annotations

import math

import numpy as np

from mechdesign.collect.noise import LAPLACE
from mechdesign.core.method import Method, Outcome
from mechdesign.families.contract.allocation import virtual_costs
from mechdesign.families.contract.payments import post_within_budget
from mechdesign.families.contract.privacy_contract.closed_form import outcome_of, rules_of
from mechdesign.families.contract.privacy_contract.problem import PrivacyContract


def published(problem: PrivacyContract) -> Outcome:
    """Evaluate eps_i = G (lambda_i / H_i)^(1/3) and the printed payments.

    The recursion p_i = p_{i+1} + theta_i (eps_i - eps_{i+1}) is the printed sum; it spends the budget
    exactly and makes every type indifferent to the next one, but not to the one before unless epsilon
    decreases.
    """
    assert problem.budget is not None
    people = problem.population
    roots = np.cbrt(virtual_costs(people))
    scale = problem.budget / math.fsum(people.counts * roots * roots)
    posted = post_within_budget(rules_of(problem, people, printed=True), scale / roots, problem.budget)
    if posted is None:
        return Outcome("failed", message="the printed payments do not keep the budget")
    return outcome_of(problem, posted, status="feasible", solver="formula as printed")


def why_not(problem: PrivacyContract) -> str | None:
    """Return why the theorem does not apply, or None."""
    if problem.information == "complete":
        return "the theorem is about incomplete information"
    if problem.budget is None:
        return "the theorem is about a given budget"
    if problem.noise_model is not LAPLACE:
        return "the theorem is about Laplace noise"
    extras = {
        "epsilon_min": problem.epsilon_min > 0,
        "epsilon_max": problem.epsilon_max is not None,
        "participation_cost": bool(problem.population.cost.any()),
        "minimum_buyers": problem.minimum_buyers is not None,
    }
    used = [name for name, present in extras.items() if present]
    return f"the theorem has no {used[0]}" if used else None


METHODS = (
    Method("published", PrivacyContract, "published",
           "theorem 4.3.12 as printed, without the monotonicity it needs", published, why_not),
)  # fmt: skip
