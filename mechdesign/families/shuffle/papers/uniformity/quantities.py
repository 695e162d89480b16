"""Further numbers of a protocol: its messages, and what is reached without a shuffler."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.papers.comparison import figures_of
from mechdesign.families.shuffle.uniformity.problem import ShuffleUniformity
from mechdesign.families.shuffle.uniformity_tests import found_distance


def quantities(problem: ShuffleUniformity, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and delta, and the distance found in the data themselves, ``bare_rmse``."""
    bare = found_distance(problem.users, problem.categories, 0, problem.error)
    return figures_of(problem, solution, {"bare_rmse": bare})
