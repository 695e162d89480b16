"""The closed form of the interval: the best of at most three vertices.

In the offsets a, b >= 0 the constraints are linear,

    (e^eps - 1 + delta) a + delta b >= 1 - delta      (report 1)
    delta a + (e^eps - 1 + delta) b >= 1 - delta      (report 0)

and the value increases in a and in b, so the optimum lies on the lower left border. At one mean the
logarithm of the value is concave, hence it is least at a vertex; docs/families/mean.md proves the same
for the worst mean of a range. The vertices are the intervals

    [(1 - delta)/(e^eps + 1), (e^eps + delta)/(e^eps + 1)],   [0, delta],   [1 - delta, 1]

and, when only report 1 is kept private, [(1 - delta)/e^eps, 1] and [0, delta]. Without delta only the
first of each is left: the paper's symmetric interval, and its "optimum" (corollary 1).
"""

from __future__ import annotations

import math

from mechdesign.core.method import Outcome
from mechdesign.families.mean.interval.inward import rounded_inward
from mechdesign.families.mean.interval.problem import MeanInterval

SAFETY = 2.0**-47
"""More than the dozen roundings of a value, relative."""


TINY = 2.0**-200
"""Stands for an e^-eps below it, so that an end that is rounded up to a multiple of 2**-62 is not lost."""


def vertices(problem: MeanInterval) -> dict[str, tuple[float, ...]]:
    """Return c, c + d, 1 - c - d, a and b of every vertex of the feasible set, by name."""
    small, delta = math.exp(-problem.epsilon), problem.delta
    rest = 1.0 - delta
    gain = -math.expm1(-problem.epsilon)  # (e^eps - 1)/e^eps without cancellation
    found: dict[str, tuple[float, ...]] = {}
    positive = max(small, TINY)
    if gain + delta > 0.0:
        if problem.notion == "ldp":
            start, offset = rest * positive / (1.0 + small), rest * small / (gain + 2.0 * delta * small)
            found["symmetric"] = (start, 1.0 - start, start, offset, offset)
        else:
            found["published"] = (rest * positive, 1.0, 0.0, rest * small / (gain + delta * small), 0.0)
    if delta > 0.0:
        found["from zero"] = (0.0, delta, rest, 0.0, rest / delta)
        if problem.notion == "ldp":
            found["to one"] = (rest, 1.0, 0.0, rest / delta, 0.0)
    return found


def run(problem: MeanInterval) -> Outcome:
    """Take the best vertex and round it inward until it is private exactly."""
    found = vertices(problem)
    values = {name: problem.at_offsets(a, b) for name, (_, _, _, a, b) in found.items()}
    best = min(values, key=lambda name: values[name], default=None)
    interval = rounded_inward(problem, *found[best][:3]) if best is not None else None
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
