"""The methods of ``deployed-histogram``: the least noise that is proven, and the stated noise.

``quantities`` compares both with the noise that an attack refutes.
"""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.deployed.histogram import LEAST, MOST, DeployedHistogram

STEPS = 30
"""Bisections of the attack, which is cheap."""

FINE = 0.002
"""How near the proven local epsilon is to the largest one that the proof takes."""

SOURCE = "an attack on data where all others hold the same"


def all_data(problem: DeployedHistogram) -> Outcome:
    """Return the largest local epsilon that is proven for all data; the bound is from an attack."""
    refuted = _least_refuted(problem)
    if refuted is not None and refuted <= LEAST:
        return Outcome(status="infeasible", solver="bisection", message="too few users; give more users")
    top = MOST if refuted is None else refuted
    low, high = LEAST, top
    if problem.proven_delta(LEAST) > problem.delta:
        return Outcome(status="infeasible", solver="bisection", message="too few users; give more users")
    near = 0.98 * top
    if problem.proven_delta(near) <= problem.delta:
        low = near
    while high - low > FINE:
        middle = (low + high) / 2.0
        low, high = (middle, high) if problem.proven_delta(middle) <= problem.delta else (low, middle)
    return Outcome(
        status="feasible" if refuted is None else "optimal",
        variables={"local_epsilon": low},
        bound=problem.deviation(top),
        bound_source=SOURCE if refuted is not None else f"the largest local epsilon, {MOST:g}",
        solver="bisection",
    )


def _least_refuted(problem: DeployedHistogram) -> float | None:
    """Return about the least local epsilon that an attack refutes; None where it refutes none."""
    if problem.attacked_delta(MOST) <= problem.delta:
        return None
    low, high = LEAST, MOST
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if problem.attacked_delta(middle) > problem.delta else (middle, high)
    return high


def as_deployed(problem: DeployedHistogram) -> Outcome:
    """Return the stated local epsilon."""
    refuted = _least_refuted(problem)
    return Outcome(
        status="feasible",
        variables={"local_epsilon": problem.stated_local_epsilon},
        bound=problem.deviation(MOST if refuted is None else refuted),
        bound_source=SOURCE,
        solver="stated",
    )


def not_stated(problem: DeployedHistogram) -> str | None:
    """Return why there is nothing deployed, or None."""
    return None if problem.stated_local_epsilon is not None else "no local epsilon is stated"


METHODS = (
    Method("all-data", DeployedHistogram, "numeric",
           "a dominating pair over all data of the others; a bound by attack", all_data),
    Method("as-deployed", DeployedHistogram, "heuristic",
           "the local epsilon that a system states", as_deployed, not_stated),
)  # fmt: skip


def quantities(problem: DeployedHistogram, solution: Solution[Any]) -> dict[str, Any]:
    """Return the proven and the attacked delta of a solution, and its variance over that of the bound.

    ``times_the_bound`` is the ratio of the variance to that of noise which an attack refutes.
    """
    local = float(solution.variables["local_epsilon"])
    numbers = {
        "proven_delta": problem.proven_delta(local),
        "attacked_delta": problem.attacked_delta(local),
        "keeps_delta": problem.proven_delta(local) <= problem.delta,
    }
    if solution.bound:
        numbers["times_the_bound"] = (solution.value / solution.bound) ** 2
    return numbers
