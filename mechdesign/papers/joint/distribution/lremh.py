"""LREMH as published: the cells that LASSO leaves above 0, and expectation maximisation among these."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.papers.joint.distribution.lasso import lasso, why_not
from mechdesign.papers.joint.distribution.printed_em import CHANGE, MOST_STEPS
from mechdesign.problems.joint.distribution.expectation import climb
from mechdesign.problems.joint.distribution.outcomes import outcome
from mechdesign.problems.joint.distribution.problem import JointDistribution


def run(problem: JointDistribution) -> Outcome:
    """Start from LASSO, drop its zeros, and climb until the largest change is below 0.001 (algorithm 2)."""
    start = lasso(problem)
    found, steps, _ = climb(problem.model, start, MOST_STEPS, change=CHANGE)
    notes = {"steps": steps, "candidates": int((start > 0.0).sum())}
    return outcome(problem, found, "LASSO, then expectation maximisation", notes)


METHOD = Method(
    name="lremh",
    problem=JointDistribution,
    kind="published",
    preference=80,
    summary="the paper's algorithm 2: EM among the cells that LASSO leaves above 0",
    run=run,
    why_not=why_not,
)
