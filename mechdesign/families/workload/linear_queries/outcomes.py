"""What the methods share: from weighted patterns and dual numbers to an outcome with a proven bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.core.errors import CertificateError
from mechdesign.core.method import Outcome
from mechdesign.families.workload.audit.few_queries import MOST_ROWS
from mechdesign.families.workload.audit.workload_bound import MOST_ENUMERATED, TraceBound, WorkloadBound
from mechdesign.families.workload.linear_queries.prices import QueryPrices
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.spectral import MOST_PAIRED, PAIRS_FROM, Dual, SpectralDual
from mechdesign.families.workload.master import Weighted
from mechdesign.families.workload.orbits import Translations
from mechdesign.families.workload.value import Array, Sets
from mechdesign.families.workload.worth import PatternWorth

Bound = WorkloadBound | TraceBound

NOTHING = "at epsilon = 0 a report contains no information; set epsilon > 0"

SMALL = 48
"""From this number of types on the dual is first solved for half as many."""


def infeasible(solver: str) -> Outcome:
    """Return the outcome at epsilon = 0."""
    return Outcome(status="infeasible", solver=solver, message=NOTHING)


def pattern_variables(sets: Sets, amounts: Array, population: Array) -> dict[str, Any]:
    """Return the variables by their stable names."""
    return {"patterns": sets.astype(np.int8), "weights": amounts, "population": population}


def outcome(
    problem: LinearQueries,
    sets: Sets,
    amounts: Array,
    bound: Bound | None,
    solver: str,
    optimal: bool = True,
    notes: dict[str, Any] | None = None,
    population: Array | None = None,
    group: Translations | None = None,
    weighed: bool = True,
    **more: Any,
) -> Outcome:
    """Return the outcome of patterns with weights c, and more variables, with the bound of its numbers.

    It is optimal where the bound leaves as little as is certified. ``weighed`` says that no other weights of
    these patterns are better, so that they have prices.
    """
    shares = problem.shares if population is None else population
    variables = {**pattern_variables(sets, amounts, shares), **more}
    proven = None if bound is None else problem.proven(bound)
    if proven is not None and optimal:
        value = problem.objective(variables)
        optimal = value - proven <= problem.optimal_within * value
    worth = PatternWorth(problem.queries.centered(shares), shares, problem.epsilon, sets, amounts, group)
    return Outcome(
        status="optimal" if optimal and proven is not None else "feasible",
        variables=variables,
        bound=proven,
        bound_source="" if bound is None else f"duality, checked for {bound.method}",
        solver=solver,
        notes=notes or {},
        realisation=bound,
        prices=QueryPrices(problem, worth) if weighed else None,
    )


def enumerated_bound(
    problem: LinearQueries, found: Weighted, population: Array | None = None
) -> WorkloadBound:
    """Return the numbers that the master program's dual proves the bound by, for few types."""
    shares = problem.shares if population is None else population
    return WorkloadBound(shares, problem.directions(found.inverse, shares), found.multiplier)


LIFTS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
"""What is added to prices, as parts of the largest one; the bound that proves most is kept."""


def lifted_bound(
    problem: LinearQueries,
    found: Weighted,
    population: Array | None = None,
    others: Sequence[Bound] = (),
) -> Bound | None:
    """Return the best of the bounds of the master program's dual with prices raised, and of others.

    Where a pattern tells nothing its price mu.v is 0, and rounding may make it negative: that proves nothing.
    """
    own = enumerated_bound(problem, found, population)
    top = np.abs(own.multiplier).max()
    raised = [replace(own, multiplier=own.multiplier + part * top) for part in LIFTS]
    return best_bound(problem, [*raised, *others])


def spectral_bound(
    problem: LinearQueries, population: Array | None = None
) -> tuple[WorkloadBound, SpectralDual, Dual]:
    """Return the bound of the spectral dual, for any number of types."""
    shares = problem.shares if population is None else population
    size = len(shares)
    pairs = problem.epsilon > PAIRS_FROM and size <= MOST_PAIRED
    named = problem.queries.named
    dual: Dual | None = None
    if (
        named is not None
        and named.ordered
        and problem.weights is None
        and population is None
        and size >= SMALL
    ):
        dual = _grown(problem, size)
    centered = problem.queries.centered(shares)
    solver = SpectralDual(centered, shares, problem.epsilon, pairs)
    steps = 300 if size <= 512 else 60
    best = solver.improved(dual or solver.start(), steps, 1e-11 if size <= 512 else 1e-8)
    matrix, multiplier = solver.multipliers(best)
    directions = problem.directions(matrix, shares)
    return WorkloadBound(shares, directions, multiplier, best.delta, best.alpha), solver, best


def _grown(problem: LinearQueries, size: int) -> Dual:
    """Return the dual of half as many types, stretched."""
    half = size // 2
    smaller = LinearQueries(workload={**problem.queries.given, "size": half}, epsilon=problem.epsilon)
    start = _grown(smaller, half) if half >= SMALL else None
    solver = SpectralDual(smaller.centered, smaller.shares, problem.epsilon, False)
    return solver.improved(start or solver.start(), 200, 1e-9).stretched(size)


def best_bound(problem: LinearQueries, bounds: Sequence[Bound]) -> Bound | None:
    """Return the bound that proves most; None where none proves anything."""
    proven = []
    for bound in bounds:
        try:
            proven.append((problem.proven(bound), bound))
        except (CertificateError, ZeroDivisionError):
            continue
    sound = [item for item in proven if math.isfinite(item[0])]
    return max(sound, key=lambda item: item[0])[1] if sound else None


def trace_bound(problem: LinearQueries) -> TraceBound:
    """Return the trace bound with the polar factor of the centered queries; for equal shares."""
    rows = problem.directions(np.eye(problem.queries.size))
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    kept = values > 1e-12 * values[0]
    return TraceBound(left[:, kept] @ right[kept])


def can_enumerate(problem: LinearQueries) -> bool:
    """Whether all patterns can be gone through."""
    return problem.queries.size <= MOST_ENUMERATED


def has_few_queries(problem: LinearQueries) -> bool:
    """Whether the best patterns are found by going through the estimates of one or two queries."""
    return len(problem.queries.factor[0]) <= MOST_ROWS
