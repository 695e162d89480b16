"""The methods of ``auction-horizon``: the first one that applies is the default.

For small horizons, one integer program over all slots: a covering program with a variable for each user in
each slot. Otherwise the online rule plays one slot at a time.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.auction.horizon import AuctionHorizon, play
from mechdesign.solvers.covering import branch
from mechdesign.solvers.integer import BinaryProgram, solve_binary


def program_of(problem: AuctionHorizon) -> BinaryProgram:
    """Return the program; variable slot * users + user."""
    from scipy import sparse

    instance, users, slots = problem.instance, problem.users, problem.slots
    rows = [
        sparse.csr_array(
            sparse.block_diag([sparse.csr_array(able.T.astype(np.float64)) for able in instance.able])
        )
    ]
    limits = [instance.needs.ravel().astype(np.float64)]
    if problem.wins:
        rows.append(sparse.csr_array(sparse.hstack([sparse.eye_array(users)] * slots)))
        limits.append(np.full(users, float(problem.wins)))
    return BinaryProgram(
        instance.costs.ravel().copy(),
        sparse.csr_array(sparse.vstack(rows)),
        np.concatenate(limits),
        np.zeros(users * slots, dtype=np.bool_),
    )


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


def online(problem: AuctionHorizon) -> Outcome:
    """Play all slots, one at a time; there is no bound, since the rule knows nothing of the optimum.

    Only that everybody must have won often enough at the end is enforced: who can no longer afford to lose a
    slot wins whatever it costs.
    """
    played = play(problem, "deadline", paying=False)
    return Outcome(
        status="feasible",
        variables={"selected": played.selected.astype(np.int64)},
        solver="online two-phase greedy",
        notes={"largest_backlog": float(played.largest_backlog.max())},
    )


METHODS = (
    Method("milp", AuctionHorizon, "numeric", "integer program over all slots, for small horizons",
           best_selection, why_not_best_selection),
    Method("online", AuctionHorizon, "heuristic",
           "the online rule, slot after slot, with a deadline for every user's share", online),
)  # fmt: skip
