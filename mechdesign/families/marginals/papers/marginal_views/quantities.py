"""Further numbers of views: the thesis's errors for every size, and the predicted error of every marginal."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.choice import effect_variance
from mechdesign.families.marginals.errors import effect_errors
from mechdesign.families.marginals.marginal_views import judging
from mechdesign.families.marginals.marginal_views.building import runs
from mechdesign.families.marginals.marginal_views.prediction import planned
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.marginal_views.workload import MOST_MARGINALS
from mechdesign.families.marginals.papers.marginal_views import rival_designs
from mechdesign.families.marginals.papers.marginal_views.rival_errors import quantities_of_rivals

MOST_EFFECTS = 6
"""Marginals of more attributes have too many effects to add up for every claim."""


def quantities(problem: MarginalViews, solution: Solution[Any]) -> dict[str, Any]:
    """Return the quantities for claims and readers besides views and shares.

    ``size_and_count`` is [l, m], as in table 3.3 of the thesis. ``noise_of_size_3`` and the like are order x
    NE for views of 3 attributes, (3.6), where there is an order; ``least_noise_step`` is the least ratio of
    one of them to that of one attribute less. ``sampling_error`` is m / n, ``kept_cells`` the number of cells
    of all views. ``predicted_error`` is the expected squared error of each wanted marginal, in the problem's
    order, summed over its cells; infinite where no view contains it. ``mean_error`` and ``worst_error`` are
    over those that a view contains, ``gain_over_even`` is the mean error with an even split over that with
    the shares. All are left out where the marginals are too many, or no view has as many attributes as they
    have. For an order and attributes of equal size there are also the errors of other methods: see
    ``rival_errors``. ``effects_error`` is, for the first marginal of the order, the expected squared error of
    those of its effects that a view has, once views are consistent and before cells are made at least 0. For
    a method that collects otherwise there are ``groups`` and its errors alone.
    """
    if rival_designs.is_rival(solution.variables):
        return _of_rival(problem, solution)
    count = int(solution.variables["count"])
    found: dict[str, Any] = {
        "size_and_count": [int(solution.variables["size"]), count],
        "sampling_error": count / problem.users,
        "kept_cells": sum(problem.cells(view) for view in solution.variables["views"]),
    }
    found |= quantities_of_rivals(problem.sizes, problem.order, problem.users, problem.epsilon)
    if problem.order is not None:
        for size in range(1, len(problem.sizes) + 1):
            found[f"noise_of_size_{size}"] = problem.errors_by_rule(size, 1)[1]
        if len(problem.sizes) > 1:
            found["least_noise_step"] = _least_step(problem)
        if problem.order <= MOST_EFFECTS:
            found["effects_error"] = _effects_error(problem, solution, problem.order)
    largest = max(len(view) for view in solution.variables["views"])
    if judging.marginals_of(problem) > MOST_MARGINALS or (problem.order or 0) > largest:
        return found
    terms = judging.terms(problem, solution.variables["views"])
    errors = terms.errors(np.asarray(solution.variables["shares"])) / problem.users
    even = terms.errors(np.full(count, 1.0 / count)) / problem.users
    covered = np.isfinite(errors)
    found["predicted_error"] = errors.tolist()
    found["covered"] = int(covered.sum())
    if covered.any():
        weights = terms.weights[covered] / terms.weights[covered].sum()
        found["mean_error"] = float(weights @ errors[covered])
        found["worst_error"] = float(errors[covered].max())
        found["gain_over_even"] = float(weights @ even[covered]) / found["mean_error"]
    else:
        found["mean_error"] = found["worst_error"] = math.inf
    return found


def _effects_error(problem: MarginalViews, solution: Solution[Any], order: int) -> float:
    """Return the error of the effects that a view has, for the marginal of the first attributes."""
    views = judging.as_views(solution.variables["views"])
    variances = {
        cells: effect_variance(runs(planned(cells, problem.epsilon, problem.oracle)))
        for cells in {problem.cells(view) for view in views}
    }
    users = problem.users * np.asarray(solution.variables["shares"], dtype=np.float64)
    precision = [
        people / variances[problem.cells(view)] for people, view in zip(users.tolist(), views, strict=True)
    ]
    return effect_errors(range(order), views, problem.sizes, precision)


def _of_rival(problem: MarginalViews, solution: Solution[Any]) -> dict[str, Any]:
    """Return the errors of another way to collect."""
    errors = rival_designs.errors(problem, solution.variables["rival"])
    found, weights = np.array(list(errors.values())), np.array(list(problem.wanted.values()))
    return {
        "groups": int(solution.variables["count"]),
        "predicted_error": found.tolist(),
        "mean_error": float(found @ weights / weights.sum()),
        "worst_error": float(found.max()),
    }


def _least_step(problem: MarginalViews) -> float:
    errors = [problem.errors_by_rule(size, 1)[1] for size in range(1, len(problem.sizes) + 1)]
    return min(larger / smaller for smaller, larger in pairwise(errors))
