"""What every oracle that fits reaches with its integer weights, beside the bound and what the thesis says."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.collect.subset_sizes import best_size
from mechdesign.core.solution import Solution
from mechdesign.families.marginals.frequency_oracle.oracles import KINDS, kind_of
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle
from mechdesign.families.marginals.papers.frequency_oracle.methods import choice

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
    found: dict[str, Any] = {
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
            found[name] = kind.build(problem, parameters).variance()
            found[f"{name}_excess"] = found[name] / bound - 1.0
            found[f"{name}_bits"] = kind.bits(problem, parameters)
    if "optimised_unary" in found:
        found["unary_over_response"] = found["optimised_unary"] / found["randomized_response"]
    return found


def ideal_local_hashing(buckets: int, epsilon: float) -> float:
    """Return (e - 1 + g)^2 / ((e - 1)^2 (g - 1)): local hashing by an ideal hash function.

    Examples
    --------
    >>> round(ideal_local_hashing(4, math.log(3.0)), 12)
    3.0
    """
    w = math.exp(-epsilon)
    return (1.0 - w + buckets * w) ** 2 / (math.expm1(-epsilon) ** 2 * (buckets - 1.0))
