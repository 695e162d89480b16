"""The thesis's choice of a frequency oracle, and what every oracle that fits reaches next to it.

The rule: randomized response while D - 2 < 3 e^epsilon, then optimised unary encoding. As printed, the
condition for unary encoding is that of randomized response once more; D - 2 >= 3 e^epsilon is meant, and is
taken here. Local hashing with ceil(e^epsilon + 1) buckets stands in where D bits are too many.

The quantities are of the integer weights that are drawn by, next to the bound and what the thesis says; the
simulation estimates a category which nobody has.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.marginals.frequency_oracle import KINDS, FrequencyOracle, impossible, kind_of
from mechdesign.families.marginals.oracles.best import prefers_response
from mechdesign.primitives.oracle import best_size


def choice(problem: FrequencyOracle) -> dict[str, Any]:
    """Return the variables that the rule chooses."""
    if prefers_response(problem.categories, problem.epsilon):
        return {"oracle": "randomized-response"}
    if kind_of("optimised-unary").best(problem) is not None:
        return {"oracle": "optimised-unary"}
    return {"oracle": "local-hashing", "buckets": math.ceil(math.exp(problem.epsilon) + 1.0)}


def run_thesis_rule(problem: FrequencyOracle) -> Outcome:
    """Return the choice of the rule; it claims no optimum."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="rule", message=reason)
    return Outcome(status="feasible", variables=choice(problem), solver="rule")


def why_not_thesis_rule(problem: FrequencyOracle) -> str | None:
    """Return why the rule does not apply, or None."""
    if impossible(problem) is None and problem.residuals(choice(problem))["report_bits"] > 0:
        return "it has no frequency oracle with reports of this few bits"
    return None


METHODS = (
    Method("thesis-rule", FrequencyOracle, "published",
           "the thesis's choice between randomized response, unary encoding and local hashing",
           run_thesis_rule, why_not_thesis_rule),
)  # fmt: skip


LARGEST_EXPONENT = 40.0
"""More buckets than e^40 are not asked for."""


def quantities(problem: FrequencyOracle, solution: Solution[Any]) -> dict[str, Any]:
    """Return variances, report lengths and excesses over the bound, for claims.

    ``optimised_unary`` and the like are users times the variance of the mechanism that would run, exactly
    from its integers; ``..._excess`` the part by which that is above the bound; ``..._bits`` the length of
    reports.
    ``ideal_local_hashing`` is local hashing with ceil(e^epsilon + 1) buckets and a hash function by which two
    categories share a bucket with probability 1/g. ``rule_excess`` belongs to the thesis's rule.
    """
    bound, epsilon = problem.lower_bound(), problem.epsilon
    buckets = math.ceil(math.exp(min(epsilon, LARGEST_EXPONENT)) + 1.0)
    figures: dict[str, Any] = {
        "bound_for_all": bound,
        "best_size": best_size(problem.categories, problem.epsilon),
        "report_bits": kind_of(solution.variables["oracle"]).bits(problem, solution.variables),
        "standard_error": math.sqrt(solution.value / problem.users),
        "ideal_local_hashing": ideal_local_hashing(buckets, epsilon),
        "rule_excess": problem.objective(choice(problem)) / bound - 1.0,
    }
    for kind in KINDS:
        parameters = kind.best(problem)
        if parameters is not None:
            name = kind.name.replace("-", "_")
            figures[name] = kind.build(problem, parameters).variance()
            figures[f"{name}_excess"] = figures[name] / bound - 1.0
            figures[f"{name}_bits"] = kind.bits(problem, parameters)
    if "optimised_unary" in figures:
        figures["unary_over_response"] = figures["optimised_unary"] / figures["randomized_response"]
    return figures


def ideal_local_hashing(buckets: int, epsilon: float) -> float:
    """Return (e - 1 + g)^2 / ((e - 1)^2 (g - 1)): local hashing by an ideal hash function.

    Examples
    --------
    >>> round(ideal_local_hashing(4, math.log(3.0)), 12)
    3.0
    """
    w = math.exp(-epsilon)
    return (1.0 - w + buckets * w) ** 2 / (math.expm1(-epsilon) ** 2 * (buckets - 1.0))


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
