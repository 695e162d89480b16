"""The published methods of ``joint-distribution``: never a default, and not counted for agreement."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.families.joint.distribution.expectation import climb
from mechdesign.families.joint.distribution.outcomes import no_penalty, outcome
from mechdesign.families.joint.distribution.problem import JointDistribution
from mechdesign.families.joint.papers.distribution.lasso import (
    lasso,
    one_hot_design,
    run_lasso,
    shares_of,
    why_not_lasso,
)
from mechdesign.solvers.nonnegative import nonnegative_least_squares

CHANGE = 1e-3
MOST_STEPS = 2000


def sparse_lasso(problem: JointDistribution) -> Outcome:
    """Return a solution with no more cells than the bits have independent counts, scaled to the sum 1.

    LASSO's least squares by an active set from 0: another of its many solutions. It fits the counts of single
    bits as well as coordinate descent does. That the two differ is the point: the counts do not say which is
    nearer to the truth.
    """
    found = shares_of(nonnegative_least_squares(one_hot_design(problem.attributes), problem.debiased))
    return outcome(problem, found, "non-negative least squares", {"cells": int((found > 0.0).sum())})


def lremh(problem: JointDistribution) -> Outcome:
    """Start from LASSO, drop its zeros, and climb until the largest change is below 0.001 (algorithm 2)."""
    start = lasso(problem)
    found, steps, _ = climb(problem.model, start, MOST_STEPS, change=CHANGE)
    notes = {"steps": steps, "candidates": int((start > 0.0).sum())}
    return outcome(problem, found, "LASSO, then expectation maximisation", notes)


def printed_em(problem: JointDistribution) -> Outcome:
    """Climb from the uniform distribution until the largest change is below 0.001.

    With more than some thousand cells the uniform start moves by less in its first step already.
    """
    model = problem.model
    found, steps, moved = climb(model, np.full(model.cells, 1.0 / model.cells), MOST_STEPS, change=CHANGE)
    return outcome(problem, found, "expectation maximisation", {"steps": steps, "largest_change": moved})


METHODS = (
    Method("lasso", JointDistribution, "published",
           "LASSO on the debiased counts of single bits, as the paper's baseline", run_lasso, why_not_lasso),
    Method("sparse-lasso", JointDistribution, "published",
           "the same least squares as LASSO's, by an active set: as few cells as possible",
           sparse_lasso, why_not_lasso),
    Method("lremh", JointDistribution, "published",
           "the paper's algorithm 2: EM among the cells that LASSO leaves above 0", lremh, why_not_lasso),
    Method("printed-em", JointDistribution, "published",
           "the paper's EM: from uniform, stopped when no probability moves by 0.001",
           printed_em, no_penalty),
)  # fmt: skip
