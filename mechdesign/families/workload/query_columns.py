"""``linear-queries`` over all patterns, for few types, and by column generation for more.

**Column generation: few patterns at a time, and a bound that is proven on its own.**
Up to 20 types all patterns are gone through for the worst ones, and the dual of the master program is the
bound: the optimum is exact. Beyond, patterns are drawn from a field with the moments of
the spectral dual, and local search adds others until the gap to the spectral bound is small enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.workload.few_queries import why_not_few_queries
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import FLIPS, JUMPS, Basis, DualPrices, Master, Weighted, shaken
from mechdesign.families.workload.pattern_sets import (
    MOST_PATTERNS,
    arcs,
    block_patterns,
    field_sets,
    why_not_symmetric,
)
from mechdesign.families.workload.patterns import Array, Sets, all_sets, columns_of
from mechdesign.families.workload.query_outcomes import (
    can_enumerate,
    enumerated_bound,
    infeasible,
    lifted_bound,
    outcome,
    spectral_bound,
)
from mechdesign.families.workload.simple_reports import WORTH_A_LOOK, best_simple, best_subset
from mechdesign.families.workload.weights import feasible_patterns
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED, WorkloadBound

MOST_TYPES = 10


def one_of_each_pair(sets: Sets) -> Sets:
    """Return one set of each pair of mirror images."""
    packed = np.packbits(sets, axis=1)
    mirrored = np.packbits(sets[:, ::-1], axis=1)
    differs = packed != mirrored
    first = np.argmax(differs, axis=1)
    rows = np.arange(len(sets))
    halves: Sets = sets[~differs.any(axis=1) | (packed[rows, first] < mirrored[rows, first])]
    return halves


def with_mirror_images(sets: Sets, weights: Array) -> tuple[Sets, Array]:
    """Return the sets and their mirror images, each with half of the weight; once where they are the same."""
    alone = (sets == sets[:, ::-1]).all(axis=1)
    halves = np.where(alone, weights, weights / 2.0)
    return np.vstack([sets, sets[~alone][:, ::-1]]), np.concatenate([halves, halves[~alone]])


def weighted(problem: LinearQueries, sets: Sets, accuracy: float = 1e-12) -> tuple[Sets, Array, Weighted]:
    """Return the best weights c of these sets (and of their mirror images where that is a symmetry)."""
    shares, centered = problem.shares, problem.design_gram
    basis = Basis.of(centered, shares)
    if basis.is_mirrored:
        sets = one_of_each_pair(sets)
    columns = columns_of(sets, math.exp(problem.epsilon))
    best = Master(columns / (columns @ shares)[:, None], centered, shares, basis).best_weights(accuracy)
    weights = best.weights
    if basis.is_mirrored:
        sets, weights = with_mirror_images(sets, weights)
    amounts = weights / (columns_of(sets, math.exp(problem.epsilon)) @ shares)
    return sets, amounts, best


def all_columns(problem: LinearQueries) -> Outcome:
    """Return the optimum over all patterns, with the dual checked for all of them."""
    if problem.epsilon == 0.0:
        return infeasible("interior point")
    sets, amounts, best = weighted(problem, all_sets(problem.queries.size))
    used = amounts > 1e-9 * float(amounts.max())
    notes = {"patterns": int(used.sum()), "steps": best.steps}
    bound = lifted_bound(problem, best)
    return outcome(problem, sets[used], amounts[used], bound, "interior point", notes=notes)


def why_not_all_columns(problem: LinearQueries) -> str | None:
    """Return why not all patterns can be used, or None."""
    if problem.is_worst:
        return "it minimizes an average; for the worst type use populations or statement"
    if problem.queries.size > MOST_TYPES:
        return f"2^{problem.queries.size} patterns are too many; use columns"
    return None


def closed(amounts: Array, patterns: Array) -> Array:
    """Return the weights c with the least relative change for which sum c v = 1 to the last digits.

    Examples
    --------
    >>> closed(np.array([0.25, 0.2501]), np.array([[3.0, 1.0], [1.0, 3.0]])).round(12).tolist()
    [0.25, 0.25]
    """
    missing = 1.0 - patterns.T @ amounts
    moved = patterns.T @ (patterns * amounts[:, None])
    corrected: Array = amounts * (1.0 + patterns @ np.linalg.lstsq(moved, missing, rcond=1e-14)[0])
    return corrected


LARGEST = 128
"""Types up to which the master program is solved: it works with matrices of n^4/16 numbers or more."""

ROUNDS, EXACT_ROUNDS = 40, 60
WORST = 120
"""Patterns that enter the master program per round where all are priced."""

FAR = 0.1
"""Bounds below this part of the error of subset selection do not guide the search."""

LITTLE = 1e-4
"""The search without a bound ends with a round that gains a smaller part of the error."""

NEGLIGIBLE = 1e-7
"""Columns with a smaller part of the largest weight leave the master program."""


@dataclass
class Pool:
    """The columns of the master program and what it found last."""

    problem: LinearQueries
    basis: Basis
    sets: Sets

    def __post_init__(self) -> None:
        self.power = math.exp(self.problem.epsilon)
        self.shares, self.centered = self.problem.shares, self.problem.design_gram
        self.sets = self._distinct(self.sets)

    def _distinct(self, sets: Sets) -> Sets:
        if self.basis.is_mirrored:
            sets = earlier_images(sets)
        proper = sets[sets.any(axis=1) & ~sets.all(axis=1)]
        return np.unique(proper, axis=0)

    def add(self, sets: Sets) -> int:
        """Add the patterns that are new; return their number."""
        before = len(self.sets)
        self.sets = self._distinct(np.vstack([self.sets, sets]))
        return len(self.sets) - before

    def weigh(self, accuracy: float) -> Weighted:
        """Return the best weights of the columns."""
        columns = columns_of(self.sets, self.power)
        scaled = columns / (columns @ self.shares)[:, None]
        return Master(scaled, self.centered, self.shares, self.basis).best_weights(accuracy)

    def keep(self, best: Weighted, part: float = NEGLIGIBLE) -> Array:
        """Drop the columns that are hardly used; return the weights of the others."""
        used = best.weights > part * float(best.weights.max())
        self.sets = self.sets[used]
        weights: Array = best.weights[used]
        return weights

    def amounts(self, weights: Array) -> tuple[Sets, Array]:
        """Return the patterns, mirror images included, with the probabilities c of their reports."""
        sets = self.sets
        if self.basis.is_mirrored:
            sets, weights = with_mirror_images(sets, weights)
        amounts = weights / (columns_of(sets, self.power) @ self.shares)
        return feasible_patterns(sets, amounts, self.power)

    def prices(self, best: Weighted) -> DualPrices:
        """Return the dual numbers of the master program."""
        bound = enumerated_bound(self.problem, best)
        return DualPrices.of(bound, self.problem.directions(np.eye(len(self.shares))), self.power)

    def worst(self, best: Weighted) -> tuple[Sets, float]:
        """Return the patterns that the dual numbers price worst among all, and the largest ratio."""
        return self.prices(best).worst_of_all(WORST)

    def reached(
        self, prices: DualPrices, weights: Array, flips: tuple[float, ...], rng: np.random.Generator
    ) -> Sets:
        """Return the worst patterns that local search reaches from those in use, with entries flipped."""
        size = self.problem.queries.size
        likely = self.sets[np.argsort(-weights)[: 40 * size]]
        starts = np.vstack([shaken(likely, share, rng) for share in flips])
        climbed = np.unique(prices.climbed(starts), axis=0)
        worst: Sets = climbed[np.argsort(-prices.ratios(climbed))[: 30 * size]]
        return worst

    def error(self, best: Weighted) -> float:
        """Return the average error of what was found."""
        return best.value - float(self.shares @ np.diag(self.centered))


def earlier_images(sets: Sets) -> Sets:
    """Return each set or its mirror image, whichever is first in the order of bits.

    Examples
    --------
    >>> earlier_images(np.array([[1, 0], [0, 1]], dtype=bool)).astype(int).tolist()
    [[0, 1], [0, 1]]
    """
    differs = sets != sets[:, ::-1]
    first = np.argmax(differs, axis=1)
    earlier = ~sets[np.arange(len(sets)), first] | ~differs.any(axis=1)
    images: Sets = np.where(earlier[:, None], sets, sets[:, ::-1])
    return images


STARTED = 1 << 17
"""Entries of a block of starts."""

LEAST_GAIN = 1e-6
"""Exchanges that gain a smaller part of (mu.v)(pi.v) are not told from rounding."""


class QuickSearch:
    """Local maxima of |Bv|^2 - (mu.v)(pi.v) under the exchange of one type, in single precision.

    It finds patterns, and proves nothing. With F = B'B the slopes l_u = 2 (F v)_u - (pi.v) mu_u - (mu.v) pi_u
    of all types move by +-(E - 1) T_b, T = 2 F - mu pi' - pi mu', when type b is exchanged: one pass over the
    types, in blocks of starts that stay in the cache.

    Parameters
    ----------
    prices : DualPrices

    Examples
    --------
    >>> rows, shares = np.array([[1.0, -1.0, 0.0]]), np.full(3, 1 / 3)
    >>> prices = DualPrices(rows, np.full(3, 0.5), rows, shares, 3.0)
    >>> QuickSearch(prices).climbed(np.array([[True, True, False]])).astype(int).tolist()
    [[0, 1, 0]]
    """

    def __init__(self, prices: DualPrices) -> None:
        form, mu, pi = prices.form, prices.multiplier, prices.population
        scale = float(mu.sum())  # the slopes are then of one size
        self.step = prices.power - 1.0
        self.form, self.mu, self.pi = (form / scale).astype("f"), (mu / scale).astype("f"), pi.astype("f")
        across = np.outer(mu / scale, pi)
        self.moves = (2.0 * form / scale - across - across.T).astype("f")
        self.fixed = self.step**2 * np.diag(self.moves) / 2.0

    def ratios(self, sets: Sets) -> Array:
        """Return |Bv|^2 / ((mu.v)(pi.v)) for each set; infinite where mu.v is not positive."""
        ratios = np.empty(len(sets))
        for start in range(0, len(sets), self._height):
            columns = self._columns(sets[start : start + self._height])
            squares = np.einsum("kn,kn->k", columns @ self.form, columns)
            mass = columns @ self.mu
            part = squares / np.maximum(mass * (columns @ self.pi), np.float32(1e-30))
            ratios[start : start + self._height] = np.where(mass > 0.0, part, np.inf)
        return ratios

    def climbed(self, sets: Sets) -> Sets:
        """Return a local maximum from each start."""
        parts = [sets[start : start + self._height] for start in range(0, len(sets), self._height)]
        climbed: Sets = np.vstack([self._exchanged(self._jumped(part)) for part in parts])
        return climbed

    @property
    def _height(self) -> int:
        return max(1, STARTED // len(self.mu))

    def _columns(self, sets: Sets) -> NDArray[Any]:
        columns: NDArray[Any] = sets * np.float32(self.step) + np.float32(1.0)
        return columns

    def _jumped(self, sets: Sets) -> Sets:
        """Maximise the tangent of the convex |Bv|^2/(pi.v) - mu.v over all patterns, repeatedly."""
        sets, moving = sets.copy(), np.arange(len(sets))
        for _ in range(JUMPS):
            here = sets[moving]
            columns = self._columns(here)
            applied, shares = columns @ self.form, columns @ self.pi
            squares = np.einsum("kn,kn->k", applied, columns) / shares
            moved = 2.0 * applied - squares[:, None] * self.pi > shares[:, None] * self.mu
            inside = moved.sum(axis=1)
            proper = (inside > 0) & (inside < len(self.mu)) & (moved != here).any(axis=1)
            moving = moving[proper]
            sets[moving] = moved[proper]
            if not len(moving):
                break
        return sets

    def _exchanged(self, sets: Sets) -> Sets:
        """Exchange the best type of each set until nothing gains."""
        columns = self._columns(sets)
        masses, shares = columns @ self.mu, columns @ self.pi
        linear = 2.0 * (columns @ self.form) - np.outer(shares, self.mu) - np.outer(masses, self.pi)
        signs = np.where(sets, np.float32(-self.step), np.float32(self.step))
        least = LEAST_GAIN * np.abs(masses * shares)
        active, sets = np.arange(len(sets)), sets.copy()
        for _ in range(FLIPS):
            gains = signs * linear
            gains += self.fixed
            best = gains.argmax(axis=1)
            rows = np.arange(len(active))
            better = gains[rows, best] > least
            if not better.any():
                break
            if better.mean() < 0.75:
                active, best, least = active[better], best[better], least[better]
                linear, signs, rows = linear[better], signs[better], np.arange(len(active))
                moved = signs[rows, best]
            else:
                moved = np.where(better, signs[rows, best], np.float32(0.0))
            linear += moved[:, None] * self.moves[best]
            changed = moved != 0.0
            signs[rows[changed], best[changed]] *= -1.0
            sets[active[changed], best[changed]] ^= True
        return sets


def column_generation(problem: LinearQueries, gap: float | None = None, seed: int = 0) -> Outcome:
    """Generate columns until the proven gap is small enough.

    Parameters
    ----------
    problem : LinearQueries
    gap : float, optional
        The gap at which to stop, as a part of the bound, by default :attr:`LinearQueries.optimal_within`; up
        to 20 types the optimum is found in any case.
    seed : int
        Of the patterns that are drawn.
    """
    if problem.epsilon == 0.0:
        return infeasible("column generation")
    rng = np.random.default_rng(seed)
    basis = Basis.of(problem.design_gram, problem.shares)
    bound, solver, dual = spectral_bound(problem)
    first = arcs(problem.queries.size)
    is_near = can_enumerate(problem) or problem.proven(bound) > FAR * best_subset(problem)[1]
    if is_near:
        count = 60 * problem.queries.size
        random = field_sets(*solver.moments(dual), math.exp(problem.epsilon), count, rng)
        first = np.vstack([random, first])
    pool = Pool(problem, basis, first)
    if can_enumerate(problem):
        return _exact(problem, pool, bound)
    return _priced(problem, pool, bound, problem.optimal_within if gap is None else gap, rng)


def _exact(problem: LinearQueries, pool: Pool, bound: WorkloadBound) -> Outcome:
    weighed, rounds = pool.weigh(1e-10), 0
    while rounds < EXACT_ROUNDS:
        rounds += 1
        worst, ratio = pool.worst(weighed)
        if ratio <= 1.0 + 1e-9:
            break
        pool.keep(weighed)
        added = pool.add(worst)
        weighed = pool.weigh(
            1e-11
        )  # also where nothing is new: fewer columns are left than it had weights for
        if not added:
            break
    best = lifted_bound(problem, weighed, others=[bound])
    sets, amounts = pool.amounts(pool.keep(weighed, 1e-9))
    notes = {"patterns": len(sets), "rounds": rounds}
    return outcome(problem, sets, amounts, best, "column generation, all patterns priced", notes=notes)


def _priced(
    problem: LinearQueries, pool: Pool, bound: WorkloadBound, gap: float, rng: np.random.Generator
) -> Outcome:
    proven = problem.proven(bound)
    best, rounds = pool.weigh(1e-3), 0
    if proven > FAR * best_subset(problem)[1]:
        best, rounds = _between(pool, best, bound, gap, rng)
    if pool.error(best) > (1.0 + gap) * proven:
        best, more = _by_own_prices(pool, best, rng)
        rounds += more
    sets, amounts = pool.amounts(pool.keep(best, 1e-6))
    solver = "column generation, patterns priced by local search"
    notes: dict[str, Any] = {"rounds": rounds}
    if pool.error(best) > (1.0 + WORTH_A_LOOK) * proven:
        rival = best_simple(problem)
        if rival is not None and rival.error < pool.error(best):
            notes["taken"] = rival.name
            if len(rival.sets) > MOST_PATTERNS * problem.queries.size:
                notes["patterns"] = len(rival.sets)
                return outcome(problem, rival.sets, rival.amounts, bound, solver, notes=notes, weighed=False)
            pool.add(rival.sets)
            sets, amounts = pool.amounts(pool.keep(pool.weigh(1e-8), 1e-8))
    return outcome(problem, sets, amounts, bound, solver, notes={"patterns": len(sets), **notes})


def _between(
    pool: Pool, best: Weighted, bound: WorkloadBound, gap: float, rng: np.random.Generator
) -> tuple[Weighted, int]:
    """Price patterns between the master program's dual and the bound's until the gap is closed."""
    proven, rounds = pool.problem.proven(bound), 0
    while pool.error(best) > (1.0 + gap) * proven and rounds < ROUNDS:
        rounds += 1
        weights = pool.keep(best, 1e-4 if rounds > 1 else 1e-3)
        prices = pool.prices(best).between(bound, 0.5)
        added = pool.add(pool.reached(prices, weights, (0.1, 0.3), rng))
        best = pool.weigh(1e-4 if pool.error(best) > (1.0 + 4.0 * gap) * proven else 1e-5)
        if not added:  # solved in any case: fewer columns are left than the weights before were for
            break
    return best, rounds


def _by_own_prices(pool: Pool, weighed: Weighted, rng: np.random.Generator) -> tuple[Weighted, int]:
    """Add blocks of types, then patterns that the master program's dual prices badly, while that helps.

    Where a bound is far from the optimum its dual says little of which patterns are good.
    """
    pool.keep(weighed, 1e-4)
    pool.add(block_patterns(pool.problem))
    best, rounds = pool.weigh(1e-4), 0
    while rounds < ROUNDS:
        rounds += 1
        weights = pool.keep(best, 1e-4)
        flips = (2.0 / pool.problem.queries.size, 0.1, 0.3)
        added = pool.add(pool.reached(pool.prices(best), weights, flips, rng))
        weighed = pool.weigh(1e-5)
        gained, best = pool.error(best) - pool.error(weighed), weighed
        if not added or gained < LITTLE * pool.error(weighed):
            break
    return best, rounds


def why_not_columns(problem: LinearQueries) -> str | None:
    """Return why column generation does not apply, or None."""
    if problem.is_worst:
        return "it minimizes an average; for the worst type use populations, or give shares"
    if problem.queries.size <= MOST_TYPES:
        return "all patterns are few enough; use all-columns"
    if problem.queries.size > MOST_ENUMERATED and why_not_symmetric(problem) is None:
        return "translations leave the workload as it is; use symmetric"
    if why_not_few_queries(problem) is None:
        return "one or two queries have few patterns that matter; use estimates"
    if problem.queries.size > LARGEST:
        return f"{problem.queries.size} types are too many for its master program; the limit is {LARGEST}"
    return None
