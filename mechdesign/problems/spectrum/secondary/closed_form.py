"""The positive root of 2 k1 pi L^3 + 2 k1 pi r0 L^2 = ks, by Cardano's formula without cancellation."""

from __future__ import annotations

import math

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.spectrum.secondary.problem import SpectrumSecondary, outcome


def best_privacy(problem: SpectrumSecondary) -> float:
    """Return the root, polished by Newton's method.

    With L = 1 / u the equation is ks u^3 - 2 k1 pi r0 u - 2 k1 pi = 0, a depressed cubic
    u^3 - 3 p u - 2 q = 0 with p, q > 0, whose largest root is 2 sqrt(p) cosh(arcosh(q / p^1.5) / 3), with cos
    in place of cosh where q < p^1.5.
    """
    unit = 2.0 * math.pi * problem.price / problem.privacy_cost
    p, q = unit * problem.radius / 3.0, unit / 2.0
    ratio = q / p**1.5
    turn = math.cosh(math.acosh(ratio) / 3.0) if ratio >= 1.0 else math.cos(math.acos(ratio) / 3.0)
    level = 1.0 / (2.0 * math.sqrt(p) * turn)
    for _ in range(2):
        curvature = -2.0 * problem.privacy_cost / level**3 - 2.0 * math.pi * problem.price
        level -= problem.slope(level) / curvature
    return level


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
