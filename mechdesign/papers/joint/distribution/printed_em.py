"""Expectation maximisation as the paper stops it: when no probability moves by 0.001.

With more than some thousand cells the uniform start moves by less in its first step already.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.joint.distribution.expectation import climb
from mechdesign.problems.joint.distribution.outcomes import no_penalty, outcome
from mechdesign.problems.joint.distribution.problem import JointDistribution

CHANGE = 1e-3
MOST_STEPS = 2000


def run(problem: JointDistribution) -> Outcome:
    """Climb from the uniform distribution until the largest change is below 0.001."""
    model = problem.model
    found, steps, moved = climb(model, np.full(model.cells, 1.0 / model.cells), MOST_STEPS, change=CHANGE)
    return outcome(problem, found, "expectation maximisation", {"steps": steps, "largest_change": moved})


METHOD = Method(
    name="printed-em",
    problem=JointDistribution,
    kind="published",
    preference=90,
    summary="the paper's EM: from uniform, stopped when no probability moves by 0.001",
    run=run,
    why_not=no_penalty,
)
