"""Further numbers of a covering: how far from the bound, and how often subsets are covered."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.covering_design.bounds import schoenheim
from mechdesign.families.marginals.covering_design.problem import CoveringDesign


def quantities(problem: CoveringDesign, solution: Solution[Any]) -> dict[str, Any]:
    """Return Schoenheim's bound, the relative gap, and the density.

    ``density`` is how many blocks contain a subset on average: 1 for a Steiner system. ``relative_gap``
    is the part by which the value exceeds the proven bound.
    """
    within, subsets = math.comb(problem.block, problem.order), math.comb(problem.points, problem.order)
    return {
        "schoenheim": schoenheim(problem.points, problem.order, problem.block),
        "density": solution.value * within / subsets,
        "relative_gap": math.inf if not solution.bound else solution.gap / solution.bound,
    }
