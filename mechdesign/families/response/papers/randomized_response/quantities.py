"""Further numbers of a channel that claims may name."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.response.papers.randomized_response import tableau
from mechdesign.families.response.randomized_response.problem import RandomizedResponse


def quantities(problem: RandomizedResponse, solution: Solution[Any]) -> dict[str, Any]:
    """Return the true epsilon, the least deltas and how many symbols are reported.

    For two answers also the simplex tableau of the paper: ``reduced_costs`` and ``basic_solutions`` of its
    three bases, and ``printed_solution``, that of the first basis with b as section 3.2.2 prints it.
    """
    mechanism = solution.mechanism()
    audit = mechanism.audit()
    found: dict[str, Any] = {
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "entry_delta": audit.entry_delta,
        "reported_symbols": int(mechanism.possible_reports().sum()),
    }
    if problem.distance is None and (problem.size, problem.reports) == (2, 2) and 0 < problem.epsilon < 300:
        found |= _tableau(problem)
    return found


def _tableau(problem: RandomizedResponse) -> dict[str, Any]:
    epsilon, delta = problem.epsilon, problem.delta
    bases = tableau.BASES_2 if delta > 0 else tableau.BASES_1
    return {
        "reduced_costs": np.array([tableau.reduced_costs(epsilon, problem.prior, basis) for basis in bases]),
        "basic_solutions": np.array([tableau.basic_solution(epsilon, delta, basis) for basis in bases]),
        "printed_solution": tableau.basic_solution(epsilon, delta, bases[0], printed=True),
    }
