"""The oracle ``hadamard`` with its best parameters, beside the bound for every oracle."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.marginals.frequency_oracle.oracles import kind_of
from mechdesign.problems.marginals.frequency_oracle.problem import FrequencyOracle, candidate, why_not

KIND = kind_of("hadamard")


def run(problem: FrequencyOracle) -> Outcome:
    """Return the oracle with its best parameters."""
    return candidate(problem, KIND)


METHOD = Method(
    name=KIND.name,
    problem=FrequencyOracle,
    kind="analytic",
    preference=70,
    summary=KIND.summary,
    run=run,
    why_not=lambda problem: why_not(problem, KIND),
)
