"""Further numbers of a protocol: its messages, and what is reached without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.papers.comparison import figures_of
from mechdesign.families.shuffle.range.problem import ShuffleRange
from mechdesign.families.shuffle.range_tree import most_parts


def quantities(problem: ShuffleRange, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and delta.

    ``split_rmse`` is a trusted server with Laplace noise of scale 2 L / epsilon in each of the nodes.
    """
    levels = (problem.categories - 1).bit_length()
    return figures_of(
        problem,
        solution,
        {"split_rmse": math.sqrt(most_parts(levels) * 2.0) * levels * 2.0 / problem.epsilon},
    )
