"""What the optimum of ``spectrum-secondary`` is worth next to the baseline of section 6.6.1."""

from __future__ import annotations

from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.secondary import SpectrumSecondary

FIXED_SECONDARY, FIXED_PRIMARY = 2.0, 1.0
"""The privacy levels of the baseline, which are fixed and not optimised."""


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
