"""``auction-horizon`` as one integer program over all slots, for small horizons."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.auction.horizon.problem import AuctionHorizon
from mechdesign.families.auction.horizon.program import program_of
from mechdesign.solvers.branch import branch
from mechdesign.solvers.integer import solve_binary

MOST_VARIABLES = 600

NODES = 150
"""Linear programs that may be solved to prove the optimum."""


def best_selection(problem: AuctionHorizon, nodes: int = NODES) -> Outcome:
    """Solve the integer program, and prove a bound by a tree of our own.

    Parameters
    ----------
    problem : AuctionHorizon
    nodes : int
        Linear programs of the tree.
    """
    program = program_of(problem)
    result = solve_binary(program)
    if result.status not in ("optimal", "feasible"):
        return Outcome(result.status, solver=result.solver, message=result.message)
    proof = branch(program, result.variables, nodes)
    selected = proof.variables.reshape(problem.slots, problem.users).astype(np.int64)
    value = problem.objective({"selected": selected})
    met = value - proof.bound <= 1e-9 * value
    return Outcome(
        status="optimal" if met else "feasible",
        variables={"selected": selected},
        bound=proof.bound,
        bound_source="linear relaxations of a tree",
        solver=result.solver,
        notes={"nodes": proof.nodes, "solver_says": result.status},
    )


def why_not_best_selection(problem: AuctionHorizon) -> str | None:
    """Return why there are too many variables, or None."""
    count = problem.slots * problem.users
    if count > MOST_VARIABLES:
        return f"{count} slots times users are too many; the limit is {MOST_VARIABLES}"
    return None
