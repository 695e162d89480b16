"""The worst type: the population whose best average error is largest, and a bound at every one.

The best average error L(pi) is concave in pi with the slope t_u of the optimum's types. Quasi-Newton steps
raise it over pi = softmax(x); the slope in x is pi_u (t_u - pi.t). The channel of a population has some worst
type, and L(pi) is a lower bound for the worst type of every channel. A group that moves any type to any other
makes equal shares the worst ones, and this stops at once.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.workload.audit.workload_bound import MOST_ENUMERATED
from mechdesign.families.workload.linear_queries.all_columns import all_columns, why_not_all_columns
from mechdesign.families.workload.linear_queries.columns import column_generation
from mechdesign.families.workload.linear_queries.outcomes import infeasible, outcome
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.simple import or_simple
from mechdesign.families.workload.value import Array
from mechdesign.solvers.quasi_newton import descend

STEPS = 60
CLOSE = 1e-6
"""The gap at which the population is no longer changed, as a part of the value."""

LEAST = 1e-9
"""The least share of a type, before the shares are divided by their sum."""


def _averaged(problem: LinearQueries, shares: Array) -> LinearQueries:
    """Return the problem of the average error at these shares."""
    return LinearQueries(
        workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights, population=shares
    )


class _Ascent:
    """The channel with the best worst type so far, and the largest bound."""

    def __init__(self, problem: LinearQueries) -> None:
        self.problem = problem
        exact = why_not_all_columns(_averaged(problem, problem.shares)) is None
        self.inner = all_columns if exact else column_generation
        self.error, self.best = math.inf, (Outcome(status="failed", solver=""), problem.shares)
        self.proven, self.bound = -math.inf, self.best[0]
        self.populations = 0

    def lowered(self, levels: Array) -> tuple[float, Array]:
        """Return the negative average error at the shares softmax(levels), and its slope."""
        raised = np.maximum(np.exp(levels - levels.max()), LEAST)
        shares = raised / raised.sum()
        found = self.inner(_averaged(self.problem, shares))
        value = self.problem.channel_value(found.variables)
        errors = value.type_errors(self.problem.queries.centered(shares))
        self.populations += 1
        if float(errors.max()) < self.error:
            self.error, self.best = float(errors.max()), (found, shares)
        if found.bound is not None and found.bound > self.proven:
            self.proven, self.bound = found.bound, found
        mean = float(shares @ errors)
        return -mean, -shares * (errors - mean)

    def is_close(self) -> bool:
        """Whether the gap is small enough."""
        return self.error - self.proven <= CLOSE * self.error


def worst_type(problem: LinearQueries, steps: int = STEPS) -> Outcome:
    """Raise the best average error over the populations; return the channel with the best worst type."""
    if problem.epsilon == 0.0:
        return infeasible("populations")
    ascent = _Ascent(problem)
    descend(ascent.lowered, np.log(problem.shares), None, steps, 0.0, ascent.is_close)
    found, shares = ascent.best
    best = outcome(
        problem,
        np.asarray(found.variables["patterns"], dtype=bool),
        np.asarray(found.variables["weights"]),
        ascent.bound.realisation,
        "quasi-Newton steps over populations",
        notes={"populations": ascent.populations},
        population=shares,
    )
    return or_simple(problem, best)


def why_not_worst_type(problem: LinearQueries) -> str | None:
    """Return why the method does not apply, or None."""
    if not problem.is_worst:
        return "it minimizes the error of the worst type; the problem is about an average"
    if problem.queries.size > MOST_ENUMERATED:
        return f"each population needs a program over all patterns; {MOST_ENUMERATED} types at most"
    return None
