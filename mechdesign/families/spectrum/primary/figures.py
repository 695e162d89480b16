"""Picture of an owner's choice: its utility over the widening of its protected circle (figure 6.13)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line, Points


def figures(problem: SpectrumPrimary, solution: Solution[Any]) -> list[Figure]:
    """Return utility and revenue over the widening, with the optimum."""
    best = float(solution.variables["privacy"])
    low, high = map(float, problem.limits)
    levels = np.linspace(
        max(low, 0.15 * best), min(2.5 * best, high) if problem.widening == "mean" else 2.5 * best, 100
    )
    marks = [
        Line(x=levels, y=[problem.utility(float(level)) for level in levels], label="owner's utility"),
        Line(x=levels, y=[problem.revenue(float(level)) for level in levels], label="revenue alone"),
        Points(x=[best], y=[problem.utility(best)], label="best widening"),
    ]
    panel = Panel("widening L of the protected circle (units of distance)", "money", marks)
    caption = "A wider circle leaves less room to rent out. It does not hide the owner from many queries."
    return [Figure("Widening of an owner", [panel], caption)]
