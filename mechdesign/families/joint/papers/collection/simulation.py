"""Simulated users: the variance that bits which nobody has are really estimated with, over all reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.exact.draw.packed import member_counts
from mechdesign.families.joint.collection.problem import JointCollection


def simulation(
    problem: JointCollection, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return users times the measured mean squared error of bits of frequency 0, scaled to all bits.

    Everybody has the first value of every attribute. ``standard_error`` is that of the measured value.
    """
    mechanism = solution.mechanism()
    own, other = (float(share) for share in mechanism.shares)
    starts = np.concatenate([[0], np.cumsum(problem.attributes)[:-1]])
    absent = np.setdiff1d(np.arange(problem.bits), starts)
    values = np.zeros((users, len(problem.attributes)), dtype=np.int64)
    squares = []
    for _ in range(repetitions):
        client = mechanism.remember(values, rng=rng)
        counts = sum(
            member_counts(client.report(rng=rng), problem.bits) for _ in range(problem.reports_per_user)
        )
        shares = np.asarray(counts) / (users * problem.reports_per_user)
        errors = ((shares - other) / (own - other))[absent]
        squares.append(users * problem.bits * float(np.mean(errors**2)))
    spread = float(np.std(squares, ddof=1)) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    return {"measured_value": float(np.mean(squares)), "standard_error": spread}
