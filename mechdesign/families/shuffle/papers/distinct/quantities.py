"""Further numbers of a protocol: its messages, and what is reached without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.distinct.problem import ShuffleDistinct
from mechdesign.families.shuffle.papers.comparison import figures_of


def quantities(problem: ShuffleDistinct, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and delta, and the error of a trusted server, ``geometric_rmse``."""
    ratio = math.exp(-problem.epsilon)
    return figures_of(problem, solution, {"geometric_rmse": math.sqrt(2.0 * ratio) / (1.0 - ratio)})
