"""Further numbers of a protocol for histograms: its messages, and what others reach without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.shuffle.candidates import figures_of
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram


def quantities(problem: ShuffleHistogram, solution: Candidate) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models beside this one.

    ``local_rmse`` is k-ary randomized response without a shuffler, ``laplace_rmse`` Laplace noise of scale
    2 / epsilon by a trusted server; ``over_...`` the value as a multiple of it.
    """
    grown = math.exp(problem.epsilon)
    return figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users * (grown + problem.categories - 2.0)) / (grown - 1.0),
            "laplace_rmse": 2.0 * math.sqrt(2.0) / problem.epsilon,
        },
    )
