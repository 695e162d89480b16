"""Protocols for histograms next to their papers: with their constants, by other means, and on drawn data.

Errors of hashing are also computed by the formulas of its paper, with ideal hash functions. The protocols
that run here draw from a family of exactly pairwise equal collisions, which has at most as many buckets as
its prime; the paper's formula takes more buckets than categories when users are many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.counts import ShuffleHistogram
from mechdesign.families.shuffle.papers.choosing import (
    figures_of,
    measured,
    normal_categories,
    require_users,
)
from mechdesign.families.shuffle.tasks import HistogramProtocol

SHARE = 0.01
"""Fake messages a user that the survey's experiments let the shufflers of MURS add."""


def normal_counts(users: int, categories: int) -> NDArray[np.float64]:
    """Return the expected number of users in each category when these are a rounded normal number.

    Its mean is the middle of the categories, its standard deviation a sixth of their number; what is beyond
    them is drawn again.

    Examples
    --------
    >>> normal_counts(1000, 4).round(1).tolist()
    [65.6, 434.4, 434.4, 65.6]
    """
    ends = np.linspace(-3.0, 3.0, categories + 1)
    below = np.array([0.5 * math.erfc(-end / math.sqrt(2.0)) for end in ends.tolist()])
    mass = np.diff(below)
    counts: NDArray[np.float64] = users * mass / mass.sum()
    return counts


def hashing_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the error of an empty category by local hashing as printed (SLH), or infinity outside its range.

    With M = epsilon^2 (n - 1) / (14 ln(2/delta)) and d' = (M + 2) / 3 buckets the variance is
    n M^2 / ((M - d')^2 (d' - 1)).

    Examples
    --------
    >>> round(hashing_rmse(100_000, 0.9, 1e-6), 1)
    41.3
    """
    mass = min(epsilon**2 * (users - 1) / (14.0 * math.log(2.0 / delta)), epsilon * (users - 1) / 27.0)
    buckets = round((mass + 2.0) / 3.0)
    if epsilon > 1.0 or not 2 <= buckets < mass:
        return math.inf
    return math.sqrt(users * mass**2 / ((mass - buckets) ** 2 * (buckets - 1.0)))


def fakes_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the same with fakes of the shufflers (MURS), one for a hundred users, or infinity.

    With d' buckets and F fakes the local epsilon solves 14 ln(2/delta) / epsilon^2 = (n - 1) / (e + d' - 1) +
    F / d', the variance is (n + F) (1/d') (1 - 1/d') / (p - 1/d')^2 with p = e / (e + d' - 1).

    Examples
    --------
    >>> round(fakes_rmse(100_000, 0.9, 1e-6), 1)
    40.9
    """
    needed, fakes = 14.0 * math.log(2.0 / delta) / epsilon**2, SHARE * users
    if epsilon > 1.0:
        return math.inf
    buckets = np.arange(2.0, max(4.0, users / needed))
    rest = needed - fakes / buckets
    with np.errstate(divide="ignore"):
        own = np.where(rest > 0.0, 1.0 - rest * (buckets - 1.0) / (users - 1.0), 1.0)
    fit = 1.0 / buckets
    gain = np.where(own > fit, own - fit, np.nan)
    variance = (users + fakes) * fit * (1.0 - fit) / gain**2
    return math.inf if np.isnan(variance).all() else math.sqrt(float(np.nanmin(variance)))


def histogram_quantities(problem: ShuffleHistogram, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is k-ary randomized response without a shuffler, ``laplace_rmse`` Laplace noise of scale
    2 / epsilon by a trusted server, ``printed_slh_rmse`` and ``printed_murs_rmse`` hashing by the paper's
    formulas; ``over_...`` the value as a multiple of it, of another protocol's as well. ``normal_rmse`` is
    the error over all categories when users hold normally distributed ones.
    """
    grown = math.exp(problem.epsilon)
    figures = figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users * (grown + problem.categories - 2.0)) / (grown - 1.0),
            "laplace_rmse": 2.0 * math.sqrt(2.0) / problem.epsilon,
            "printed_slh_rmse": hashing_rmse(problem.users, problem.epsilon, problem.delta),
            "printed_murs_rmse": fakes_rmse(problem.users, problem.epsilon, problem.delta),
        },
    )
    protocol = problem.built(solution.variables)
    if isinstance(protocol, HistogramProtocol):
        counts = normal_counts(problem.users, problem.categories)
        figures["normal_rmse"] = math.sqrt(float(protocol.squares_at(counts).mean()))
        figures["normal_over_local"] = figures["normal_rmse"] / figures["local_rmse"]
    return figures


def histogram_simulation(
    problem: ShuffleHistogram, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users whose categories are normal around the middle, drawn again each time.

    Returns
    -------
    dict
        ``rmse`` over all categories, and ``predicted_rmse`` for the expected counts.
    """
    require_users(users, problem.users)
    protocol, data = problem.built(solution.variables), []
    for _ in range(repetitions):
        values = normal_categories(users, problem.categories, rng)
        data.append((values, np.bincount(values, minlength=problem.categories)))
    errors = {"rmse": measured(protocol, data, rng)}
    if isinstance(protocol, HistogramProtocol):
        squares = protocol.squares_at(normal_counts(users, problem.categories))
        errors["predicted_rmse"] = math.sqrt(float(squares.mean()))
    return errors
