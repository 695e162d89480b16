"""The worst type: the population whose best average error is largest, and a bound at every one.

The best average error L(pi) is concave in pi with the slope t_u of the optimum's types. Multiplicative steps
raise it; the channel of the last population has some worst type, and L(pi) is a lower bound for the worst
type of every channel. A group that moves any type to any other makes equal shares the worst ones, and this
stops at once.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.audit.workload_bound import MOST_ENUMERATED
from mechdesign.core.method import Outcome
from mechdesign.mechanisms.workload.value import Array
from mechdesign.problems.workload.linear_queries import all_columns, columns
from mechdesign.problems.workload.linear_queries.outcomes import infeasible, outcome
from mechdesign.problems.workload.linear_queries.problem import LinearQueries

STEPS = 60
CLOSE = 1e-5
"""The gap at which the population is no longer changed, as a part of the value."""


def averaged(problem: LinearQueries, shares: Array) -> LinearQueries:
    """Return the problem of the average error at these shares."""
    return LinearQueries(
        workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights, population=shares
    )


def run(problem: LinearQueries, steps: int = STEPS) -> Outcome:
    """Raise the best average error over the populations; return the channel with the best worst type."""
    if problem.epsilon == 0.0:
        return infeasible("populations")
    inner = all_columns.run if all_columns.why_not(averaged(problem, problem.shares)) is None else columns.run
    shares = np.asarray(problem.shares)
    best: tuple[float, Outcome, Array] | None = None
    bound: tuple[float, Outcome] | None = None
    rate = 1.0
    for _ in range(steps):
        found = inner(averaged(problem, shares))
        value = problem.channel_value(found.variables)
        errors = value.type_errors(problem.queries.centered(shares))
        if best is None or float(errors.max()) < best[0]:
            best = (float(errors.max()), found, shares)
        if bound is None or (found.bound or -math.inf) > bound[0]:
            bound = (found.bound or -math.inf, found)
        else:
            rate = max(rate / 1.5, 0.05)
        if best[0] - bound[0] <= CLOSE * best[0]:
            break
        raised = shares * np.exp(rate * size_of(errors))
        shares = np.maximum(raised / raised.sum(), 1e-6)
        shares = shares / shares.sum()
    assert best is not None
    assert bound is not None
    sets = np.asarray(best[1].variables["patterns"], dtype=bool)
    return outcome(
        problem,
        sets,
        np.asarray(best[1].variables["weights"]),
        bound[1].realisation,
        "multiplicative steps over populations",
        population=best[2],
    )


def size_of(errors: Array) -> Array:
    """Return the errors less their mean, as parts of it.

    Examples
    --------
    >>> size_of(np.array([1.0, 3.0])).tolist()
    [-0.5, 0.5]
    """
    found: Array = (errors - errors.mean()) / float(errors.mean())
    return found


def why_not(problem: LinearQueries) -> str | None:
    """Say why it does not apply, if so."""
    if not problem.is_worst:
        return "it minimizes the error of the worst type; the problem is about an average"
    if problem.queries.size > MOST_ENUMERATED:
        return f"each population needs a program over all patterns; {MOST_ENUMERATED} types at most"
    return None
