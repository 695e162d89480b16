"""Further numbers of an estimate: its distance from the truth where that was simulated, and its support."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.joint.distribution.problem import JointDistribution
from mechdesign.families.joint.distribution.reports import SimulatedReports
from mechdesign.families.joint.maximum import is_unique


def quantities(problem: JointDistribution, solution: Solution[Any]) -> dict[str, Any]:
    """Return sizes, gaps and, for simulated users, the variation distance from their true shares.

    ``variation_distance`` is half the sum of the absolute differences, ``missed_share`` the true share of the
    cells that are given none. ``independence_distance`` is the variation distance of the truth from the
    product of its single frequencies: what looks at single bits only cannot tell these two populations, and
    is off by half of it on one of them at least. ``support`` is the number of cells
    with more than 1e-9; ``single_attribute_rank`` that of independent numbers that the bits' counts
    determine, which is all that LASSO looks at, beside ``cells``. ``largest_ratio`` is 1 at the maximum of
    the likelihood. ``unique`` says whether no other distribution is as likely, as far as rounding can tell;
    with a penalty the minimizer is unique, and ``distance`` bounds the variation distance from it.
    """
    distribution = np.asarray(solution.variables["distribution"]).ravel()
    judged = problem.judge(solution.variables)
    found: dict[str, Any] = {
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
        found["distance"] = problem.judge_penalized(solution.variables).distance
    if isinstance(problem.reports, SimulatedReports):
        truth = problem.reports.truth(problem.attributes)
        found["missed_share"] = float(truth[distribution <= 1e-9].sum())
        found["variation_distance"] = float(np.abs(distribution - truth).sum()) / 2.0
        found["likelihood_of_truth"] = problem.objective({"distribution": truth})
        found["independence_distance"] = _from_independence(truth, problem.attributes)
    return found


def _from_independence(truth: Any, sizes: Any) -> float:
    """Return the variation distance between a joint distribution and the product of its single marginals."""
    table = truth.reshape(tuple(sizes))
    product = np.ones(1)
    for axis in range(len(sizes)):
        single = table.sum(axis=tuple(other for other in range(len(sizes)) if other != axis))
        product = np.multiply.outer(product, single).reshape(-1)
    assert len(product) == math.prod(sizes)
    return float(np.abs(truth - product).sum()) / 2.0
