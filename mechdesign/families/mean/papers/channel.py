"""A solved channel next to the bound for any mechanism whatever, and next to its rivals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mechdesign.core.solution import Quantities, Solution
from mechdesign.families.mean.channel import MeanChannel, any_mechanism_bound
from mechdesign.families.mean.variance import WORST_VARIANCES

RIVALS = ("laplace", "duchi", "piecewise", "hybrid")


def quantities(problem: MeanChannel, solution: Solution[Any]) -> Quantities:
    """Return the bound for any mechanism whatever, and the rivals' worst-case variances, on [0, 1].

    ``laplace`` and the like are the rivals' variances; ratios and differences of two are named so.
    ``any_mechanism`` is a lower bound of the criterion over all unbiased epsilon-private mechanisms of any
    form; ``above_any`` by which part the value exceeds it; ``below_hybrid`` by which part the value is below
    that of the hybrid mechanism (worst case only).
    """
    numbers: dict[str, Any] = {
        "any_mechanism": partial(_any_mechanism, problem),
        "above_any": partial(_above_any, problem, solution.value),
        "reports": int(np.shape(solution.variables["channel"])[1]),
        "largest_output": float(np.max(solution.variables["output_values"])),
    }
    if problem.criterion == "worst":
        rivals = {name: float(WORST_VARIANCES[name](problem.epsilon)) / 4.0 for name in RIVALS}
        numbers |= {
            **rivals,
            "below_hybrid": 1.0 - solution.value / rivals["hybrid"],
            "piecewise_over_duchi": rivals["piecewise"] / rivals["duchi"],
            "laplace_over_piecewise": rivals["laplace"] / rivals["piecewise"],
            "laplace_less_piecewise": rivals["laplace"] - rivals["piecewise"],
            "laplace_over_duchi": rivals["laplace"] / rivals["duchi"],
        }
    return Quantities(numbers)


def _any_mechanism(problem: MeanChannel) -> float:
    return any_mechanism_bound(problem.epsilon, problem.criterion, len(problem.knots()))


def _above_any(problem: MeanChannel, value: float) -> float:
    return value / _any_mechanism(problem) - 1.0
