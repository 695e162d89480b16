"""Methods of the problem ``joint-distribution``; the first one that applies is the default."""

from __future__ import annotations

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.joint.distribution import GAP, JointDistribution, no_penalty, outcome
from mechdesign.families.joint.likelihood import climb, most_likely
from mechdesign.families.joint.penalized import penalized_likelihood
from mechdesign.solvers.statement import statement_method

MOST_STEPS = 5_000
WORK = 4e9
"""Multiplications that are spent, roughly; the steps are limited by it."""


def expectation_maximization(problem: JointDistribution) -> Outcome:
    """Climb until the gap is small; ``feasible`` where the steps do not suffice."""
    model = problem.model
    tables = model.cells * (len(model.first) + len(model.second))
    work = tables + len(model.counts) * model.second.shape[1]
    steps = max(1, min(MOST_STEPS, int(WORK / work)))
    start = np.full(model.cells, 1.0 / model.cells)
    distribution, taken, _ = climb(model, start, steps, gap=GAP / 2.0)
    return outcome(problem, distribution, "expectation maximisation", {"steps": taken})


NEAR = 1e-4
"""The variation distance from the exact minimizer that is asked for."""


def proximal_newton(problem: JointDistribution) -> Outcome:
    """Return a distribution that is proven to be near to the minimizer of the penalized likelihood.

    Quadratic models of the likelihood in the effects, with the penalty as it is.
    """
    nearest = penalized_likelihood(problem.model, problem.shares_drawn_to, problem.penalty, distance=NEAR)
    return outcome(problem, nearest.distribution, "proximal Newton", {"steps": nearest.steps})


def why_no_effects(problem: JointDistribution) -> str | None:
    """Return why the method does not apply (nothing is penalized), or None."""
    return None if problem.penalty else "there is no penalty"


def active_set(problem: JointDistribution) -> Outcome:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + 1e-6.

    Newton's method on a working set of cells: some ten steps, whatever the noise.
    """
    maximum = most_likely(problem.model, gap=GAP / 2.0)
    return outcome(problem, maximum.distribution, "active-set Newton", {"steps": maximum.steps})


METHODS = (
    Method("proximal-newton", JointDistribution, "numeric",
           "penalized likelihood: quadratic models in the effects, each solved by its dual",
           proximal_newton, why_no_effects),
    Method("active-set", JointDistribution, "numeric",
           "Newton's method on the cells above 0 and the most promising others", active_set, no_penalty),
    Method("em", JointDistribution, "numeric",
           "expectation maximisation from uniform, until the gap is 1e-6 or the steps run out",
           expectation_maximization, no_penalty),
    statement_method(JointDistribution, former_names=("convex",)),
)  # fmt: skip
