"""Further numbers of a protocol for histograms: its messages, and what others reach without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.families.shuffle.papers.comparison import figures_of
from mechdesign.families.shuffle.papers.histogram.printed import fakes_rmse, hashing_rmse, normal_counts
from mechdesign.families.shuffle.tasks import HistogramProtocol


def quantities(problem: ShuffleHistogram, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is k-ary randomized response without a shuffler, ``laplace_rmse`` Laplace noise of scale
    2 / epsilon by a trusted server, ``printed_slh_rmse`` and ``printed_murs_rmse`` hashing by the paper's
    formulas; ``over_...`` the value as a multiple of it, of another protocol's as well. ``normal_rmse`` is
    the error over all categories when users hold normally distributed ones.
    """
    grown = math.exp(problem.epsilon)
    found = figures_of(
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
        found["normal_rmse"] = math.sqrt(float(protocol.squares_at(counts).mean()))
        found["normal_over_local"] = found["normal_rmse"] / found["local_rmse"]
    return found
