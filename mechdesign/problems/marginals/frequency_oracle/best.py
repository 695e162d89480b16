"""The best of all oracles whose reports are short enough; optimal where it attains the bound."""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.problems.marginals.frequency_oracle.oracles import KINDS, SHORTEST, kind_of
from mechdesign.problems.marginals.frequency_oracle.problem import FrequencyOracle, candidate

WITHIN = 1.0 + 2.0**-40
"""Variances closer than this count as equal; then the oracle with the shortest reports is taken,
and of equally short ones one without a parameter."""


def run(problem: FrequencyOracle) -> Outcome:
    """Compare the variances of all oracles, each with its best parameters."""
    found = [candidate(problem, kind) for kind in KINDS]
    possible = [outcome for outcome in found if outcome.variables]
    if not possible:
        return candidate(problem, kind_of(SHORTEST))
    values = [problem.objective(outcome.variables) for outcome in possible]
    equal = [
        outcome for outcome, value in zip(possible, values, strict=True) if value <= WITHIN * min(values)
    ]
    return min(equal, key=lambda outcome: (outcome.notes["report_bits"], len(outcome.variables)))
