"""What the sources say of ``marginal-views``: published methods, quantities, and a simulation.

The methods are rivals that take no views, and the thesis's algorithm 3.1. The algorithm stands as it is
printed, line by line. Line 13 is reached when no smaller size than l_u can be covered, also when l_u is above
the order; it then takes all views of l_u attributes, up to m_u, where a covering by fewer exists.

The quantities are the thesis's errors for every size, and the predicted error of every marginal. The
simulated shoppers show what views and the other methods really make of the same people. ``otherwise`` is how
the problem judges candidates that collect by other means than views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.marginals import MarginalRelease, view_evaluation
from mechdesign.families.marginals.marginal_views import MarginalViews, runs
from mechdesign.families.marginals.papers import rival_candidates
from mechdesign.families.marginals.papers.rival_candidates import SCOPE, quantities_of_rivals, refusal, runner
from mechdesign.families.marginals.papers.rivals import (
    AllMarginals,
    FourierCoefficients,
    FullContingency,
    MarginalRival,
    UniformAnswer,
    nearest_table,
    true_marginal,
)
from mechdesign.families.marginals.view_candidates import NOTHING, rule_outcome, why_not_rule
from mechdesign.families.marginals.view_errors import MOST_MARGINALS, planned
from mechdesign.families.marginals.view_evaluation import balanced, covering
from mechdesign.families.marginals.views import effect_errors, effect_variance


@dataclass(frozen=True)
class ByRival:
    """One way to collect, for one problem."""

    problem: MarginalViews
    variables: Mapping[str, Any]

    def value(self) -> float:
        """Return the error by the problem's criterion."""
        return rival_candidates.value(self.problem, self.variables["rival"])

    def residuals(self) -> dict[str, float]:
        """Return the numbers of requested marginals without an answer and of superfluous groups."""
        return rival_candidates.residuals(self.problem, self.variables)

    def mechanism(self) -> MarginalRival:
        """Return the mechanism to run."""
        return rival_candidates.mechanism(self.problem, self.variables["rival"])


def otherwise(problem: MarginalViews, variables: Mapping[str, Any]) -> ByRival:
    """Return the evaluation of a candidate that collects by other means than views."""
    return ByRival(problem, variables)


def run_published(problem: MarginalViews) -> Outcome:
    """Return m and l of the printed algorithm, with the covering where it counts one, else balanced views."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="rule", message=NOTHING)
    assert problem.order is not None
    points, order, most = len(problem.sizes), problem.order, problem.most_views  # line 1
    largest = problem.largest_size  # lines 2 to 4
    all_of_them = min(most, math.comb(points, largest))
    if largest < order:  # line 5
        return rule_outcome(problem, balanced(points, largest, all_of_them))
    least = largest  # line 8
    while least > order and covering(points, order, least - 1, most) is not None:
        least -= 1
    if least == largest:  # line 12
        return rule_outcome(problem, balanced(points, largest, all_of_them))
    error, best = 1.0, balanced(points, largest, all_of_them)  # line 15
    for size in range(least, largest + 1):
        views = covering(points, order, size, most)
        if views is not None and max(problem.errors_by_rule(size, len(views))) < error:
            error, best = max(problem.errors_by_rule(size, len(views))), views
    return rule_outcome(problem, best)


def rivals(*named: tuple[str, str]) -> tuple[Method, ...]:
    """Return the methods that collect otherwise than by views, by the names of their rivals."""
    return tuple(
        Method(name.lower(), MarginalViews, "heuristic", f"{name}: {how}", runner(name), refusal(name), SCOPE)
        for name, how in named
    )


METHODS = (
    *rivals(
        ("FC", "every user reports the cell of the table of all attributes"),
        ("AM", "users are split over all tables of the order"),
        ("FT", "users are split over the Fourier coefficients that are needed"),
        ("EM", "every user reports every attribute, each with a part of epsilon"),
        ("BE", "users are split over the requested marginals of attributes encoded as bits"),
    ),
    Method("published", MarginalViews, "published", "algorithm 3.1 as printed", run_published, why_not_rule),
)


MOST_EFFECTS = 6
"""Marginals of more attributes have too many effects to add up for every claim."""


def quantities(problem: MarginalViews, solution: Solution[Any]) -> dict[str, Any]:
    """Return the quantities for claims and readers besides views and shares.

    ``size_and_count`` is [l, m], as in table 3.3 of the thesis. ``noise_of_size_3`` and the like are order x
    NE for views of 3 attributes, (3.6), where there is an order; ``least_noise_step`` is the least ratio of
    one of them to that of one attribute less. ``sampling_error`` is m / n, ``kept_cells`` the number of cells
    of all views. ``predicted_error`` is the expected squared error of each target, in the problem's
    order, summed over its cells; infinite where no view contains it. ``mean_error`` and ``worst_error`` are
    over those that a view contains, ``gain_over_even`` is the mean error with an even split over that with
    the shares. All are left out where the marginals are too many, or no view has as many attributes as they
    have. For an order and attributes of equal size there are also the errors of other methods: see
    ``rival_errors``. ``effects_error`` is, for the first marginal of the order, the expected squared error of
    those of its effects that a view has, once views are consistent and before cells are made at least 0. For
    a method that collects otherwise there are ``groups`` and its errors alone.
    """
    if "rival" in solution.variables:
        return _of_rival(problem, solution)
    count = int(solution.variables["count"])
    figures: dict[str, Any] = {
        "size_and_count": [int(solution.variables["size"]), count],
        "sampling_error": count / problem.users,
        "kept_cells": sum(problem.cells(view) for view in solution.variables["views"]),
    }
    figures |= quantities_of_rivals(problem.sizes, problem.order, problem.users, problem.epsilon)
    if problem.order is not None:
        for size in range(1, len(problem.sizes) + 1):
            figures[f"noise_of_size_{size}"] = problem.errors_by_rule(size, 1)[1]
        if len(problem.sizes) > 1:
            figures["least_noise_step"] = _least_step(problem)
        if problem.order <= MOST_EFFECTS:
            figures["effects_error"] = _effects_error(problem, solution, problem.order)
    largest = max(len(view) for view in solution.variables["views"])
    if view_evaluation.marginals_of(problem) > MOST_MARGINALS or (problem.order or 0) > largest:
        return figures
    terms = view_evaluation.terms(problem, solution.variables["views"])
    errors = terms.errors(np.asarray(solution.variables["shares"])) / problem.users
    even = terms.errors(np.full(count, 1.0 / count)) / problem.users
    covered = np.isfinite(errors)
    figures["predicted_error"] = errors.tolist()
    figures["covered"] = int(covered.sum())
    if covered.any():
        weights = terms.weights[covered] / terms.weights[covered].sum()
        figures["mean_error"] = float(weights @ errors[covered])
        figures["worst_error"] = float(errors[covered].max())
        figures["gain_over_even"] = float(weights @ even[covered]) / figures["mean_error"]
    else:
        figures["mean_error"] = figures["worst_error"] = math.inf
    return figures


def _effects_error(problem: MarginalViews, solution: Solution[Any], order: int) -> float:
    """Return the error of the effects that a view has, for the marginal of the first attributes."""
    views = view_evaluation.as_views(solution.variables["views"])
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
    errors = rival_candidates.errors(problem, solution.variables["rival"])
    values, weights = np.array(list(errors.values())), np.array(list(problem.targets.values()))
    return {
        "groups": int(solution.variables["count"]),
        "predicted_error": values.tolist(),
        "mean_error": float(values @ weights / weights.sum()),
        "worst_error": float(values.max()),
    }


def _least_step(problem: MarginalViews) -> float:
    errors = [problem.errors_by_rule(size, 1)[1] for size in range(1, len(problem.sizes) + 1)]
    return min(larger / smaller for smaller, larger in pairwise(errors))


Table = NDArray[np.float64]
Answer = Callable[[tuple[int, ...]], Table]

HEAVY = 0.3
"""The share of people who buy much."""

LIGHT_RATE, HEAVY_RATE = 0.3, 0.9
"""What the first item is bought with, by those who buy little and much; item j by this over sqrt(j + 1)."""

MARGINALS = 20
"""Number of the requested marginals that are compared."""


def shoppers(sizes: Sequence[int], users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return codes of shape (users, d): 0 for most people and items, and dependent on each other.

    Those who buy much buy more of everything; a user who buys an item takes any of its other values with the
    same chance.

    Examples
    --------
    >>> codes = shoppers([2, 2, 3], 100_000, np.random.default_rng(1))
    >>> (codes > 0).mean(axis=0).round(1).tolist()  # 0.48 over 1, sqrt 2, sqrt 3
    [0.5, 0.3, 0.3]
    """
    rate = np.where(rng.random(users) < HEAVY, HEAVY_RATE, LIGHT_RATE)
    columns = [
        np.where(rng.random(users) < rate / np.sqrt(place + 1.0), rng.integers(1, size, users), 0)
        for place, size in enumerate(sizes)
    ]
    return np.column_stack(columns).astype(np.int64)


def simulation(
    problem: MarginalViews, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the mean squared errors of marginals, summed over cells, of all methods for the same people.

    ``views`` is the release by the solution's views. ``fc``, ``am`` and ``ft`` are the unbiased estimates of
    the full table, of all tables and of Fourier coefficients, the names with ``_nearest`` those brought to
    the nearest tables, ``uni`` equal cells. A method that cannot handle the sizes is left out.
    """
    codes = shoppers(problem.sizes, users, rng)
    targets = list(problem.targets) if problem.order is None else _some(problem, rng)
    truth = {one: true_marginal(codes, problem.sizes, one) for one in targets}
    methods = {**_views(problem, solution), **_rivals(problem, users)}
    errors_of: dict[str, list[float]] = {}
    for _ in range(repetitions):
        for name, collect in methods.items():
            answer = collect(codes, rng)
            tables = {one: answer(one) for one in targets}
            _add(errors_of, name, tables, truth)
            if name not in ("views", "uni"):
                _add(
                    errors_of, f"{name}_nearest", {one: nearest_table(tables[one]) for one in targets}, truth
                )
    return {name: float(np.mean(errors)) for name, errors in errors_of.items()}


def _some(problem: MarginalViews, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return some of all marginals of the order, drawn without listing all where they are many."""
    attributes, order = len(problem.sizes), problem.order or 1
    if attributes <= 12:
        every = list(combinations(range(attributes), order))
        return [every[place] for place in rng.permutation(len(every))[:MARGINALS]]
    draws = (rng.choice(attributes, order, replace=False) for _ in range(MARGINALS))
    return [tuple(sorted(int(item) for item in one)) for one in draws]


def _add(
    means: dict[str, list[float]],
    name: str,
    tables: dict[tuple[int, ...], Table],
    truth: dict[tuple[int, ...], Table],
) -> None:
    errors = [float(((tables[one] - truth[one]) ** 2).sum()) for one in truth]
    means.setdefault(name, []).append(float(np.mean(errors)))


def _views(problem: MarginalViews, solution: Solution[Any]) -> dict[str, Callable[[Any, Any], Answer]]:
    release: Any = solution.mechanism()
    if not isinstance(release, MarginalRelease) or release.attributes.count < len(problem.sizes):
        return {}

    def collect(codes: Any, rng: Any) -> Answer:
        answers = release.estimate(release.randomize(codes, rng=rng, anyway=True))
        return lambda attributes: answers.marginal(attributes).value

    return {"views": collect}


def _rivals(problem: MarginalViews, users: int) -> dict[str, Callable[[Any, Any], Answer]]:
    """Return the methods that can handle the problem's sizes; only those of an order."""
    if problem.order is None:
        return {}
    arguments = (problem.sizes, problem.epsilon, problem.order)
    ways: dict[str, Callable[[Any, Any], Answer]] = {}

    def full() -> Callable[[Any, Any], Answer]:
        rival = FullContingency(*arguments)
        return lambda codes, rng: rival.simulate(codes, rng).marginal

    def tables() -> Callable[[Any, Any], Answer]:
        rival = AllMarginals(*arguments)
        rival.group_users(users)
        return lambda codes, rng: rival.simulate(codes, rng).marginal

    def fourier() -> Callable[[Any, Any], Answer]:
        rival = FourierCoefficients(*arguments)
        rival.group_users(users)
        return lambda codes, rng: rival.release(codes, rng).marginal

    def uniform() -> Callable[[Any, Any], Answer]:
        rival = UniformAnswer(*arguments)
        return lambda codes, rng: rival.release(codes, rng).marginal

    for name, make in {"fc": full, "am": tables, "ft": fourier, "uni": uniform}.items():
        try:
            ways[name] = make()
        except MechDesignError:
            continue
    return ways
