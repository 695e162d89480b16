"""The optimum as printed: c = 1/e^eps, c + d = 1 (theorem 2, corollaries 1 and 2). It is not private.

An input 1 never reports 0, an input 0 does with probability 1 - e^-eps. Whoever sees a 0 knows that the
input is not 1: the true epsilon is infinite, and delta must be at least 1 - e^-eps. The paper checked the
ratio for the report 1 only, eq. (11); so did every interval between the symmetric one and this.
"""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.mean.interval.problem import MeanInterval


def run(problem: MeanInterval) -> Outcome:
    """Return the printed interval as it is."""
    return Outcome(
        status="feasible",
        variables={"interval": [math.exp(-problem.epsilon), 1.0]},
        solver="closed form as printed",
        notes={"source": "theorem 2, corollaries 1 and 2"},
    )


def why_not(problem: MeanInterval) -> str | None:
    """Say why the printed formula does not apply, if so."""
    if problem.delta > 0.0:
        return "the paper's formula is for delta = 0"
    if problem.epsilon == 0.0:
        return "at epsilon = 0 its interval has no width"
    return None


METHOD = Method(
    name="published",
    problem=MeanInterval,
    kind="published",
    preference=90,
    summary="c = 1/e^eps, c + d = 1 as printed: not private",
    run=run,
    why_not=why_not,
)
