"""The methods of ``linear-queries``, in the order in which they are tried, and those for the worst type.

**The worst type: the population whose best average error is largest, and a bound at every one.**
The best average error L(pi) is concave in pi with the slope t_u of the optimum's types. Quasi-Newton steps
raise it over pi = softmax(x); the slope in x is pi_u (t_u - pi.t). The channel of a population has some worst
type, and L(pi) is a lower bound for the worst type of every channel. A group that moves any type to any other
makes equal shares the worst ones, and this stops at once.

**The worst of many types: the report for the average of all types, or a simple one, whichever is better.**
The worst type has at least the average error, so the bound of the average is one for the worst type. How
evenly the report treats the types is not optimized.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.workload.few_queries import few_queries, why_not_few_queries
from mechdesign.families.workload.few_types import (
    all_columns,
    conic_program,
    why_not_all_columns,
    why_not_conic,
)
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.many_types import (
    best_mixture,
    sampled_patterns,
    why_not_mixture,
    why_not_sampled,
)
from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.query_columns import column_generation, why_not_columns
from mechdesign.families.workload.query_outcomes import infeasible, outcome
from mechdesign.families.workload.simple_reports import (
    or_simple,
    run_haar,
    run_sampling,
    run_tree,
    simple_report,
    subset_selection,
    why_not_halves,
    why_not_histogram,
    why_not_sampling,
    why_not_simple,
    why_not_subset,
)
from mechdesign.families.workload.symmetric_reports import symmetric_reports, why_not_symmetric
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED
from mechdesign.solvers.descent import descend

STEPS = 60
CLOSE = 1e-6
"""The gap at which the population is no longer changed, as a part of the value."""

LEAST = 1e-9
"""The least share of a type, before the shares are divided by their sum."""


def _at_shares(problem: LinearQueries, shares: Array) -> LinearQueries:
    """Return the problem of the average error at these shares."""
    return LinearQueries(
        workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights, population=shares
    )


class _Ascent:
    """The channel with the best worst type so far, and the largest bound."""

    def __init__(self, problem: LinearQueries) -> None:
        self.problem = problem
        exact = why_not_all_columns(_at_shares(problem, problem.shares)) is None
        self.inner = all_columns if exact else column_generation
        self.error, self.best = math.inf, (Outcome(status="failed", solver=""), problem.shares)
        self.proven, self.bound = -math.inf, self.best[0]
        self.populations = 0

    def lowered(self, levels: Array) -> tuple[float, Array]:
        """Return the negative average error at the shares softmax(levels), and its slope."""
        raised = np.maximum(np.exp(levels - levels.max()), LEAST)
        shares = raised / raised.sum()
        outcome_here = self.inner(_at_shares(self.problem, shares))
        value = self.problem.channel_value(outcome_here.variables)
        errors = value.type_errors(self.problem.queries.centered(shares))
        self.populations += 1
        if float(errors.max()) < self.error:
            self.error, self.best = float(errors.max()), (outcome_here, shares)
        if outcome_here.bound is not None and outcome_here.bound > self.proven:
            self.proven, self.bound = outcome_here.bound, outcome_here
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
    outcome_there, shares = ascent.best
    best = outcome(
        problem,
        np.asarray(outcome_there.variables["patterns"], dtype=bool),
        np.asarray(outcome_there.variables["weights"]),
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


DESIGNS: dict[str, tuple[Callable[[LinearQueries], Outcome], Callable[[LinearQueries], str | None]]] = {
    "symmetric": (symmetric_reports, why_not_symmetric),
    "columns": (column_generation, why_not_columns),
    "estimates": (few_queries, why_not_few_queries),
    "mixture": (best_mixture, why_not_mixture),
}


def equal_shares(problem: LinearQueries) -> Outcome:
    """Return the report for equal shares of all types, or a simple report whose worst type is better."""
    if problem.epsilon == 0.0:
        return infeasible("equal shares")
    averaged = _at_equal_shares(problem)
    name = _design(problem)
    assert name is not None, "one applies"
    solved = DESIGNS[name][0](averaged)
    value = problem.objective(solved.variables)
    proven = solved.bound is not None and value - solved.bound <= problem.optimal_within * value
    worst = changed(
        solved,
        status="optimal" if proven else "feasible",
        notes={**solved.notes, "design": name},
        prices=None,
    )
    return or_simple(problem, worst)


def _at_equal_shares(problem: LinearQueries) -> LinearQueries:
    """Return the problem of the average error at equal shares."""
    return LinearQueries(workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights)


def _design(problem: LinearQueries) -> str | None:
    """Return the name of the first method that applies to equal shares."""
    averaged = _at_equal_shares(problem)
    return next((name for name, (_, why) in DESIGNS.items() if why(averaged) is None), None)


def why_not_equal_shares(problem: LinearQueries) -> str | None:
    """Return why the average is not designed for, or None."""
    if not problem.is_worst:
        return "it is for the worst type; the problem is about an average"
    if problem.queries.size <= MOST_ENUMERATED:
        return f"up to {MOST_ENUMERATED} types there is a search; use populations"
    if _design(problem) is None:
        return f"{problem.queries.size} types are too many for what designs for equal shares"
    return None


ACCURATE = 6.0
"""Above this epsilon errors are small next to the accuracy of a conic solver."""


def is_beyond_accuracy(problem: LinearQueries) -> bool:
    """Whether the worst type's error is too small for a conic solver, which then loses up to 2 %."""
    return problem.is_worst and problem.epsilon > ACCURATE


METHODS = (
    Method("closed-form", LinearQueries, "analytic",
           "subset selection, which is optimal for a histogram",
           subset_selection, why_not_histogram),
    Method("symmetric", LinearQueries, "numeric",
           "base sets with all their translates, for a cycle or a cube of types",
           symmetric_reports, why_not_symmetric),
    Method("all-columns", LinearQueries, "numeric",
           "the best weights of all patterns, by an interior-point method",
           all_columns, why_not_all_columns),
    Method("columns", LinearQueries, "numeric",
           "column generation: exact up to 20 types, to a proven gap beyond",
           column_generation, why_not_columns),
    Method("estimates", LinearQueries, "numeric",
           "for one or two queries of many types: linear programs over estimates, exact pricing",
           few_queries, why_not_few_queries),
    Method("cvxpy", LinearQueries, "numeric",
           "one conic program over all patterns, an independent check",
           conic_program, why_not_conic,
           defers=is_beyond_accuracy),
    Method("populations", LinearQueries, "numeric",
           "for the worst type: the population whose best average error is largest",
           worst_type, why_not_worst_type),
    Method("equal-shares", LinearQueries, "heuristic",
           "for the worst of more than 20 types: the report for their average, or a simple one if better",
           equal_shares, why_not_equal_shares),
    Method("mixture", LinearQueries, "heuristic",
           "for 129 to 1,024 types: the best mixture of a field's patterns and of blocks of types",
           best_mixture, why_not_mixture),
    Method("field", LinearQueries, "heuristic",
           "for 129 to 1,024 types: patterns of a Gaussian field, with nearly equal weights",
           sampled_patterns, why_not_sampled),
    Method("simple", LinearQueries, "heuristic",
           "for the worst of more than 20 types: whichever of the reports below is best",
           simple_report, why_not_simple),
    Method("subset", LinearQueries, "heuristic",
           "subset selection with its best size, made for the shares of the types",
           subset_selection, why_not_subset),
    Method("tree", LinearQueries, "heuristic",
           "a binary tree of ranges with the best probabilities of its levels",
           run_tree, why_not_halves),
    Method("haar", LinearQueries, "heuristic",
           "Haar wavelets: a level with its best probability, one sign by randomized response",
           run_haar, why_not_halves),
    Method("marginal-sampling", LinearQueries, "heuristic",
           "one of the marginals at random, by subset selection of its cells",
           run_sampling, why_not_sampling),
)  # fmt: skip
