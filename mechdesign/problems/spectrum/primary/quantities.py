"""What the optimum is worth beside a fixed widening, and when the widening is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.spectrum.judging import FIXED_PRIMARY
from mechdesign.problems.spectrum.primary.problem import SpectrumPrimary


def quantities(problem: SpectrumPrimary, solution: Candidate) -> dict[str, Any]:
    """Return the utility at the fixed widening 1 of section 6.6.1, the gain, and the expected utility.

    ``expected_utility`` is that of the solution when the widening is drawn, whatever was maximised.
    """
    fixed = problem.utility(FIXED_PRIMARY)
    drawn = replace(problem, widening="exponential")
    return {
        "fixed_utility": fixed,
        "gain": solution.value - fixed,
        "expected_utility": drawn.utility(float(solution.variables["privacy"])),
    }
