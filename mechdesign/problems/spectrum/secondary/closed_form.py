"""The positive root of 2 k1 pi L^3 + 2 k1 pi r0 L^2 = ks, by Cardano's formula without cancellation."""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.spectrum.cubic import positive_root
from mechdesign.problems.spectrum.secondary.problem import SpectrumSecondary, outcome


def best_privacy(problem: SpectrumSecondary) -> float:
    """Return the root, polished by Newton's method."""
    unit = 2.0 * math.pi * problem.price / problem.privacy_cost
    return positive_root(unit, unit * problem.radius, 1.0)


def run(problem: SpectrumSecondary) -> Outcome:
    """Return the root with its bound."""
    return outcome(problem, best_privacy(problem), "closed form")


METHOD = Method(
    name="closed-form",
    problem=SpectrumSecondary,
    kind="analytic",
    preference=10,
    summary="the positive root of a cubic",
    run=run,
)
