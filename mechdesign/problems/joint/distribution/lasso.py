"""LASSO alone: a non-negative combination of one-hot cells that has the debiased counts of the single bits.

Every column of the design matrix M has d ones, so the penalty is a multiple of the sum of M beta: it only
moves all counts by the same number. And the counts are those of single attributes: how attributes depend on
each other leaves no trace in them, so that the cells are not determined, however many users there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.joint.distribution.outcomes import outcome
from mechdesign.problems.joint.distribution.problem import JointDistribution
from mechdesign.solvers.nonnegative import nonnegative_least_squares

Array = NDArray[np.float64]

MOST_NUMBERS = 1 << 24


def design(sizes: Sequence[int]) -> Array:
    """Return the bits of every joint cell, one column a cell, the last attribute fastest.

    Examples
    --------
    >>> design([2, 2]).astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    """
    codes = np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes))
    return np.concatenate(
        [np.arange(size)[:, None] == code[None, :] for size, code in zip(sizes, codes, strict=True)]
    ).astype(np.float64)


def lasso(problem: JointDistribution) -> Array:
    """Return the non-negative least squares solution, with a vanishing penalty, scaled to the sum 1."""
    shares = nonnegative_least_squares(design(problem.attributes), problem.debiased)
    total = float(shares.sum())
    return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))


def run(problem: JointDistribution) -> Outcome:
    """Return the shares of the cells by LASSO."""
    found = lasso(problem)
    return outcome(problem, found, "non-negative least squares", {"cells": int((found > 0.0).sum())})


def why_not(problem: JointDistribution) -> str | None:
    """Say why it does not apply, if so."""
    numbers = math.prod(problem.attributes) * sum(problem.attributes)
    if numbers > MOST_NUMBERS:
        return f"its design matrix has {numbers} numbers; {MOST_NUMBERS} at most"
    return None


METHOD = Method(
    name="lasso",
    problem=JointDistribution,
    kind="published",
    preference=70,
    summary="LASSO on the debiased counts of single bits, as the paper's baseline",
    run=run,
    why_not=why_not,
)
