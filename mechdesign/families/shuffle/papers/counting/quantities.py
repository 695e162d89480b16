"""Further numbers of a counting protocol: its messages, and what others reach without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.counting.problem import ShuffleCounting
from mechdesign.families.shuffle.papers.comparison import figures_of


def quantities(problem: ShuffleCounting, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is randomized response without a shuffler, ``laplace_rmse`` one Laplace number by a trusted
    server, ``geometric_rmse`` the discrete one; ``over_...`` the value as a multiple of it, of another
    protocol's as well.
    """
    grown, ratio = math.exp(problem.epsilon), math.exp(-problem.epsilon)
    return figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users * grown) / (grown - 1.0),
            "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
            "geometric_rmse": math.sqrt(2.0 * ratio) / (1.0 - ratio),
        },
    )
