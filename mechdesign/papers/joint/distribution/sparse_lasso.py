"""LASSO's least squares by an active set from 0: another of its many solutions, with few cells.

It fits the counts of single bits as well as coordinate descent does. That the two differ is the point: the
counts do not say which is nearer to the truth.
"""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.papers.joint.distribution.lasso import design, shares_of, why_not
from mechdesign.problems.joint.distribution.outcomes import outcome
from mechdesign.problems.joint.distribution.problem import JointDistribution
from mechdesign.solvers.nonnegative import nonnegative_least_squares


def run(problem: JointDistribution) -> Outcome:
    """Return a solution with no more cells than the bits have independent counts, scaled to the sum 1."""
    found = shares_of(nonnegative_least_squares(design(problem.attributes), problem.debiased))
    return outcome(problem, found, "non-negative least squares", {"cells": int((found > 0.0).sum())})


METHOD = Method(
    name="sparse-lasso",
    problem=JointDistribution,
    kind="published",
    preference=75,
    summary="the same least squares as LASSO's, by an active set: as few cells as possible",
    run=run,
    why_not=why_not,
)
