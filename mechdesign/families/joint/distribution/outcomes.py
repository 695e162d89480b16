"""What methods hand back: the distribution, and the bound that its own likelihood ratios prove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.joint.distribution.problem import GAP, JointDistribution
from mechdesign.families.joint.penalized import DISTANCE

Array = NDArray[np.float64]


def outcome(
    problem: JointDistribution, distribution: Array, solver: str, notes: Mapping[str, Any] | None = None
) -> Outcome:
    """Return a distribution: ``optimal`` where its likelihood ratios prove it, else ``feasible``."""
    distribution = distribution / distribution.sum()
    if problem.penalty:
        near = problem.judge_penalized({"distribution": distribution})
        return Outcome(
            status="optimal" if near.distance <= DISTANCE else "feasible",
            variables={"distribution": distribution},
            bound=near.value - near.gap,
            bound_source="the mean likelihood ratios and the penalty",
            solver=solver,
            notes={"distance": near.distance, **(notes or {})},
        )
    judged = problem.judge({"distribution": distribution})
    return Outcome(
        status="optimal" if judged.ratio <= 1.0 + GAP else "feasible",
        variables={"distribution": distribution},
        bound=judged.bound,
        bound_source="the largest mean likelihood ratio of a cell",
        solver=solver,
        notes={"largest_ratio": judged.ratio, **(notes or {})},
    )


def no_penalty(problem: JointDistribution) -> str | None:
    """Return why a method does not apply that knows no penalty, if so."""
    return "it has no penalty" if problem.penalty else None
