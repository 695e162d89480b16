"""Further numbers of a channel that claims may name."""

from __future__ import annotations

from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.response.randomized_response.problem import RandomizedResponse


def quantities(problem: RandomizedResponse, solution: Candidate) -> dict[str, Any]:
    """Return the true epsilon, the least deltas and how many symbols are reported."""
    mechanism = problem.mechanism(solution)
    audit = mechanism.audit()
    return {
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "entry_delta": audit.entry_delta,
        "reported_symbols": int(mechanism.possible_reports().sum()),
    }
