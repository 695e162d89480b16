"""The interval by branch and bound along the border of the feasible set, for every notion and delta.

The value increases in a and in b, so the optimum lies on the border b = g(a), g the least b that is
feasible beside a: decreasing and piecewise linear. On the piece from a_0 to a_1 every point has a >= a_0 and
b >= g(a_1), so the value at the corner (a_0, g(a_1)) is a lower bound. Nothing else is used: neither
concavity nor the shape of the range of means.
"""

from __future__ import annotations

import heapq
import math

from mechdesign.core.method import Outcome
from mechdesign.families.mean.interval import offsets
from mechdesign.families.mean.interval.inward import rounded_inward
from mechdesign.families.mean.interval.problem import MeanInterval

PIECES = 20_000
"""Most pieces that are cut; the bound is valid wherever the search stops."""

SAFETY = 2.0**-44
"""More than the roundings of the border and of the value, relative."""


class Border:
    """The border b = g(a) from its left end to its right end."""

    def __init__(self, problem: MeanInterval) -> None:
        small = math.exp(-problem.epsilon)
        # both rows divided by e^eps: strong a + weak b >= limit and weak a + strong b >= limit
        self.strong = -math.expm1(-problem.epsilon) + problem.delta * small
        self.weak = problem.delta * small
        self.limit = (1.0 - problem.delta) * small
        self.both = problem.notion == "ldp"
        self.first = 0.0 if self.weak > 0.0 else self.limit / self.strong
        self.last = self.limit / (self.weak if self.both and self.weak > 0.0 else self.strong)

    def b(self, a: float) -> float:
        """Return g(a)."""
        need = max(0.0, self.limit - self.strong * a) / self.weak if self.weak > 0.0 else 0.0
        if not self.both:
            return need
        return max(need, (self.limit - self.weak * a) / self.strong, 0.0)


def run(problem: MeanInterval, accuracy: float = 1e-9) -> Outcome:
    """Cut the piece with the lowest bound until bound and best value agree to the wanted accuracy."""
    border = Border(problem)
    left, right = border.first, border.last
    best = min((left, right), key=lambda a: problem.at_offsets(a, border.b(a)))
    value = problem.at_offsets(best, border.b(best))
    pieces = [(problem.at_offsets(left, border.b(right)), left, right)]
    for _ in range(PIECES):
        lower, left, right = pieces[0]
        middle = (left + right) / 2.0
        if value - lower <= accuracy * value or not left < middle < right:
            break
        heapq.heappop(pieces)
        found = problem.at_offsets(middle, border.b(middle))
        if found < value:
            best, value = middle, found
        heapq.heappush(pieces, (problem.at_offsets(left, border.b(middle)), left, middle))
        heapq.heappush(pieces, (problem.at_offsets(middle, border.b(right)), middle, right))
    a, b = best, border.b(best)
    width = 1.0 / (1.0 + a + b)
    interval = rounded_inward(problem, a * width, (1.0 + a) * width, b * width)
    if interval is None:
        return Outcome(status="infeasible", solver="branch and bound", message="the interval has no width")
    return Outcome(
        status="optimal",
        variables={"interval": list(interval)},
        bound=pieces[0][0] * (1.0 - SAFETY),
        bound_source="monotonicity on every piece of the border",
        solver="branch and bound",
        notes={"pieces": len(pieces)},
    )


def why_not(problem: MeanInterval) -> str | None:
    """Return why the border cannot be walked, or None."""
    if problem.epsilon == 0.0 and problem.delta == 0.0:
        return "no interval is independent of the value, as epsilon = 0 and delta = 0 require"
    if problem.epsilon > 0.0 and offsets.least_offset(problem.epsilon) == 0.0:
        return "the offsets are beyond double precision; the closed form is exact"
    return None
