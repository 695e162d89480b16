"""Picture of a cloak's size: revenue and privacy lost over its area."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.cloak.problem import SpectrumCloakDesign
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line, Points


def figures(problem: SpectrumCloakDesign, solution: Solution[Any]) -> list[Figure]:
    """Return the losses around the optimum, and the least revenue lost by any database."""
    best = float(solution.variables["cell"])
    low, high = problem.limits
    cells = np.linspace(max(low, 0.3 * best), min(high, 2.0 * best), 120)
    areas = problem.figure.area * cells**2
    revenue = [
        problem.lost(float(area), problem.figure.perimeter * float(cell))
        for area, cell in zip(areas, cells, strict=True)
    ]
    marks = [
        Line(x=areas, y=[problem.cost(float(cell)) for cell in cells], label="revenue and privacy lost"),
        Line(x=areas, y=revenue, label="revenue lost"),
        Line(x=areas, y=[problem.least_lost(float(area)) for area in areas], label="least of any database"),
        Points(x=[problem.figure.area * best**2], y=[problem.cost(best)], label="best size"),
    ]
    panel = Panel("area of the cloak (units of distance squared)", "money", marks)
    caption = "A larger cloak hides the owner better and closes more of the map to users."
    return [Figure("How large the cloak of an owner is", [panel], caption)]
