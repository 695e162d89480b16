"""All slots as one covering program: a variable for each user in each slot."""

from __future__ import annotations

import numpy as np

from mechdesign.families.auction.horizon.problem import AuctionHorizon
from mechdesign.solvers.integer import BinaryProgram


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
