"""Further numbers of a protocol: its messages, and what is reached without a shuffler."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.mechanisms.shuffle.uniformity import found_distance
from mechdesign.papers.shuffle.comparison import figures_of
from mechdesign.problems.shuffle.uniformity.problem import ShuffleUniformity


def quantities(problem: ShuffleUniformity, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and delta, and the distance found in the data themselves, ``bare_rmse``."""
    bare = found_distance(problem.users, problem.categories, 0, problem.error)
    return figures_of(problem, solution, {"bare_rmse": bare})
