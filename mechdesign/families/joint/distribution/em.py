"""Expectation maximisation from the uniform distribution, stopped by its gap, not by how little it moves."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.joint.distribution.expectation import climb
from mechdesign.families.joint.distribution.outcomes import outcome
from mechdesign.families.joint.distribution.problem import GAP, JointDistribution

MOST_STEPS = 5_000
WORK = 4e9
"""Multiplications that are spent, roughly; the steps are limited by it."""


def expectation_maximization(problem: JointDistribution) -> Outcome:
    """Climb until the gap is small; ``feasible`` where the steps do not suffice."""
    model = problem.model
    steps = max(1, min(MOST_STEPS, int(WORK / _work(problem))))
    start = np.full(model.cells, 1.0 / model.cells)
    found, taken, _ = climb(model, start, steps, gap=GAP / 2.0)
    return outcome(problem, found, "expectation maximisation", {"steps": taken})


def _work(problem: JointDistribution) -> float:
    model = problem.model
    tables = model.cells * (len(model.first) + len(model.second))
    return float(tables + len(model.counts) * model.second.shape[1])
