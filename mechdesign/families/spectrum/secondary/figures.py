"""Picture of a user's choice: its utility over the level of location privacy (figure 6.12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.secondary.problem import SpectrumSecondary
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line, Points


def figures(problem: SpectrumSecondary, solution: Solution[Any]) -> list[Figure]:
    """Return the utility around the optimum, which stands out."""
    best = float(solution.variables["privacy"])
    levels = np.linspace(0.3 * best, 2.5 * best, 120)
    marks = [
        Line(x=levels, y=[problem.utility(float(level)) for level in levels], label="utility"),
        Points(x=[best], y=[problem.utility(best)], label="best level"),
    ]
    panel = Panel("location privacy: radius of uncertainty (units of distance)", "user's utility", marks)
    return [
        Figure("Location privacy that a user chooses", [panel], "Too little reveals, too much costs rent.")
    ]
