"""What the sources state of ``joint-distribution``: published methods, and distances from the truth.

The published methods are never a default, and not counted for agreement.

**LASSO alone.**
Every column of the design matrix M has d ones, so the penalty is a multiple of the sum of M beta: it only
moves all counts by the same number. And the counts are those of single attributes: how attributes depend on
each other leaves no trace in them, so that the cells are not determined, however many users there are. Which
of all solutions comes out is up to the algorithm. The paper names none; this is coordinate descent from 0 in
the order of the cells, the common one, with the usual rule to stop and a penalty of one user a bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.joint.distribution import JointDistribution, no_penalty, outcome
from mechdesign.families.joint.likelihood import climb, is_unique
from mechdesign.families.joint.one_hot import SimulatedReports
from mechdesign.solvers.least_squares import nonnegative_least_squares

Array = NDArray[np.float64]

MOST_NUMBERS = 1 << 24
MOST_SWEEPS = 1000
STILL = 1e-4
"""Coordinate descent ends when a sweep moves no cell by more than this part of the largest."""


def one_hot_design(sizes: Sequence[int]) -> Array:
    """Return the bits of every joint cell, one column per cell, the last attribute fastest.

    Examples
    --------
    >>> one_hot_design([2, 2]).astype(int).tolist()
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
    rest, numbers, each = target.tolist(), [0.0] * len(places), len(sizes)
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for cell, bits in enumerate(places):
            before = numbers[cell]
            after = max(0.0, before + (sum([rest[bit] for bit in bits]) - penalty) / each)
            if after != before:
                numbers[cell] = after
                for bit in bits:
                    rest[bit] -= after - before
                moved = max(moved, abs(after - before))
        if moved <= STILL * max(numbers):
            break
    return np.array(numbers)


def shares_of(numbers: Array) -> Array:
    """Return a solution scaled to the sum 1; the uniform distribution where it is 0."""
    total = float(numbers.sum())
    return numbers / total if total > 0.0 else np.full(len(numbers), 1.0 / len(numbers))


def lasso(problem: JointDistribution) -> Array:
    """Return the shares of the cells by coordinate descent."""
    penalty = sum(problem.attributes) / problem.users
    return shares_of(coordinate_descent(problem.attributes, problem.debiased, penalty))


def run_lasso(problem: JointDistribution) -> Outcome:
    """Return the shares of the cells by LASSO."""
    numbers = lasso(problem)
    return outcome(problem, numbers, "coordinate descent", {"cells": int((numbers > 0.0).sum())})


def why_not_lasso(problem: JointDistribution) -> str | None:
    """Return why the method does not apply, or None."""
    numbers = math.prod(problem.attributes) * sum(problem.attributes)
    if numbers > MOST_NUMBERS:
        return f"its design matrix has {numbers} numbers; the limit is {MOST_NUMBERS}"
    return no_penalty(problem)


CHANGE = 1e-3
MOST_STEPS = 2000


def sparse_lasso(problem: JointDistribution) -> Outcome:
    """Return a solution with no more cells than the bits have independent counts, scaled to the sum 1.

    LASSO's least squares by an active set from 0: another of its many solutions. It fits the counts of single
    bits as well as coordinate descent does. That the two differ is the point: the counts do not say which is
    nearer to the truth.
    """
    shares = shares_of(nonnegative_least_squares(one_hot_design(problem.attributes), problem.debiased))
    return outcome(problem, shares, "non-negative least squares", {"cells": int((shares > 0.0).sum())})


def lremh(problem: JointDistribution) -> Outcome:
    """Start from LASSO, drop its zeros, and climb until the largest change is below 0.001 (algorithm 2)."""
    start = lasso(problem)
    distribution, steps, _ = climb(problem.model, start, MOST_STEPS, change=CHANGE)
    notes = {"steps": steps, "candidates": int((start > 0.0).sum())}
    return outcome(problem, distribution, "LASSO, then expectation maximisation", notes)


def printed_em(problem: JointDistribution) -> Outcome:
    """Climb from the uniform distribution until the largest change is below 0.001.

    With more than some thousand cells the uniform start moves by less in its first step already.
    """
    model = problem.model
    distribution, steps, moved = climb(
        model, np.full(model.cells, 1.0 / model.cells), MOST_STEPS, change=CHANGE
    )
    return outcome(
        problem, distribution, "expectation maximisation", {"steps": steps, "largest_change": moved}
    )


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


def quantities(problem: JointDistribution, solution: Solution[Any]) -> dict[str, Any]:
    """Return sizes, gaps and, for simulated users, the variation distance from their true shares.

    ``variation_distance`` is half the sum of the absolute differences, ``missed_share`` the true share of the
    cells that are given none. ``independence_distance`` is the variation distance of the truth from the
    product of its single frequencies: what looks at single bits only cannot tell these two populations, and
    is off by half of it on one of them at least. ``support`` is the number of cells
    with more than 1e-9; ``single_attribute_rank`` that of independent numbers that the bits' counts
    determine, which is all that LASSO looks at, next to ``cells``. ``largest_ratio`` is 1 at the maximum of
    the likelihood. ``unique`` says whether no other distribution is as likely, as far as rounding can tell;
    with a penalty the minimizer is unique, and ``distance`` bounds the variation distance from it.
    """
    distribution = np.asarray(solution.variables["distribution"]).ravel()
    judged = problem.judge(solution.variables)
    numbers: dict[str, Any] = {
        "users": problem.users,
        "cells": problem.model.cells,
        "different_reports": len(problem.model.counts),
        "support": int((distribution > 1e-9).sum()),
        "single_attribute_rank": sum(problem.attributes) - len(problem.attributes) + 1,
        "largest_ratio": judged.ratio,
        "log_likelihood_gap": judged.value - judged.bound,
        "unique": True if problem.penalty else is_unique(problem.model, distribution),
    }
    if problem.penalty:
        numbers["distance"] = problem.judge_penalized(solution.variables).distance
    if isinstance(problem.reports, SimulatedReports):
        truth = problem.reports.truth(problem.attributes)
        numbers["missed_share"] = float(truth[distribution <= 1e-9].sum())
        numbers["variation_distance"] = float(np.abs(distribution - truth).sum()) / 2.0
        numbers["likelihood_of_truth"] = problem.objective({"distribution": truth})
        numbers["independence_distance"] = _from_independence(truth, problem.attributes)
    return numbers


def _from_independence(truth: Any, sizes: Any) -> float:
    """Return the variation distance between a joint distribution and the product of its single marginals."""
    table = truth.reshape(tuple(sizes))
    product = np.ones(1)
    for axis in range(len(sizes)):
        single = table.sum(axis=tuple(other for other in range(len(sizes)) if other != axis))
        product = np.multiply.outer(product, single).reshape(-1)
    assert len(product) == math.prod(sizes)
    return float(np.abs(truth - product).sum()) / 2.0
