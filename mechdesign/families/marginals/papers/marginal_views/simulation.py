"""Simulated shoppers: what views and the other methods really make of the same people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError
from mechdesign.core.solution import Solution
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.marginal_views.problem import MarginalViews
from mechdesign.families.marginals.papers.rivals import (
    AllMarginals,
    FourierCoefficients,
    FullContingency,
    UniformAnswer,
    nearest_table,
    true_marginal,
)

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
    wanted = list(problem.wanted) if problem.order is None else _some(problem, rng)
    truth = {one: true_marginal(codes, problem.sizes, one) for one in wanted}
    methods = {**_views(problem, solution), **_rivals(problem, users)}
    found: dict[str, list[float]] = {}
    for _ in range(repetitions):
        for name, collect in methods.items():
            answer = collect(codes, rng)
            tables = {one: answer(one) for one in wanted}
            _add(found, name, tables, truth)
            if name not in ("views", "uni"):
                _add(found, f"{name}_nearest", {one: nearest_table(tables[one]) for one in wanted}, truth)
    return {name: float(np.mean(errors)) for name, errors in found.items()}


def _some(problem: MarginalViews, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return some of all marginals of the order, drawn without listing all where they are many."""
    attributes, order = len(problem.sizes), problem.order or 1
    if attributes <= 12:
        every = list(combinations(range(attributes), order))
        return [every[place] for place in rng.permutation(len(every))[:MARGINALS]]
    drawn = (rng.choice(attributes, order, replace=False) for _ in range(MARGINALS))
    return [tuple(sorted(int(item) for item in one)) for one in drawn]


def _add(
    found: dict[str, list[float]],
    name: str,
    tables: dict[tuple[int, ...], Table],
    truth: dict[tuple[int, ...], Table],
) -> None:
    errors = [float(((tables[one] - truth[one]) ** 2).sum()) for one in truth]
    found.setdefault(name, []).append(float(np.mean(errors)))


def _views(problem: MarginalViews, solution: Solution[Any]) -> dict[str, Callable[[Any, Any], Answer]]:
    release: Any = solution.mechanism()
    if not isinstance(release, MarginalRelease) or release.attributes.count < len(problem.sizes):
        return {}

    def collect(codes: Any, rng: Any) -> Answer:
        answers = release.estimate(release.randomize(codes, rng=rng, anyway=True))
        return lambda wanted: answers.marginal(wanted).value

    return {"views": collect}


def _rivals(problem: MarginalViews, users: int) -> dict[str, Callable[[Any, Any], Answer]]:
    """Return the methods that can handle the problem's sizes; only those of an order."""
    if problem.order is None:
        return {}
    arguments = (problem.sizes, problem.epsilon, problem.order)
    found: dict[str, Callable[[Any, Any], Answer]] = {}

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
            found[name] = make()
        except MechDesignError:
            continue
    return found
