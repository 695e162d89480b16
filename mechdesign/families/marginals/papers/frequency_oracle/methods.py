"""The rule of the thesis: randomized response while D - 2 < 3 e^epsilon, then optimised unary encoding.

As printed, the condition for unary encoding is that of randomized response once more; D - 2 >= 3 e^epsilon is
meant, and is taken here. Local hashing with ceil(e^epsilon + 1) buckets stands in where D bits are too many.
"""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.method import Method, Outcome
from mechdesign.families.marginals.frequency_oracle.oracles import kind_of
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle, impossible
from mechdesign.families.marginals.oracles.best import prefers_response


def choice(problem: FrequencyOracle) -> dict[str, Any]:
    """Return the variables that the rule chooses."""
    if prefers_response(problem.categories, problem.epsilon):
        return {"oracle": "randomized-response"}
    if kind_of("optimised-unary").best(problem) is not None:
        return {"oracle": "optimised-unary"}
    return {"oracle": "local-hashing", "buckets": math.ceil(math.exp(problem.epsilon) + 1.0)}


def run(problem: FrequencyOracle) -> Outcome:
    """Return the choice of the rule; it claims no optimum."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="rule", message=reason)
    return Outcome(status="feasible", variables=choice(problem), solver="rule")


def why_not(problem: FrequencyOracle) -> str | None:
    """Return why the rule does not apply, or None."""
    if impossible(problem) is None and problem.residuals(choice(problem))["report_bits"] > 0:
        return "it has no frequency oracle with reports of this few bits"
    return None


METHODS = (
    Method("thesis-rule", FrequencyOracle, "published",
           "the thesis's choice between randomized response, unary encoding and local hashing", run, why_not),
)  # fmt: skip
