"""Picture of a covering: which view holds which attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.marginals.covering_design.problem import CoveringDesign
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Points

MOST_VIEWS = 80


def figures(problem: CoveringDesign, solution: Solution[Any]) -> list[Figure]:
    """Return a column of points for each view; nothing of many views."""
    blocks = np.asarray(solution.variables["blocks"], dtype=np.int64)
    if len(blocks) > MOST_VIEWS:
        return []
    x = np.repeat(np.arange(len(blocks)), blocks.shape[1])
    panel = Panel("view, from 0", "attributes in it, from 0", [Points(x=x, y=blocks.ravel())])
    caption = f"Any {problem.order} attributes are together in some view."
    return [Figure(f"{len(blocks)} views of {problem.block} attributes", [panel], caption)]
