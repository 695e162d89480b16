"""What the optimum is worth next to the thesis's baseline with a fixed privacy radius."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.papers.baseline import FIXED_SECONDARY
from mechdesign.families.spectrum.secondary.problem import SpectrumSecondary


def quantities(problem: SpectrumSecondary, solution: Solution[Any]) -> dict[str, Any]:
    """Return the utility at the fixed privacy radius 2 of section 6.6.1, and the gain over it.

    ``bought_over_income`` is the cost of buying (6.5) as a part of the income (6.4).
    """
    fixed = problem.utility(FIXED_SECONDARY)
    bought = problem.price * (float(solution.variables["privacy"]) + problem.radius) ** 2
    return {
        "fixed_utility": fixed,
        "gain": solution.value - fixed,
        "bought_over_income": bought / (problem.reward * problem.radius**2),
    }
