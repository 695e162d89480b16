"""The paper's choice: keep = 0.75, add = 0.5 whatever the budget, with the least redraw that this allows."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.families.joint.collection.problem import JointCollection, impossible
from mechdesign.families.joint.collection.variances import coordinates

KEEP, ADD = 0.75, 0.5


def published_choice(problem: JointCollection) -> Outcome:
    """Return the least redraw that keeps the promises with keep = 0.75, add = 0.5; it claims no optimum."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="formula", message=reason)
    x, y = coordinates(KEEP, ADD)
    flip = float(problem.least_flip(np.float64(x), np.float64(y)))
    return Outcome(
        status="feasible", variables={"redraw": 2.0 * flip, "keep": KEEP, "add": ADD}, solver="formula"
    )


METHODS = (
    Method("paper", JointCollection, "published",
           "the paper's keep = 0.75 and add = 0.5 with the least redraw that meets the guarantees", published_choice),
)  # fmt: skip
