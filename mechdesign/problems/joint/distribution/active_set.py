"""Newton's method on a working set of cells: some ten steps, whatever the noise."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.joint import most_likely
from mechdesign.problems.joint.distribution.outcomes import no_penalty, outcome
from mechdesign.problems.joint.distribution.problem import GAP, JointDistribution


def run(problem: JointDistribution) -> Outcome:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + 1e-6."""
    found = most_likely(problem.model, gap=GAP / 2.0)
    return outcome(problem, found.distribution, "active-set Newton", {"steps": found.steps})


METHOD = Method(
    name="active-set",
    problem=JointDistribution,
    kind="numeric",
    preference=10,
    summary="Newton's method on the cells above 0 and the most promising others",
    run=run,
    why_not=no_penalty,
)
