"""The methods of ``mean-interval``: a closed form, a geometric program, and branch and bound.

Every result is rounded inward, to doubles that keep the constraints exactly.

**Closed form**: the best of at most three vertices. In the offsets a, b >= 0 the constraints are linear,

    (e^eps - 1 + delta) a + delta b >= 1 - delta      (report 1)
    delta a + (e^eps - 1 + delta) b >= 1 - delta      (report 0)

and the value increases in a and in b, so the optimum lies on the lower left border. At one mean the
logarithm of the value is concave, hence it is least at a vertex; docs/families/mean.md proves the same
for the worst mean of a range. The vertices are the intervals

    [(1 - delta)/(e^eps + 1), (e^eps + delta)/(e^eps + 1)],   [0, delta],   [1 - delta, 1]

and, when only report 1 is kept private, [(1 - delta)/e^eps, 1] and [0, delta]. Without delta only the
first of each is left: the paper's symmetric interval, and its "optimum" (corollary 1).

**Geometric program**: the statement, proven in logarithms. For a given mean both values are posynomials in a
and b; the worst mean of a range is a minimum over one more variable.

**Branch and bound** along the border of the feasible set, for every notion and delta. The value increases
in a and in b, so the optimum lies on the border b = g(a), g the least b that is feasible next to a:
decreasing and piecewise linear. On the piece from a_0 to a_1 every point has a >= a_0 and b >= g(a_1), so
the value at the corner (a_0, g(a_1)) is a lower bound. Nothing else is used: neither concavity nor the
shape of the range of means.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from typing import Any

from mechdesign.core.problem import Method, Outcome
from mechdesign.exact.randomness import BITS
from mechdesign.families.mean.interval import MeanInterval, least_offset
from mechdesign.solvers.statement import statement_method


def rounded_inward(
    problem: MeanInterval, start: float, end: float, rest: float
) -> tuple[float, float] | None:
    """Move the ends towards each other by the fewest steps until the constraints hold without tolerance.

    The ends become multiples of 2**-62, the numbers that a mechanism draws with. An end at 0 or 1
    stays there. None when nothing is left between the ends.

    Parameters
    ----------
    problem : MeanInterval
    start, end, rest : float
        c, c + d, and 1 - c - d; the smaller of the last two is used, which has the better accuracy.

    Examples
    --------
    >>> problem = MeanInterval(epsilon=1.0)
    >>> start, end = rounded_inward(problem, 1 / (math.e + 1), math.e / (math.e + 1), 1 / (math.e + 1))
    >>> problem.is_private(start, end)
    True
    """
    if start == 0.0 and rest == 0.0:
        return None  # neither end may move, and [0, 1] is private for no epsilon
    steps = 0
    while True:
        low, high = _moved_up(start, steps), _upper(end, rest, steps)
        if high <= low:
            return None
        if problem.is_private(low, high):
            return low, high
        steps = 2 * steps + 1


def _moved_up(number: float, steps: int) -> float:
    """Return the number, moved up by ``steps`` spacings of doubles, each at least 2**-62; 0 stays."""
    if number == 0.0:
        return 0.0
    grid = math.ldexp(math.ceil(math.ldexp(number, BITS)), -BITS)
    return grid + steps * max(math.ulp(grid), 2.0**-BITS)


def _upper(end: float, rest: float, steps: int) -> float:
    """Return the upper end, moved down by ``steps`` spacings; 1 stays, and nothing else becomes 1."""
    if end < rest:
        grid = math.ldexp(math.floor(math.ldexp(end, BITS)), -BITS)
        return grid - steps * max(math.ulp(grid), 2.0**-BITS)
    high = 1.0 - _moved_up(rest, steps)
    return math.nextafter(1.0, 0.0) if rest > 0.0 and high == 1.0 else high


SAFETY = 2.0**-47
"""More than the dozen roundings of a value, relative."""


TINY = 2.0**-200
"""Stands for an e^-eps below it, so that an end that is rounded up to a multiple of 2**-62 is not lost."""


def vertices(problem: MeanInterval) -> dict[str, tuple[float, ...]]:
    """Return c, c + d, 1 - c - d, a and b of every vertex of the feasible set, by name."""
    small, delta = math.exp(-problem.epsilon), problem.delta
    rest = 1.0 - delta
    gain = -math.expm1(-problem.epsilon)  # (e^eps - 1)/e^eps without cancellation
    corners: dict[str, tuple[float, ...]] = {}
    positive = max(small, TINY)
    if gain + delta > 0.0:
        if problem.notion == "ldp":
            start, offset = rest * positive / (1.0 + small), rest * small / (gain + 2.0 * delta * small)
            corners["symmetric"] = (start, 1.0 - start, start, offset, offset)
        else:
            corners["published"] = (rest * positive, 1.0, 0.0, rest * small / (gain + delta * small), 0.0)
    if delta > 0.0:
        corners["from zero"] = (0.0, delta, rest, 0.0, rest / delta)
        if problem.notion == "ldp":
            corners["to one"] = (rest, 1.0, 0.0, rest / delta, 0.0)
    return corners


def best_vertex(problem: MeanInterval) -> Outcome:
    """Take the best vertex and round it inward until it is private exactly."""
    corners = vertices(problem)
    values = {name: problem.at_offsets(a, b) for name, (_, _, _, a, b) in corners.items()}
    best = min(values, key=lambda name: values[name], default=None)
    interval = rounded_inward(problem, *corners[best][:3]) if best is not None else None
    if best is None or interval is None:
        return Outcome(
            status="infeasible",
            solver="closed form",
            message="no report may depend on the value; give epsilon > 0 or delta > 0",
        )
    return Outcome(
        status="optimal",
        variables={"interval": list(interval)},
        bound=values[best] * (1.0 - SAFETY),
        bound_source="the closed form's proof",
        solver="closed form",
        notes={"vertex": best},
    )


PIECES = 20_000
"""Most pieces that are cut; the bound is valid wherever the search stops."""

BRANCH_SAFETY = 2.0**-44
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


def branch_and_bound(problem: MeanInterval, accuracy: float = 1e-9) -> Outcome:
    """Cut the piece with the lowest bound until bound and best value agree to the requested accuracy."""
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
        candidate = problem.at_offsets(middle, border.b(middle))
        if candidate < value:
            best, value = middle, candidate
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
        bound=pieces[0][0] * (1.0 - BRANCH_SAFETY),
        bound_source="monotonicity on every piece of the border",
        solver="branch and bound",
        notes={"pieces": len(pieces)},
    )


def why_no_branching(problem: MeanInterval) -> str | None:
    """Return why the border cannot be walked, or None."""
    if problem.epsilon == 0.0 and problem.delta == 0.0:
        return "no interval is independent of the value, as epsilon = 0 and delta = 0 require"
    if problem.epsilon > 0.0 and least_offset(problem.epsilon) == 0.0:
        return "the offsets are beyond double precision; the closed form is exact"
    return None


def from_statement(problem: MeanInterval, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the interval of the statement's offsets, rounded inward."""
    a, b = float(values["a"]), float(values["b"])
    width = 1.0 / (1.0 + a + b)
    interval = rounded_inward(problem, a * width, (1.0 + a) * width, b * width)
    return {"interval": list(interval or (0.0, 0.0))}


METHODS = (
    Method("closed-form", MeanInterval, "analytic", "the best of three vertices", best_vertex),
    Method("branch-and-bound", MeanInterval, "numeric",
           "cut the border of the feasible set, bound by monotonicity", branch_and_bound, why_no_branching),
    statement_method(MeanInterval, former_names=("geometric",)),
)  # fmt: skip
