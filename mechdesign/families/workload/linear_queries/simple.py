"""Simple reports as rivals: subset selection, trees, wavelets and sampled marginals, whichever is best.

They cost some milliseconds. A search that does not prove its optimum is compared with them, also that for the
worst of many types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.values import changed
from mechdesign.families.workload.audit.workload_bound import MOST_ENUMERATED
from mechdesign.families.workload.linear_queries.outcomes import infeasible
from mechdesign.families.workload.linear_queries.partitions import (
    run_haar,
    run_sampling,
    run_tree,
    why_not_halves,
    why_not_sampling,
)
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.subset import subset_selection, why_not_subset
from mechdesign.families.workload.value import Array, Sets

REPORTS = {
    "subset": (subset_selection, why_not_subset),
    "tree": (run_tree, why_not_halves),
    "haar": (run_haar, why_not_halves),
    "marginal-sampling": (run_sampling, why_not_sampling),
}


@dataclass(frozen=True, eq=False)
class SimpleReport:
    """A report with its name and its error."""

    name: str
    error: float
    outcome: Outcome

    @property
    def sets(self) -> Sets:
        """Its patterns."""
        return np.asarray(self.outcome.variables["patterns"], dtype=bool)

    @property
    def amounts(self) -> Array:
        """The probabilities of its patterns for types outside of them."""
        return np.asarray(self.outcome.variables["weights"], dtype=np.float64)


def best_simple(problem: LinearQueries) -> SimpleReport | None:
    """Return the simple report with the least error; None where none applies.

    Examples
    --------
    >>> found = best_simple(LinearQueries(workload={"name": "ranges", "size": 64}, epsilon=6.0))
    >>> found.name, round(found.error, 2)
    ('tree', 109.16)
    """
    rivals = []
    for name, (run, why_not) in REPORTS.items():
        if why_not(problem) is None:
            found = run(problem)
            error = problem.objective(found.variables)
            if math.isfinite(error):
                rivals.append(SimpleReport(name, error, found))
    return min(rivals, key=lambda rival: rival.error, default=None)


WORTH_A_LOOK = 1e-3
"""The gap, as a part of the value, from which simple reports are tried as well."""


def or_simple(problem: LinearQueries, found: Outcome) -> Outcome:
    """Return what a search found, or a simple report that is better, with the bound of the search."""
    value = problem.objective(found.variables)
    if found.bound is not None and value - found.bound <= WORTH_A_LOOK * value:
        return found
    rival = best_simple(problem)
    if rival is None or rival.error >= value:
        return found
    proven = found.bound is not None and rival.error - found.bound <= problem.optimal_within * rival.error
    return changed(
        found,
        status="optimal" if proven else "feasible",
        variables=rival.outcome.variables,
        notes={**found.notes, "taken": rival.name},
        prices=None,
    )


def simple_report(problem: LinearQueries) -> Outcome:
    """Return the simple report whose worst type has the least error."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    found = best_simple(problem)
    assert found is not None, "one applies"
    return changed(found.outcome, notes={**found.outcome.notes, "taken": found.name})


def why_not_simple(problem: LinearQueries) -> str | None:
    """Return why the simple reports are not compared, or None."""
    if not problem.is_worst:
        return "it is for the worst type; for an average columns tries these reports"
    if problem.queries.size <= MOST_ENUMERATED:
        return f"up to {MOST_ENUMERATED} types there is a search; use populations"
    if all(reason(problem) is not None for _, reason in REPORTS.values()):
        return "none of its reports applies"
    return None
