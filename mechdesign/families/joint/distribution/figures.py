"""Picture of an estimated joint distribution, cell by cell."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.joint.distribution.problem import JointDistribution
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars

MOST_CELLS = 40


def figures(problem: JointDistribution, solution: Solution[Any]) -> list[Figure]:
    """Return the share of each cell; nothing of many cells."""
    shares = np.asarray(solution.variables["distribution"], dtype=np.float64).ravel()
    if len(shares) > MOST_CELLS:
        return []
    names = [" ".join(map(str, cell)) for cell in product(*(range(size) for size in problem.attributes))]
    marks = [Bars(x=np.arange(len(shares)), y=shares, label="estimated share")]
    panel = Panel("values of the attributes, from 0", "share of the users", marks, x_names=names)
    return [Figure("The estimated joint distribution", [panel])]
