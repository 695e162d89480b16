"""The methods of ``joint-distribution``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.joint import most_likely
from mechdesign.families.joint.distribution.convex import convex_program, why_not_convex
from mechdesign.families.joint.distribution.em import expectation_maximization
from mechdesign.families.joint.distribution.outcomes import no_penalty, outcome
from mechdesign.families.joint.distribution.problem import GAP, JointDistribution
from mechdesign.families.joint.penalized import penalized_likelihood

NEAR = 1e-4
"""The variation distance from the exact minimizer that is asked for."""


def proximal_newton(problem: JointDistribution) -> Outcome:
    """Return a distribution that is proven to be near to the minimizer of the penalized likelihood.

    Quadratic models of the likelihood in the effects, with the penalty as it is.
    """
    found = penalized_likelihood(problem.model, problem.shares_drawn_to, problem.penalty, distance=NEAR)
    return outcome(problem, found.distribution, "proximal Newton", {"steps": found.steps})


def why_no_effects(problem: JointDistribution) -> str | None:
    """Return why the method does not apply (nothing is penalized), or None."""
    return None if problem.penalty else "there is no penalty"


def active_set(problem: JointDistribution) -> Outcome:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + 1e-6.

    Newton's method on a working set of cells: some ten steps, whatever the noise.
    """
    found = most_likely(problem.model, gap=GAP / 2.0)
    return outcome(problem, found.distribution, "active-set Newton", {"steps": found.steps})


METHODS = (
    Method("proximal-newton", JointDistribution, "numeric",
           "penalized likelihood: quadratic models in the effects, each solved by its dual",
           proximal_newton, why_no_effects),
    Method("active-set", JointDistribution, "numeric",
           "Newton's method on the cells above 0 and the most promising others", active_set, no_penalty),
    Method("convex", JointDistribution, "numeric",
           "the convex program by an interior-point solver, for few cells", convex_program, why_not_convex),
    Method("em", JointDistribution, "numeric",
           "expectation maximisation from uniform, until the gap is 1e-6 or the steps run out",
           expectation_maximization, no_penalty),
)  # fmt: skip
