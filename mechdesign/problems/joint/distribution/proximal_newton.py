"""Penalized likelihood: quadratic models of the likelihood in the effects, with the penalty as it is."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.joint.penalized import penalized_likelihood
from mechdesign.problems.joint.distribution.outcomes import outcome
from mechdesign.problems.joint.distribution.problem import JointDistribution

NEAR = 1e-4
"""The variation distance from the exact minimizer that is asked for."""


def run(problem: JointDistribution) -> Outcome:
    """Return a distribution that is proven to be near to the minimizer."""
    found = penalized_likelihood(problem.model, problem.shares_drawn_to, problem.penalty, distance=NEAR)
    return outcome(problem, found.distribution, "proximal Newton", {"steps": found.steps})


def why_not(problem: JointDistribution) -> str | None:
    """Say why it does not apply, if so."""
    return None if problem.penalty else "there is no penalty"


METHOD = Method(
    name="proximal-newton",
    problem=JointDistribution,
    kind="numeric",
    preference=5,
    summary="penalized likelihood: quadratic models in the effects, each solved by its dual",
    run=run,
    why_not=why_not,
)
