"""LASSO alone: a non-negative combination of one-hot cells that has the debiased counts of the single bits.

Every column of the design matrix M has d ones, so the penalty is a multiple of the sum of M beta: it only
moves all counts by the same number. And the counts are those of single attributes: how attributes depend on
each other leaves no trace in them, so that the cells are not determined, however many users there are. Which
of all solutions comes out is up to the algorithm. The paper names none; this is coordinate descent from 0 in
the order of the cells, the common one, with the usual rule to stop and a penalty of one user a bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.joint.distribution.outcomes import no_penalty, outcome
from mechdesign.families.joint.distribution.problem import JointDistribution

Array = NDArray[np.float64]

MOST_NUMBERS = 1 << 24
MOST_SWEEPS = 1000
STILL = 1e-4
"""Coordinate descent ends when a sweep moves no cell by more than this part of the largest."""


def one_hot_design(sizes: Sequence[int]) -> Array:
    """Return the bits of every joint cell, one column per cell, the last attribute fastest.

    Examples
    --------
    >>> design([2, 2]).astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    """
    codes = np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes))
    return np.concatenate(
        [np.arange(size)[:, None] == code[None, :] for size, code in zip(sizes, codes, strict=True)]
    ).astype(np.float64)


def coordinate_descent(sizes: Sequence[int], target: Array, penalty: float) -> Array:
    """Return where coordinate descent on half the squared distance plus the penalty ends, over beta >= 0.

    Parameters
    ----------
    sizes : sequence of int
    target : (bits,) array
        What M beta should be.
    penalty : float
        >= 0, a unit of beta.

    Returns
    -------
    (cells,) array

    Examples
    --------
    >>> coordinate_descent([2, 2], np.array([0.5, 0.5, 0.5, 0.5]), 0.0).round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    codes = np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    places = np.stack([code + start for code, start in zip(codes, starts, strict=True)], axis=1).tolist()
    rest, found, each = target.tolist(), [0.0] * len(places), len(sizes)
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for cell, bits in enumerate(places):
            before = found[cell]
            after = max(0.0, before + (sum([rest[bit] for bit in bits]) - penalty) / each)
            if after != before:
                found[cell] = after
                for bit in bits:
                    rest[bit] -= after - before
                moved = max(moved, abs(after - before))
        if moved <= STILL * max(found):
            break
    return np.array(found)


def shares_of(found: Array) -> Array:
    """Return a solution scaled to the sum 1; the uniform distribution where it is 0."""
    total = float(found.sum())
    return found / total if total > 0.0 else np.full(len(found), 1.0 / len(found))


def lasso(problem: JointDistribution) -> Array:
    """Return the shares of the cells by coordinate descent."""
    penalty = sum(problem.attributes) / problem.users
    return shares_of(coordinate_descent(problem.attributes, problem.debiased, penalty))


def run_lasso(problem: JointDistribution) -> Outcome:
    """Return the shares of the cells by LASSO."""
    found = lasso(problem)
    return outcome(problem, found, "coordinate descent", {"cells": int((found > 0.0).sum())})


def why_not_lasso(problem: JointDistribution) -> str | None:
    """Return why the method does not apply, or None."""
    numbers = math.prod(problem.attributes) * sum(problem.attributes)
    if numbers > MOST_NUMBERS:
        return f"its design matrix has {numbers} numbers; the limit is {MOST_NUMBERS}"
    return no_penalty(problem)
