"""The paper's choice: q = 0.75 and p = 0.5 whatever the budget, with the least f that this allows."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.joint.collection.problem import JointCollection, impossible
from mechdesign.problems.joint.collection.variances import coordinates

Q, P = 0.75, 0.5


def run(problem: JointCollection) -> Outcome:
    """Return the least f that keeps the promises with q = 0.75 and p = 0.5; it claims no optimum."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="formula", message=reason)
    x, y = coordinates(Q, P)
    flip = float(problem.least_flip(np.float64(x), np.float64(y)))
    return Outcome(status="feasible", variables={"f": 2.0 * flip, "q": Q, "p": P}, solver="formula")


METHODS = (
    Method("paper", JointCollection, "published",
           "the paper's q = 0.75 and p = 0.5 with the least f that keeps the promises", run),
)  # fmt: skip
