"""Stated noise next to the least that is proven."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.deployed.histogram.problem import DeployedHistogram


def quantities(problem: DeployedHistogram, solution: Solution[Any]) -> dict[str, Any]:
    """Return the proven and the attacked delta of a solution, and its variance over that of the bound.

    ``times_the_bound`` is the ratio of the variance to that of noise which an attack refutes.
    """
    local = float(solution.variables["local_epsilon"])
    found = {
        "proven_delta": problem.proven_delta(local),
        "attacked_delta": problem.attacked_delta(local),
        "keeps_delta": problem.proven_delta(local) <= problem.delta,
    }
    if solution.bound:
        found["times_the_bound"] = (solution.value / solution.bound) ** 2
    return found
