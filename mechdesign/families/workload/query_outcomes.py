"""Outcomes of ``linear-queries``: from weighted patterns and dual numbers to a proven bound, and prices.

**The spectral dual: a lower bound for any number of types, by quasi-Newton ascent on closed-form gradients.**
Parameters nu (sum 0), delta in R^n and alpha_uw >= 0 (u < w). With l = -(E+1) delta + alpha 1,
c0 = E sum delta - sum alpha > 0 and

    K0 = (nu pi' + pi nu')/2 + Diag(delta) - alpha/2 - l l'/(4 c0),      s = -1 / (pi' K0^-1 pi),

the matrix K0 + s pi pi' is positive semidefinite and the bound is |W~ K0^(1/2)|_*^2 / s - pi.diag(G) (nuclear
norm). What is maximised is its logarithm; what is proven is
:mod:`mechdesign.families.workload.workload_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechdesign.core.errors import CertificateError
from mechdesign.core.problem import Outcome, Problem
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import PatternWorth, Weighted
from mechdesign.families.workload.patterns import Array, Sets, Translations
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED, MOST_ROWS, TraceBound, WorkloadBound
from mechdesign.solvers.descent import descend
from mechdesign.solvers.sensitivity import Binding

REFUSED = 1e6
"""The value of a point outside of the domain: the line search turns back."""

RIDGE = 1e-6
"""What is added to a singular Gram matrix, as a part of its mean eigenvalue; the check uses the true one."""

FLAT = 1e-9
"""Eigenvalues of the Gram matrix below this part of the largest count as 0."""

PAIRS_FROM = 1.2
"""From this epsilon on alpha raises the bound by more than a part in 1e6."""

MOST_PAIRED = 160
"""Types up to which alpha, n^2/2 unknowns, is optimised."""


@dataclass(frozen=True, eq=False)
class Dual:
    """A point of the dual: nu, delta and alpha (None where it is 0)."""

    nu: Array
    delta: Array
    alpha: Array | None = None

    def stretched(self, size: int) -> Dual:
        """Return the same profile over more types, by the relative place of a type."""
        before = len(self.nu)
        place = (np.arange(size) + 0.5) / size * before - 0.5
        ratio = np.interp(place, np.arange(before), self.nu / self.delta)
        delta = np.interp(place, np.arange(before), self.delta)
        return Dual(ratio * delta - np.mean(ratio * delta), delta)


class SpectralDual:
    """The dual of one workload, population and epsilon.

    Parameters
    ----------
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    epsilon : float
    pairs : bool
        Whether alpha is optimised as well.
    """

    def __init__(self, centered: Array, population: Array, epsilon: float, pairs: bool) -> None:
        self.centered, self.population = centered, population
        self.power, self.pairs = math.exp(epsilon), pairs
        size = len(population)
        values, vectors = np.linalg.eigh(centered)
        positive = values > FLAT * values[-1]
        if int(positive.sum()) < size - 1:
            outside = np.eye(size) - population[:, None]
            raised = centered + RIDGE * np.trace(centered) / size * (outside.T @ outside)
            values, vectors = np.linalg.eigh(raised)
            positive = values > FLAT * RIDGE * values[-1]
            if int(positive.sum()) > size - 1:  # the direction of pi
                positive = np.arange(size) > 0
        self.size = float(values[positive].sum())
        self.root = np.sqrt(values[positive] / self.size)[:, None] * vectors[:, positive].T
        self.upper = np.triu_indices(size, 1)

    def start(self) -> Dual:
        """Return the point of the trace bound."""
        size = len(self.population)
        alpha = np.zeros((size, size)) if self.pairs else None
        return Dual(np.zeros(size), self.population * size, alpha)

    def improved(self, dual: Dual, iterations: int = 300, tolerance: float = 1e-11) -> Dual:
        """Return a better point."""
        start = [dual.nu, dual.delta]
        low = np.full(2 * len(dual.nu), -np.inf)
        if self.pairs:
            alpha = np.zeros_like(self.centered) if dual.alpha is None else dual.alpha
            start.append(alpha[self.upper])
            low = np.concatenate([low, np.zeros(len(self.upper[0]))])
        ascent = descend(
            self._lowered, np.concatenate(start), low if self.pairs else None, iterations, tolerance
        )
        return self._read(ascent)

    def _read(self, point: Array) -> Dual:
        size = len(self.population)
        nu, delta = point[:size] - point[:size].mean(), point[size : 2 * size]
        if not self.pairs:
            return Dual(nu, delta)
        alpha = np.zeros((size, size))
        alpha[self.upper] = point[2 * size :]
        return Dual(nu, delta, alpha + alpha.T)

    def _form(self, dual: Dual) -> tuple[Array, Array, float]:
        linear = -(self.power + 1.0) * dual.delta
        constant = self.power * float(dual.delta.sum())
        form = np.diag(dual.delta)
        cross = np.outer(dual.nu, self.population) / 2.0
        form = form + cross + cross.T
        if dual.alpha is not None:
            linear = linear + dual.alpha.sum(axis=1)
            constant -= float(dual.alpha.sum()) / 2.0
            form = form - dual.alpha / 2.0
        return form, linear, constant

    def _lowered(self, point: Array) -> tuple[float, Array]:
        """Return minus the logarithm of the bound, and its gradient."""
        dual = self._read(point)
        form, linear, constant = self._form(dual)
        refused = REFUSED, np.zeros_like(point)
        if constant <= 0.0:
            return refused
        form = form - np.outer(linear, linear) / (4.0 * constant)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        if levels[0] <= 0.0:
            return refused
        try:
            slope = np.linalg.solve(form, self.population)
        except np.linalg.LinAlgError:
            return refused
        share = float(self.population @ slope)
        if share >= 0.0:
            return refused
        nuclear, scale = float(np.sqrt(levels).sum()), -1.0 / share
        turned = turn.T @ self.root
        gamma = (turned / np.sqrt(levels)[:, None]).T @ turned / nuclear + scale * np.outer(slope, slope)
        bent = gamma @ linear
        curved = float(linear @ bent) / (4.0 * constant**2)
        by_nu = gamma @ self.population
        by_delta = np.diag(gamma) + (self.power + 1.0) * bent / (2.0 * constant) + self.power * curved
        parts = [by_nu - by_nu.mean(), by_delta]
        if self.pairs:
            first, last = self.upper
            parts.append(-gamma[first, last] - (bent[first] + bent[last]) / (2.0 * constant) - curved)
        return -(2.0 * math.log(nuclear) - math.log(scale)), -np.concatenate(parts)

    def multipliers(self, dual: Dual) -> tuple[Array, Array]:
        """Return X and mu of this point: B = W~ X proves its bound."""
        raw, linear, constant = self._form(dual)
        form = raw - np.outer(linear, linear) / (4.0 * constant)
        slope = np.linalg.solve(form, self.population)
        scale = -1.0 / float(self.population @ slope)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        levels = np.maximum(levels, 1e-300)
        turned = turn.T @ self.root
        whole = form + scale * np.outer(self.population, self.population)
        # B = T^(-1/2) R K with R'R = G / tr G; R X = T^(-1/2) R K for X = R'(R R')^-1 T^(-1/2) R K
        inverse = self.root.T @ np.linalg.inv(self.root @ self.root.T)
        matrix = inverse @ (turn / np.sqrt(levels)) @ turned @ whole / math.sqrt(self.size)
        return matrix, dual.nu + scale * self.population

    def moments(self, dual: Dual) -> tuple[float, Array, Array]:
        """Return mass, first and second moments of the distribution of patterns that the dual asks for."""
        form, linear, constant = self._form(dual)
        form = form - np.outer(linear, linear) / (4.0 * constant)
        levels, turn = np.linalg.eigh(self.root @ form @ self.root.T)
        slope = np.linalg.solve(form, self.population)
        scale = -1.0 / float(self.population @ slope)
        turned = turn.T @ self.root
        gamma = (turned / np.sqrt(np.maximum(levels, 1e-300))[:, None]).T @ turned
        gamma = gamma / float(np.sqrt(np.maximum(levels, 0.0)).sum()) + scale * np.outer(slope, slope)
        moment = gamma / float(np.mean(gamma @ self.population))
        first = -moment @ linear / (2.0 * constant)
        return float(-first @ linear / (2.0 * constant)), first, moment


UNIT = "e^epsilon"


@dataclass(frozen=True, eq=False)
class QueryPrices:
    """The worth of the patterns of a solution, for the problem that was solved."""

    problem: LinearQueries
    worth: PatternWorth

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian at another epsilon; None for other queries."""
        assert isinstance(problem, LinearQueries)
        if not np.array_equal(problem.queries.gram, self.problem.queries.gram):
            return None
        return self.worth.lagrangian(problem.epsilon)

    def binding(self) -> Sequence[Binding]:
        """Return the price of privacy for each type; once for types that differ by a translation alone."""
        prices = self.worth.by_type().tolist()
        if self.worth.group is not None:
            return [Binding("privacy of all types", sum(prices), len(prices), UNIT)]
        return [Binding(f"privacy of type {place}", price, 1, UNIT) for place, price in enumerate(prices)]


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
    problem: LinearQueries, best: Weighted, population: Array | None = None
) -> WorkloadBound:
    """Return the numbers that the master program's dual proves the bound by, for few types."""
    shares = problem.shares if population is None else population
    return WorkloadBound(shares, problem.directions(best.inverse, shares), best.multiplier)


LIFTS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
"""What is added to prices, as parts of the largest one; the bound that proves most is kept."""


def lifted_bound(
    problem: LinearQueries,
    best: Weighted,
    population: Array | None = None,
    others: Sequence[Bound] = (),
) -> Bound | None:
    """Return the best of the bounds of the master program's dual with prices raised, and of others.

    Where a pattern tells nothing its price mu.v is 0, and rounding may make it negative: that proves nothing.
    """
    own = enumerated_bound(problem, best, population)
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
    smaller = LinearQueries(workload={**problem.queries.definition, "size": half}, epsilon=problem.epsilon)
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
    positive = values > 1e-12 * values[0]
    return TraceBound(left[:, positive] @ right[positive])


def can_enumerate(problem: LinearQueries) -> bool:
    """Whether all patterns can be gone through."""
    return problem.queries.size <= MOST_ENUMERATED


def has_few_queries(problem: LinearQueries) -> bool:
    """Whether the best patterns are found by going through the estimates of one or two queries."""
    return len(problem.queries.factor[0]) <= MOST_ROWS
